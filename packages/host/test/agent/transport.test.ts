import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure, globalAgent } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { PlainHeaders } from '../../src/agent/plain-headers.ts'
import { serverCertificate } from '../../../sandbox/test/proxy/tls-lab.ts'
import { send } from '../../src/agent/transport.ts'

let server: Server | undefined

afterEach(async () => {
  server?.closeAllConnections()
  await server?.[Symbol.asyncDispose]()
  server = undefined
})

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

const POST = {
  method: 'POST',
  headers: { 'content-type': 'text/plain', authorization: 'Bearer x' },
  body: 'hällo',
}

test('what is sent arrives as it is, and nothing packed is asked for', async () => {
  let seen: { readonly headers: IncomingMessage['headers']; readonly body: string } | undefined
  const url = await serve((request, response) => {
    void text(request).then((body) => {
      seen = { headers: request.headers, body }
      response.writeHead(200, 'Fine', { 'x-two': ['a', 'b'] }).end('so')
    })
  })
  const { ok, status, statusText, headers, body } = await send(url, POST)
  expect({ ok, status, statusText, two: headers.get('X-Two') }).toEqual({
    ok: true,
    status: 200,
    statusText: 'Fine',
    two: 'a, b',
  })
  expect(await text(body!)).toBe('so')
  expect(seen).toMatchObject({
    headers: {
      authorization: 'Bearer x',
      'content-type': 'text/plain',
      'content-length': '6',
      'accept-encoding': 'identity',
    },
    body: 'hällo',
  })
})

test('over https to whom a certificate is for, and to nobody else', async () => {
  const certificate = await serverCertificate('127.0.0.1')
  let heard = 0
  const secure = createSecure(certificate, (_, response) => void response.end(`heard ${++heard}`))
  secure.on('tlsClientError', () => {}).listen(0, '127.0.0.1')
  await once(secure, 'listening')
  const { port } = secure.address() as AddressInfo
  try {
    await expect(send(`https://127.0.0.1:${port}/v1`, POST)).rejects.toMatchObject({
      message: 'fetch failed',
      cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    })
    globalAgent.options.ca = certificate.cert
    expect(await text((await send(`https://127.0.0.1:${port}/v1`, POST)).body!)).toBe('heard 1')
    await expect(send(`https://localhost:${port}/v1`, POST)).rejects.toMatchObject({
      cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    })
  } finally {
    delete globalAgent.options.ca
    secure.closeAllConnections()
    secure.close()
  }
})

test('a redirect is the answer', async () => {
  const url = await serve((_, response) => void response.writeHead(307, { location: '/elsewhere' }).end())
  const { ok, status } = await send(url, POST)
  expect({ ok, status }).toEqual({ ok: false, status: 307 })
})

test('nobody there: as `fetch` says it, with the cause', async () => {
  const url = await serve(() => undefined)
  server!.close()
  await once(server!, 'close')
  server = undefined
  const error = await send(url, POST).then(
    () => undefined,
    (thrown: unknown) => thrown as TypeError,
  )
  expect(error).toBeInstanceOf(TypeError)
  expect(error).toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNREFUSED' } })
})

test('a body that breaks off is an error, not an end', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200)
    response.write('half', () => response.destroy())
  })
  const { body } = await send(url, POST)
  await expect(text(body!)).rejects.toThrow(new TypeError('terminated'))
})

test('who stops it is told their own reason, before an answer and in the middle of one', async () => {
  const stop = new AbortController()
  const reason = new Error('enough')
  const url = await serve((request, response) => {
    if (request.url === '/v1/silent') return void setImmediate(() => stop.abort(reason))
    response.writeHead(200)
    response.write('half')
  })
  await expect(send(`${url}/silent`, { ...POST, signal: stop.signal })).rejects.toBe(reason)
  const second = new AbortController()
  const { body } = await send(url, { ...POST, signal: second.signal })
  const reader = body!.getReader()
  await reader.read()
  second.abort(reason)
  await expect(reader.read()).rejects.toBe(reason)
})

test('who has stopped reading is told nothing more', async () => {
  const url = await serve((_, response) => void response.writeHead(200).write('half'))
  const stop = new AbortController()
  const { body } = await send(url, { ...POST, signal: stop.signal })
  stop.abort()
  // The stream says so at once. An error that nobody listens to would end the process: the runner sees it.
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate)
  await body!.cancel()
})

test('headers are found whichever way they are written, as those of `fetch`', () => {
  const ours = new PlainHeaders({ 'User-Agent': 'a', 'x-b': 'c' })
  const theirs = new Headers({ 'User-Agent': 'a', 'x-b': 'c' })
  for (const headers of [ours, theirs]) {
    headers.set('X-B', 'd')
    headers.delete('user-AGENT')
  }
  expect([...ours]).toEqual([...theirs])
  expect([ours.get('x-B'), ours.get('no'), ours.has('X-b')]).toEqual([
    theirs.get('x-B'),
    theirs.get('no'),
    true,
  ])
  expect([...new PlainHeaders(ours)]).toEqual([['x-b', 'd']])
})

/** Sends until nobody takes it any more. */
const endlessly =
  (status: number, piece: string): RequestListener =>
  (_, response) => {
    response.writeHead(status)
    const more = (): void => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', more)
    more()
  }

test.for([
  ['one line', 'x'.repeat(65_536)],
  ['lines', `data: ${'x'.repeat(65_529)}\n`],
] as const)('%s without an end: it is given up', async ([, piece]) => {
  const { body } = await send(await serve(endlessly(200, piece)), POST)
  await expect(text(body!)).rejects.toThrow('it sent more than any answer is long')
})

test('of an error that never ends the beginning is read', async () => {
  const { status, body } = await send(await serve(endlessly(500, 'no '.repeat(1000))), POST)
  const said = await text(body!)
  expect([status, said.slice(0, 6), said.length < 2 ** 21]).toEqual([500, 'no no ', true])
})
