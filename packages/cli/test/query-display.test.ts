import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { displayFor } from '../src/query-display.ts'
import type { World } from '../src/world.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A terminal that keeps what is written to it. */
function terminal(): { readonly world: World; readonly written: () => string } {
  const written: string[] = []
  const stream = {
    isTerminal: true,
    write: (text: string) => void written.push(text),
    style: (_: string, text: string) => text,
    sink: { columns: 80 },
  }
  const world = { out: stream, err: stream, env: { TERM: 'xterm' } } as unknown as World
  return { world, written: () => written.splice(0).join('') }
}

test('nothing is drawn over a question: not while a conversation is opened, nor while somebody is asked', async () => {
  const { world, written } = terminal()
  const display = displayFor(world, {})
  vi.advanceTimersByTime(5000)
  expect(written()).toBe('') // a mount, or a file that waits for trust, is asked about here
  display.begin()
  vi.advanceTimersByTime(2000)
  expect(written()).toContain('thinking 1 s')
  await display.pausing(() => {
    written()
    vi.advanceTimersByTime(5000)
    expect(written()).toBe('')
    return Promise.resolve()
  })
})

test('a stream that stalls shows the word it holds, once', () => {
  const { world, written } = terminal()
  const display = displayFor(world, {})
  display.see({ kind: 'text', text: 'one two' })
  expect(written()).toBe('one')
  vi.advanceTimersByTime(1000)
  expect(written()).toBe(' two')
  display.see({ kind: 'text', text: 'fold' })
  vi.advanceTimersByTime(1000)
  expect(written()).toBe('fold')
})
