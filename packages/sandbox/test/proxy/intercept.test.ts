import { createHash } from 'node:crypto'
import { type IncomingMessage } from 'node:http'
import { type Duplex } from 'node:stream'
import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { Client, connectTo, rules, settled, startHttp, startLab, startRaw } from './lab.ts'
import { ask, secure, serverCertificate, startHttps } from './tls-lab.ts'

const certificate = await serverCertificate('a.example', 'b.example', '127.1.0.1')
const trusted = { upstreamRoots: [certificate.cert] }

test('SPEC 4.5 a path rule on https: every request in the tunnel is decided, on one kept connection', async () => {
  let connections = 0
  const { port, server } = await startHttps(certificate, (req, res) =>
    res.end(`${req.method} ${req.headers.host} ${req.url}`),
  )
  server.on('secureConnection', () => connections++)
  const lab = await startLab(rules({ host: 'a.example', port, pathPrefix: '/repos' }), trusted)
  const client = new Client(lab.port)
  await connectTo(client, `a.example:${port}`)
  const socket = await secure(client, 'a.example', lab.proxy.ca!.certPem)
  expect(socket.alpnProtocol).toBe('http/1.1')
  const get = (path: string, host = `a.example:${port}`): Promise<{ status: string; body: string }> =>
    ask(socket, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  expect(await get('/repos/x?q=1')).toEqual({ status: '200 OK', body: `GET a.example:${port} /repos/x?q=1` })
  expect(await get('/admin')).toEqual({
    status: '403 Forbidden',
    body: `cordon: network access denied: https://a.example:${port}/admin\n  because: no rule allows a.example:${port}/admin\n`,
  })
  expect((await get('/repos/y')).status).toBe('200 OK')
  expect((await get('/repos/..%2fadmin')).status).toBe('403 Forbidden')
  expect((await get('/repos', 'b.example')).status).toBe('421 Misdirected Request')
  expect(connections).toBe(1)
  expect(
    (await settled(lab, 6))
      .map((d) => d as Record<string, unknown>)
      .map((d) => [d['kind'], d['url'], d['allowed'], d['bytesDown']]),
  ).toEqual([
    ['connect', undefined, true, 0],
    ['https', `https://a.example:${port}/repos/x`, true, `GET a.example:${port} /repos/x?q=1`.length],
    ['https', `https://a.example:${port}/admin`, false, 0],
    ['https', `https://a.example:${port}/repos/y`, true, `GET a.example:${port} /repos/y`.length],
    ['https', `https://a.example:${port}/repos/..%2fadmin`, false, 0],
    ['https', undefined, false, 0],
  ])
})

test('SPEC 4.5 only hosts with such rules are intercepted; others see the real certificate', async () => {
  const { port } = await startHttps(certificate, (_, res) => res.end('ok'))
  const lab = await startLab(
    rules({ host: 'a.example', port, pathPrefix: '/x' }, { host: 'b.example', port }),
    trusted,
  )
  const real = new Client(lab.port)
  await connectTo(real, `b.example:${port}`)
  const direct = await secure(real, 'b.example', certificate.cert)
  expect(direct.getPeerX509Certificate()!.fingerprint256).toBe(
    new X509Certificate(certificate.cert).fingerprint256,
  )
  const ours = new Client(lab.port)
  await connectTo(ours, `a.example:${port}`)
  const leaf = (await secure(ours, 'a.example', lab.proxy.ca!.certPem)).getPeerX509Certificate()!
  expect([leaf.subjectAltName, leaf.ca]).toEqual(['DNS:a.example', false])
})

test('SPEC 4.5 a server that the system does not trust, or with another name, is not vouched for', async () => {
  const { port } = await startHttps(certificate, (_, res) => res.end('ok'))
  for (const [host, roots, why] of [
    ['a.example', [(await serverCertificate('a.example')).cert], 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['c.example', [certificate.cert], 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const) {
    const lab = await startLab(rules({ host, port, pathPrefix: '/x' }), { upstreamRoots: roots })
    const client = new Client(lab.port)
    await connectTo(client, `${host}:${port}`)
    const socket = await secure(client, host, lab.proxy.ca!.certPem)
    expect(await ask(socket, `GET /x HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`)).toEqual({
      status: '502 Bad Gateway',
      body: `cordon: TLS with ${host} failed (${why}).\n`,
    })
  }
})

test('an intercepted address works too, and a client that does not trust the run is recorded', async () => {
  const { port } = await startHttps(certificate, (_, res) => res.end('ip'))
  const lab = await startLab(rules({ host: '127.1.0.1', port, pathPrefix: '/x' }), trusted)
  const client = new Client(lab.port)
  await connectTo(client, `127.1.0.1:${port}`)
  const socket = await secure(client, '127.1.0.1', lab.proxy.ca!.certPem)
  expect((await ask(socket, `GET /x HTTP/1.1\r\nHost: 127.1.0.1:${port}\r\n\r\n`)).body).toBe('ip')
  const wary = new Client(lab.port)
  await connectTo(wary, `127.1.0.1:${port}`)
  await expect(secure(wary, '127.1.0.1', certificate.cert)).rejects.toThrow()
  const decisions = await settled(lab, 4)
  expect(decisions[3]).toMatchObject({
    kind: 'https',
    host: '127.1.0.1',
    allowed: false,
    reason: "the client left before its first request: it may not trust the run's certificate authority",
  })
})

test('CONNECT inside an intercepted tunnel is refused, and a client that resets then harms nobody', async () => {
  const { port } = await startHttps(certificate, (_, res) => res.end('ok'))
  const lab = await startLab(rules({ host: 'a.example', port, pathPrefix: '/x' }), trusted)
  for (let round = 0; round < 3; round++) {
    const client = new Client(lab.port)
    await connectTo(client, `a.example:${port}`)
    const socket = await secure(client, 'a.example', lab.proxy.ca!.certPem)
    expect((await ask(socket, 'CONNECT b.example:443 HTTP/1.1\r\nHost: b.example\r\n\r\n')).status).toBe(
      '400 Bad Request',
    )
    socket.write('more')
    client.socket.resetAndDestroy()
  }
  expect(lab.asked.every((name) => name === 'a.example')).toBe(true)
})

test('two runs have two authorities, and no rule that needs one means none is made', async () => {
  const narrow = rules({ host: 'a.example', pathPrefix: '/x' })
  const [one, two] = [await startLab(narrow, trusted), await startLab(narrow, trusted)]
  expect(one.proxy.ca!.certPem).not.toBe(two.proxy.ca!.certPem)
  expect(one.proxy.ca!.bundlePem).toBe(`${certificate.cert}\n${one.proxy.ca!.certPem}`)
  expect((await startLab(rules({ host: 'a.example' }))).proxy.ca).toBe(undefined)
  expect((await startLab(narrow, { interception: 'off' })).proxy.ca).toBe(undefined)
})

/** RFC 6455 §1.3, then bytes are echoed. */
const acceptWebSocket = (req: IncomingMessage, socket: Duplex): void => {
  const accept = createHash('sha1')
    .update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  )
  socket.pipe(socket)
}
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

test('SPEC 4.5 WebSockets inside an intercepted tunnel are decided by path, then counted exactly', async () => {
  const { port, server } = await startHttps(certificate, (_, res) => res.writeHead(404).end())
  server.on('upgrade', (req: IncomingMessage, socket: Duplex) => acceptWebSocket(req, socket))
  const lab = await startLab(rules({ host: 'a.example', port, pathPrefix: '/live' }), trusted)
  const open = async (
    path: string,
  ): Promise<{ status: string; socket: Awaited<ReturnType<typeof secure>> }> => {
    const client = new Client(lab.port)
    await connectTo(client, `a.example:${port}`)
    const socket = await secure(client, 'a.example', lab.proxy.ca!.certPem)
    return { ...(await ask(socket, `GET ${path} HTTP/1.1\r\nHost: a.example:${port}\r\n${UPGRADE}`)), socket }
  }
  expect((await open('/other')).status).toBe('403 Forbidden')
  const { status, socket } = await open('/live/1')
  expect(status).toBe('101 Switching Protocols')
  const echoed = Promise.withResolvers<void>()
  let got = 0
  socket.on('data', (chunk: Buffer) => {
    got += chunk.length
    if (got === 5000) echoed.resolve()
  })
  socket.write(Buffer.alloc(5000, 'x'))
  await echoed.promise
  socket.end()
  const decisions = (await settled(lab, 4)).map((d) => d as Record<string, unknown>)
  expect(decisions.map((d) => [d['kind'], d['url'], d['allowed'], d['bytesUp'], d['bytesDown']])).toEqual([
    ['connect', undefined, true, 0, 0],
    ['https', `wss://a.example:${port}/other`, false, 0, 0],
    ['connect', undefined, true, 0, 0],
    ['https', `wss://a.example:${port}/live/1`, true, 5000, 5000],
  ])
})

test('a WebSocket over plain http: a frame right behind the request is not lost', async () => {
  const port = await startRaw((socket) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (text.endsWith('\r\n\r\n'))
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
      if (text.endsWith('early')) socket.end('got it')
    })
  })
  const lab = await startLab(rules({ host: 'a.example', port, scheme: 'ws' }))
  const client = new Client(lab.port).send(
    `GET http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\n${UPGRADE}early`,
  )
  expect((await client.takeHead()).slice(0, 12)).toBe('HTTP/1.1 101')
  expect((await client.takeAll()).toString()).toBe('got it')
})

test('a WebSocket over plain http, through the proxy itself; a server that declines is passed on', async () => {
  const port = await startHttp((_, res) => res.writeHead(404).end('no'))
  const lab = await startLab(rules({ host: 'a.example', port, scheme: 'ws' }))
  const client = new Client(lab.port).send(`GET http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\n${UPGRADE}`)
  const text = (await client.takeAll()).toString()
  expect(text.slice(0, 22)).toBe('HTTP/1.1 404 Not Found')
  const plain = new Client(lab.port).send(`GET http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`)
  expect((await plain.takeAnswer()).status).toBe('HTTP/1.1 403 Forbidden')
})
