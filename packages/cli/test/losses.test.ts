import { expect, test } from 'vitest'
import { formatLosses, withWhy } from '../src/format/outcome.ts'

const loss = (name: string, declared: boolean, fix = 'fix it') => ({
  guarantee: 'host-rules' as const,
  loss: name,
  why: 'because',
  fix,
  declared,
})

const TOLD = { lost: [loss('a', false), loss('b', true), loss('c', true, 'else')], notes: ['a note'] }

test('SPEC 4.11 one warning each, with its cause once under the last that has it', () => {
  expect(formatLosses(TOLD, false)).toEqual([
    'not held here: a',
    'not held here: b\n  why: because\n  fix: fix it',
    'not held here: c\n  why: because\n  fix: else',
    'a note',
  ])
})

test('SPEC 4.11 --quiet keeps back everything but what was declared', () => {
  expect(formatLosses(TOLD, true)).toEqual([
    'not held here: b\n  why: because\n  fix: fix it',
    'not held here: c\n  why: because\n  fix: else',
  ])
})

test('SPEC 4.8 the command to look closer with is whole, or as many of its words as fit', () => {
  expect(withWhy(['run', '--here', '--', 'sh', '-c', 'a b'])).toBe("cordon run --why --here -- sh -c 'a b'")
  const files = Array.from({ length: 40 }, (_, i) => `test/file${i}.js`)
  const cut = withWhy(['run', '--', 'npx', 'mocha', ...files])
  expect(cut).toMatch(/^cordon run --why -- npx mocha test\/file0\.js test\/file1\.js .* …$/)
  expect(cut.length).toBeLessThan(310)
})
