import { expect, test } from 'vitest'
import { readClientHello } from '../../src/proxy/client-hello.ts'

const sized = (width: number, body: Buffer): Buffer => {
  const head = Buffer.alloc(width)
  head.writeUIntBE(body.length, 0, width)
  return Buffer.concat([head, body])
}
const serverName = (type: number, name: string): Buffer =>
  Buffer.concat([Buffer.from([type]), sized(2, Buffer.from(name))])
const extension = (type: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0, type]), sized(2, body)])

/** The handshake message of RFC 8446 §4.1.2 with these extensions. */
const hello = (...extensions: Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from([1]),
    sized(
      3,
      Buffer.concat([
        Buffer.from([3, 3]),
        Buffer.alloc(32, 7),
        sized(1, Buffer.alloc(32)),
        sized(2, Buffer.from([0x13, 1])),
        sized(1, Buffer.from([0])),
        sized(2, Buffer.concat(extensions)),
      ]),
    ),
  ])
const record = (body: Buffer): Buffer => Buffer.concat([Buffer.from([22, 3, 1]), sized(2, body)])
const names = (...list: Buffer[]): Buffer => extension(0, sized(2, Buffer.concat(list)))

test('the server name, wherever it stands among the extensions', () => {
  const message = hello(
    extension(43, Buffer.alloc(3)),
    names(serverName(0, 'a.example')),
    extension(10, Buffer.alloc(4)),
  )
  expect(readClientHello(record(message))).toEqual({ kind: 'hello', serverName: 'a.example' })
  expect(readClientHello(record(hello()))).toEqual({ kind: 'hello', serverName: undefined })
})

test('over several records, and cut off at every byte', () => {
  const message = hello(names(serverName(0, 'a.example')))
  const split = Buffer.concat([
    record(message.subarray(0, 3)),
    record(message.subarray(3, 60)),
    record(message.subarray(60)),
  ])
  expect(readClientHello(split)).toEqual({ kind: 'hello', serverName: 'a.example' })
  for (let end = 0; end < split.length; end++)
    expect(readClientHello(split.subarray(0, end))).toEqual({ kind: 'partial' })
})

test('what follows the message in the same flight changes nothing about it', () => {
  const message = record(hello(names(serverName(0, 'a.example'))))
  const changeCipherSpec = Buffer.from([20, 3, 3, 0, 1, 1])
  const earlyData = Buffer.from([23, 3, 3, 0, 2, 7, 7])
  for (const rest of [changeCipherSpec, earlyData, Buffer.from('x')])
    expect(readClientHello(Buffer.concat([message, rest]))).toEqual({
      kind: 'hello',
      serverName: 'a.example',
    })
})

test('two names, lengths that lie, and other messages are broken, never guessed at', () => {
  const broken = { kind: 'broken' }
  expect(
    readClientHello(record(hello(names(serverName(0, 'a.example'), serverName(0, 'b.example'))))),
  ).toEqual(broken)
  expect(
    readClientHello(record(hello(names(serverName(0, 'a.example')), names(serverName(0, 'b.example'))))),
  ).toEqual(broken)
  expect(readClientHello(record(hello(extension(0, Buffer.from([0, 9, 0])))))).toEqual(broken)
  const server = hello()
  server[0] = 2
  expect(readClientHello(record(server))).toEqual(broken)
  expect(readClientHello(Buffer.from([22, 9, 1, 0, 1, 1]))).toEqual(broken)
})
