import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ModelChoice } from '@cordon/host'
import { formatCall } from '../src/format/query.ts'
import { displayFor } from '../src/query-display.ts'
import type { World } from '../src/world.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('SPEC 6.5: nothing is drawn while a question stands there, and the spinner is gone before it', async () => {
  let drawn = ''
  const stream = {
    isTerminal: true,
    style: (_: string, text: string) => text,
    write: (text: string) => (drawn += text),
  }
  const display = displayFor({ env: {}, out: stream, err: stream } as unknown as World, {})
  display.begin({ conversation: undefined, model: {} as ModelChoice })
  vi.advanceTimersByTime(1000)
  expect(drawn).toContain('thinking')
  const during = await display.pausing(async () => {
    const before = drawn
    vi.advanceTimersByTime(1000)
    return [before.slice(-4), drawn.slice(before.length)]
  })
  expect(during).toEqual(['\r\u001b[K', ''])
})

test.each([{}, { json: true }])(
  'SPEC 6.5: what comes while a question stands waits for the answer, in order, and is bounded (%j)',
  async (flags) => {
    let drawn = ''
    const stream = {
      isTerminal: true,
      style: (_: string, text: string) => text,
      write: (text: string) => (drawn += text),
    }
    const display = displayFor({ env: {}, out: stream, err: stream } as unknown as World, flags)
    const during = await display.pausing(async () => {
      for (let i = 1; i <= 30; i++) display.warn(() => stream.write(`warning ${i}\n`))
      display.see({ kind: 'left out', what: ['a turn'] })
      display.waiting('a server', 3)
      await display.pausing(async () => display.aside(() => stream.write('aside\n')))
      vi.advanceTimersByTime(1000)
      return drawn
    })
    expect(during).toBe('')
    const lines = drawn.replaceAll('\r\u001b[K', '').trimEnd().split('\n')
    expect(lines).toEqual([
      ...Array.from({ length: 20 }, (_, i) => `warning ${i + 1}`),
      'json' in flags ? '{"kind":"left_out","what":["a turn"]}' : 'warning: left out to save room: a turn',
      'aside',
      'warning: 10 more warnings are not shown',
    ])
    display.warn(() => stream.write('now\n'))
    expect(drawn.endsWith('now\n')).toBe(true)
  },
)

test('SPEC 6.5: spaces at the end of a changed line are seen', () => {
  const lines = ['-print', '+print  ', '+\t', '+', ' kept ']
  const shown = {
    tool: 't',
    arguments: {},
    summary: 's',
    said: undefined,
    secret: undefined,
    replaces: false,
    leads: [],
  }
  const call = { ...shown, changes: [{ path: 'a', lines }] }
  const text = formatCall(call, { style: (_, part) => part, columns: undefined })
  expect(text.split('\n').slice(2, -1)).toEqual([
    '    -print',
    '    +print··',
    '    +→',
    '    +',
    '     kept ',
  ])
})
