import { once } from 'node:events'
import { connect } from 'node:net'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readClientHello } from '../../src/proxy/client-hello.ts'
import { readSpeech } from '../../src/proxy/first-bytes.ts'
import { type Lab, rules, startLab } from './lab.ts'

/** Sends, finishes, and waits until the proxy has closed its side. */
async function throwAt(lab: Lab, bytes: Uint8Array): Promise<void> {
  const socket = connect({ port: lab.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.resume()
  socket.end(bytes)
  await once(socket, 'close')
}

const word = fc.constantFrom(
  'GET',
  'CONNECT',
  'POST',
  'http://a.example/',
  'http://evil.example/',
  'a.example:443',
  '/',
  '*',
  'HTTP/1.1',
  'Host:',
  'a.example',
  'Content-Length:',
  'Transfer-Encoding:',
  'chunked',
  '5',
  '-1',
  'Upgrade:',
  'websocket',
  'Connection:',
  'Expect:',
  '100-continue',
)
const glue = fc.constantFrom(' ', ' ', '\r\n', '\r\n', '\n', '\r', '\t', '\0', ': ', '\r\n\r\n', '')
const anyHead = fc
  .array(fc.tuple(fc.oneof(word, word, fc.string({ maxLength: 8 })), glue), { maxLength: 24 })
  .map((parts) => Buffer.from(parts.flat().join(''), 'latin1'))
const anySocks = fc.uint8Array({ maxLength: 40 }).map((tail) => Buffer.from([5, 1, 0, 5, 1, 0, 3, ...tail]))

test('junk never crashes the proxy and never makes it look a name up or connect', async () => {
  const lab = await startLab(rules({ host: 'granted.example' }), { limits: { firstBytesMs: 200 } })
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyHead, anySocks, fc.uint8Array({ maxLength: 200 })), async (bytes) => {
      await throwAt(lab, bytes)
      expect(lab.asked).toEqual([])
    }),
    { numRuns: 600 },
  )
}, 60_000)

test('the readers of first bytes answer any bytes', () => {
  const tls = fc.uint8Array({ maxLength: 300 }).map((tail) => Buffer.from([0x16, 3, 1, ...tail]))
  fc.assert(
    fc.property(
      fc.oneof(
        tls,
        fc.uint8Array({ maxLength: 300 }).map((b) => Buffer.from(b)),
      ),
      (bytes) => {
        expect(['partial', 'broken', 'hello']).toContain(readClientHello(bytes).kind)
        expect(['more', 'tls', 'http', 'http2', 'bytes']).toContain(readSpeech(bytes).kind)
      },
    ),
  )
})
