import { describe, expect, test } from 'vitest'
import { formatResult } from '../src/format/query.ts'
import { clip } from '../src/format/text.ts'

const plain = { style: (_: string, text: string): string => text }
const at = (columns: number) => ({ ...plain, columns })

describe('SPEC 6.5 what came of a call', () => {
  const failed = (text: string) => ({ kind: 'result', tool: 'noisy', outcome: 'error', text }) as const

  test('an error of one long line is shown in part, and the rest is counted', () => {
    const shown = formatResult(failed('z'.repeat(900_000)), at(80))
    expect(shown.match(/z/g)).toHaveLength(4000)
    expect(shown.endsWith('\n    … 896,000 more characters\n')).toBe(true)
  })

  test('an error of many lines, too', () => {
    const shown = formatResult(failed('ab\n'.repeat(1000)), at(80))
    expect(shown.split('\n')).toHaveLength(42)
    expect(shown.endsWith('\n    ab\n    … 2,881 more characters\n')).toBe(true)
  })

  test('a short one is shown whole', () => {
    expect(formatResult(failed('no\n  because: x'), at(80))).toBe('  ✗ error: no\n      because: x\n')
  })
})

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['🙂🙂🙂', 3, '🙂🙂🙂'],
  ['🙂🙂🙂🙂', 3, '🙂🙂…'],
])('%j is clipped to %i characters', (text, most, clipped) => {
  expect(clip(text, most)).toBe(clipped)
})
