import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { type HostName, parseHost } from '@cordon/policy'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { answerQuery } from '../../src/proxy/names.ts'
import { openProxy, type ProxyHandle } from '../../src/proxy/serve.ts'
import { rules } from './lab.ts'

const NAMES = new Map<HostName, string>([[parseHost('api.example')!, '127.128.0.1']])

/** A question as resolvers send it, recursion desired. */
function question(name: string, type = 1): Buffer {
  const labels = name
    .split('.')
    .flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')])
  return Buffer.concat([
    Buffer.from([0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    ...labels,
    Buffer.from([0, 0, type, 0, 1]),
  ])
}

/** Code, count of answers, and the address if there is one. */
function read(reply: Buffer | undefined): unknown {
  if (!reply) return undefined
  const answers = reply.readUInt16BE(6)
  return [reply[3]! & 15, answers, ...(answers ? [reply.subarray(-4).join('.')] : [])]
}

test.each([
  ['an allowed name', question('api.example'), [0, 1, '127.128.0.1'], undefined],
  [
    'in capitals, as some resolvers ask against forgery',
    question('aPI.exAMPLE'),
    [0, 1, '127.128.0.1'],
    undefined,
  ],
  ['its IPv6 address: it has none, and is there', question('api.example', 28), [0, 0], undefined],
  ['its text', question('api.example', 16), [0, 0], undefined],
  ['localhost', question('localhost'), [0, 1, '127.0.0.1'], undefined],
  ['another name', question('evil.example'), [3, 0], 'evil.example'],
  ['a name below an allowed one', question('x.api.example'), [3, 0], 'x.api.example'],
  ['the IPv6 address of another name', question('evil.example', 28), [3, 0], 'evil.example'],
  ['data in a name', question(`${'a'.repeat(63)}.${'b'.repeat(63)}.api.example`, 16), [3, 0], undefined],
  ['whose address it is', question('1.0.128.127.in-addr.arpa', 12), [3, 0], undefined],
  ['a name that is none', question('a b.example'), [3, 0], undefined],
  ['two questions', Buffer.from(question('api.example')).fill(2, 5, 6), [1, 0], undefined],
  [
    'a pointer instead of a name',
    Buffer.from([...question('').subarray(0, 12), 0xc0, 12, 0, 1, 0, 1]),
    [1, 0],
    undefined,
  ],
  ['an update', Buffer.from(question('api.example')).fill(0x28, 2, 3), [4, 0], undefined],
  ['an answer: nobody asked', Buffer.from(question('api.example')).fill(0x81, 2, 3), undefined, undefined],
  ['half a head', question('api.example').subarray(0, 11), undefined, undefined],
] as const)('SPEC 4.5 who asks for %s', (_, query, reply, refused) => {
  const answer = answerQuery(query, NAMES)
  expect([read(answer.reply), answer.refused]).toEqual([reply, refused])
})

test('whatever comes in: nothing is thrown, and the reply is no longer than the question and one address', () => {
  const bytes = fc.uint8Array({ maxLength: 300 })
  const anything = fc.oneof(
    bytes,
    fc.tuple(bytes).map(([tail]) => Buffer.concat([question('api.example').subarray(0, 12), tail])),
  )
  fc.assert(
    fc.property(anything, (query) => {
      const { reply } = answerQuery(Buffer.from(query), NAMES)
      expect(reply?.length ?? 0).toBeLessThanOrEqual(query.length + 16)
    }),
  )
})

test('over both transports; what was wanted in vain is recorded with the flag for it', async () => {
  const proxy = await openProxy({ rules: rules({ host: 'api.example' }) })
  onTestFinished(() => proxy.close())
  const [udp, tcp] = [await datagrams(proxy), await stream(proxy)]
  for (const ask of [udp, tcp])
    expect([read(await ask(question('api.example'))), read(await ask(question('evil.example')))]).toEqual([
      [0, 1, '127.128.0.1'],
      [3, 0],
    ])
  expect(
    proxy.decisions().map(({ kind, host, port, reason, wish }) => ({ kind, host, port, reason, wish })),
  ).toEqual(
    Array.from({ length: 2 }, () => ({
      kind: 'name',
      host: 'evil.example',
      port: undefined,
      reason: 'no rule allows evil.example',
      wish: { host: 'evil.example' },
    })),
  )
})

test('who asks without end and reads no answer is cut off, and its answers do not fill our memory', async () => {
  const proxy = await openProxy({ rules: [], limits: { firstBytesMs: 500 } })
  onTestFinished(() => proxy.close())
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.serveNames(server, NAMES)
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  onTestFinished(() => void client.destroy())
  const query = question(`${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}`, 16)
  const message = Buffer.concat([Buffer.from([0, query.length]), query])
  const many = Buffer.concat(Array.from({ length: 1000 }, () => message))
  // Nobody has to answer all of this; before, it was all answered, into memory, for as long as it came.
  const ask = (): void => {
    while (client.writable && client.write(many));
  }
  client.on('drain', ask).on('error', () => {}) // a reset is what it gets
  ask()
  await new Promise((closed) => client.once('close', closed))
})

test('the system’s own resolver understands us', async () => {
  const proxy = await openProxy({ rules: [] })
  onTestFinished(() => proxy.close())
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  proxy.serveNames(socket, NAMES)
  const script = `
const { Resolver } = require('node:dns')
const resolver = new Resolver({ timeout: 60000, tries: 1 })
resolver.setServers(['127.0.0.1:${socket.address().port}'])
const say = (error, found) => console.log(error ? error.code : found)
resolver.resolve4('api.example', say)
resolver.resolve6('api.example', say)
resolver.resolve4('evil.example', say)`
  const { promise, resolve } = Promise.withResolvers<string>()
  execFile(process.execPath, ['-e', script], (_, stdout) => resolve(stdout))
  expect((await promise).trim().split('\n').toSorted()).toEqual(['ENODATA', 'ENOTFOUND', "[ '127.128.0.1' ]"])
})

type Ask = (query: Buffer) => Promise<Buffer>

async function datagrams(proxy: ProxyHandle): Promise<Ask> {
  const [server, client] = [createSocket('udp4').bind(0, '127.0.0.1'), createSocket('udp4')]
  await once(server, 'listening')
  onTestFinished(() => void client.close())
  proxy.serveNames(server, NAMES)
  return async (query) => {
    client.send(query, server.address().port, '127.0.0.1')
    return ((await once(client, 'message')) as [Buffer])[0]
  }
}

async function stream(proxy: ProxyHandle): Promise<Ask> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  proxy.serveNames(server, NAMES)
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  return async (query) => {
    client.write(Buffer.concat([Buffer.from([0, query.length]), query]))
    return ((await once(client, 'data')) as [Buffer])[0].subarray(2)
  }
}
