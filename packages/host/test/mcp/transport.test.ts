import { PassThrough } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ProgramEnd } from '../../src/confine/program.ts'
import { ConfinedTransport } from '../../src/mcp/transport.ts'

// The clock stands still, so that what comes within a second is exactly known.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A server of which only the streams are there. */
function listen(): {
  readonly say: (messages: readonly object[]) => Promise<void>
  readonly heard: unknown[]
} {
  const stdout = new PassThrough({ highWaterMark: 64 * 1024 * 1024 })
  const ended = new Promise<ProgramEnd>(() => undefined)
  const streams = { stdin: new PassThrough(), stdout, stderr: new PassThrough() }
  const program = { ...streams, soFar: () => ({ refused: [], unreached: [], hints: () => [] }), ended }
  const transport = new ConfinedTransport(program, { meta: {}, kill: () => expect.unreachable() })
  const heard: JSONRPCMessage[] = []
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK has no other way
  transport.onmessage = (message) => void heard.push(message)
  void transport.start()
  return {
    heard,
    say: async (messages) => {
      stdout.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(''))
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const notifications = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, n) => ({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { n },
  }))

test('decision 0231: unasked, a server says a thousand things at once and five hundred each second; none is lost', async () => {
  const { say, heard } = listen()
  const said = notifications(2300)
  await say(said)
  const counts = [heard.length]
  for (let second = 1; second <= 4; second++) {
    await vi.advanceTimersByTimeAsync(1000)
    counts.push(heard.length)
  }
  expect(counts).toEqual([1000, 1500, 2000, 2300, 2300])
  expect(heard).toEqual(said)
})

test('decision 0231: requests of a server count as much', async () => {
  const { say, heard } = listen()
  await say(Array.from({ length: 1200 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'roots/list' })))
  expect(heard).toHaveLength(1000)
})

test('decision 0231: answers are not counted', async () => {
  const { say, heard } = listen()
  await say(Array.from({ length: 5000 }, (_, id) => ({ jsonrpc: '2.0', id, result: {} })))
  expect(heard).toHaveLength(5000)
})
