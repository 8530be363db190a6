import { PassThrough } from 'node:stream'
import { Client, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/client'
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
  readonly isRead: () => boolean
  readonly print: (text: string) => Promise<void>
  readonly ask: (message: JSONRPCMessage) => Promise<void>
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
    isRead: () => !stdout.isPaused(),
    print: async (text) => {
      stdout.write(text)
      await new Promise((resolve) => setImmediate(resolve))
    },
    ask: (message) => transport.send(message),
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

const answers = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, result: {} }))

test('decision 0231: answers are not counted', async () => {
  const { say, heard, ask } = listen()
  for (let id = 0; id < 5000; id++) await ask({ jsonrpc: '2.0', id, method: 'tools/call' })
  await say(answers(5000))
  expect(heard).toHaveLength(5000)
})

test('decision 0501: answers count that nobody waits for: to nothing, a second time, or to what was given up', async () => {
  const toNothing = listen()
  await toNothing.say(answers(1200))
  expect(toNothing.heard).toHaveLength(1000)
  const again = listen()
  await again.ask({ jsonrpc: '2.0', id: 0, method: 'tools/call' })
  await again.say([...answers(1), ...Array.from({ length: 1200 }, () => answers(1)[0]!)])
  expect(again.heard).toHaveLength(1001)
  const givenUp = listen()
  for (let id = 0; id < 1200; id++) {
    await givenUp.ask({ jsonrpc: '2.0', id, method: 'tools/call' })
    await givenUp.ask({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
  }
  await givenUp.say(answers(1200))
  expect(givenUp.heard).toHaveLength(1000)
})

test('decision 0501: lines that are no message count as well, also where a message is among them', async () => {
  const { print, say, heard, ask, isRead } = listen()
  const mixed = `${'noise\n'.repeat(600)}${JSON.stringify(notifications(1)[0])}\n`
  await print(mixed)
  expect([heard.length, isRead()]).toEqual([1, true])
  await print(mixed)
  expect([heard.length, isRead()]).toEqual([2, false])
  // It waits a second, however much it was; then its answer is heard.
  await ask({ jsonrpc: '2.0', id: 0, method: 'tools/call' })
  await say(answers(1))
  expect(heard).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(1000)
  await new Promise((resolve) => setImmediate(resolve))
  expect([heard.length, isRead()]).toEqual([3, true])
})

test('SPEC 5.5: progress that comes with the answer is heard before it, by the SDK as well', async () => {
  const stdout = new PassThrough()
  const stdin = new PassThrough()
  const ended = new Promise<ProgramEnd>(() => undefined)
  const soFar = () => ({ refused: [], unreached: [], hints: () => [] })
  const program = { stdin, stdout, stderr: new PassThrough(), soFar, ended }
  const transport = new ConfinedTransport(program, { meta: {}, kill: () => expect.unreachable() })
  const client = new Client({ name: 'x', version: '1' })
  stdin.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().split('\n').filter(Boolean)) {
      const { id, method, params } = JSON.parse(line) as JSONRPCRequest
      if (id === undefined) continue
      const { protocolVersion } = (params ?? {}) as Record<string, unknown>
      const progressToken = params?._meta?.progressToken
      const hello = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
      const made = [1, 2, 3, 4, 5].map((progress) => ({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress },
      }))
      const answer = { jsonrpc: '2.0', id, result: method === 'initialize' ? hello : { content: [] } }
      const all = method === 'tools/call' ? [...made, answer] : [answer]
      stdout.write(all.map((message) => `${JSON.stringify(message)}\n`).join(''))
    }
  })
  await client.connect(transport)
  const heard: number[] = []
  const onprogress = ({ progress }: { readonly progress: number }): void => void heard.push(progress)
  await client.callTool({ name: 'x', arguments: {} }, { onprogress })
  expect(heard).toEqual([1, 2, 3, 4, 5])
})
