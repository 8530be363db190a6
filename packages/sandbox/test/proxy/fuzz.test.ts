import { once } from 'node:events'
import { connect } from 'node:net'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { readClientHello } from '../../src/proxy/client-hello.ts'
import { readSpeech } from '../../src/proxy/first-bytes.ts'
import { type Lab, rules, startHttp, startLab } from './lab.ts'

/** Sends, finishes (at once, or when `until` was answered), and waits until the proxy has closed its side. */
async function throwAt(lab: Lab, bytes: Uint8Array, until?: string): Promise<void> {
  const socket = connect({ port: lab.port, host: '127.0.0.1', allowHalfOpen: true })
  let answer = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1')
    if (until !== undefined && answer.includes(until)) socket.end()
  })
  socket.on('end', () => socket.end())
  if (until === undefined) socket.end(bytes)
  else socket.write(bytes)
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
})

test('whatever is sent inside a tunnel, the server sees no path but the allowed ones', async () => {
  const seen: string[] = []
  const port = await startHttp((req, res) => {
    seen.push(req.url!)
    res.end('x')
  })
  const lab = await startLab(rules({ host: 'a.example', port, pathPrefix: '/ok' }), {
    limits: { firstBytesMs: 5000 },
  })
  const host = `a.example:${port}`
  const path = fc.constantFrom(
    '/ok',
    '/ok/x',
    '/no',
    '/ok/../no',
    '/ok%2f..%2fno',
    '//no',
    '/ok/%2e%2e/no',
    `http://${host}/ok`,
    `http://${host}/no`,
    '*',
  )
  const line = fc.constantFrom(
    `Host: ${host}`,
    `Host: ${host}`,
    'Host: evil.example',
    'Content-Length: 3',
    'Transfer-Encoding: chunked',
    'Connection: close',
    'X: y',
    ' folded',
    'Upgrade: websocket',
  )
  const end = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r')
  const request = fc
    .tuple(
      fc.constantFrom('GET', 'POST', 'CONNECT', 'get', ''),
      path,
      end,
      fc.array(fc.tuple(line, end), { maxLength: 4 }),
      end,
      fc.constantFrom('', 'abc', '0\r\n\r\n'),
    )
    .map(
      ([method, target, first, lines, last, body]) =>
        `${method} ${target} HTTP/1.1${first}${lines.flat().join('')}${last}${body}`,
    )
  const connectHead = `CONNECT ${host} HTTP/1.1\r\n\r\n`
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 3 }), async (requests) => {
      const text = `${connectHead}GET /ok HTTP/1.1\r\nHost: ${host}\r\n\r\n${requests.join('')}`
      await throwAt(lab, Buffer.from(text), 'HTTP/1.1 200 OK')
      expect(seen.filter((url) => !/^\/ok(?:\/x)?$/.test(url))).toEqual([])
    }),
    { numRuns: 300 },
  )
  expect(seen.length).toBeGreaterThan(250)
})

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
        expect(['more', 'tls', 'broken-tls', 'http', 'http2', 'bytes']).toContain(readSpeech(bytes).kind)
      },
    ),
  )
})
