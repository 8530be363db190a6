import { once } from 'node:events'
import { type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Client, connectTo, echo, rules, settled, startHttp, startLab, startRaw } from './lab.ts'
import { ask, secure, serverCertificate, startHttps } from './tls-lab.ts'

const OPEN = 'HTTP/1.1 200 Connection established'

test('SPEC 4.5 CONNECT: raw bytes pass where a rule names the port, and are counted exactly', async () => {
  const port = await startRaw(echo)
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port)
  expect(await connectTo(client, `A.example:${port}`)).toBe(OPEN)
  const payload = Buffer.alloc(300_000, '\x01')
  client.socket.end(payload)
  expect((await client.takeAll()).equals(payload)).toBe(true)
  expect(await settled(lab, 1)).toEqual([
    {
      kind: 'connect',
      host: 'a.example',
      port,
      allowed: true,
      rule: { index: 0, origin: 'config.toml:1' },
      reason: 'allowed',
      bytesUp: 300_000,
      bytesDown: 300_000,
    },
  ])
})

test('SPEC 4.5 CONNECT: a denial is a 403 with the reason alone, and nothing is looked up', async () => {
  const lab = await startLab(
    rules({ host: 'a.example' }, { host: 'b.example', scheme: 'https', allow: false }),
  )
  const client = new Client(lab.port).send('CONNECT a.example:22 HTTP/1.1\r\nHost: a.example:22\r\n\r\n')
  const { status, body } = await client.takeAnswer()
  expect(status).toBe('HTTP/1.1 403 Forbidden')
  expect(body).toBe('cordon: network access denied: a.example:22\n  because: no rule allows a.example:22\n')
  const refused = new Client(lab.port).send('CONNECT b.example:443 HTTP/1.1\r\n\r\n')
  expect((await refused.takeAnswer()).body.split('\n')[1]).toBe(
    '  because: the rule at config.toml:2 for b.example says no',
  )
  expect(lab.asked).toEqual([])
})

for (const target of [
  'a.example',
  'a.example:',
  'a.example:0',
  'a.example:99999',
  'x@a.example:443',
  'a.example:443@evil.example:443',
  'a.example/:443',
  '*.example:443',
  '[::1:443',
  'a.example:443/x',
  'a.example#:443',
  ':443',
])
  test(`SPEC 1.5 CONNECT ${target} is refused`, async () => {
    const lab = await startLab(rules({ host: 'a.example' }, { host: 'evil.example' }))
    const answer = (
      await new Client(lab.port).send(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`).takeAll()
    ).toString()
    expect(answer.slice(0, 24)).toBe('HTTP/1.1 400 Bad Request')
    expect(lab.asked).toEqual([])
  })

test('a server that speaks first is heard where raw bytes are allowed', async () => {
  const port = await startRaw((socket) => void socket.write('220 hello\r\n').valueOf())
  const lab = await startLab(rules({ host: 'mail.example', port }))
  const client = new Client(lab.port)
  expect(await connectTo(client, `mail.example:${port}`)).toBe(OPEN)
  expect((await client.take(11)).toString()).toBe('220 hello\r\n')
})

test('bytes right behind CONNECT, in the same packet, are not lost', async () => {
  const port = await startRaw(echo)
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port).send(`CONNECT a.example:${port} HTTP/1.1\r\n\r\n\0early`)
  await client.takeHead()
  expect((await client.take(6)).toString()).toBe('\0early')
})

test('half-close is passed on: the server answers after the client has finished', async () => {
  const port = await startRaw((socket) => {
    let count = 0
    socket.on('data', (chunk) => (count += chunk.length)).on('end', () => socket.end(`got ${count}`))
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port)
  await connectTo(client, `a.example:${port}`)
  client.socket.end('\0'.repeat(1000))
  expect((await client.takeAll()).toString()).toBe('got 1000')
})

test('decision 0050: HTTP inside a tunnel is decided request by request, with the Host of the tunnel', async () => {
  const port = await startHttp((req, res) => res.end(req.url))
  const lab = await startLab(
    rules({ host: 'a.example', port }, { host: 'a.example', port, pathPrefix: '/no', allow: false }),
  )
  const client = new Client(lab.port)
  await connectTo(client, `a.example:${port}`)
  const get = async (path: string, host = `a.example:${port}`): Promise<string> =>
    (await client.send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).takeAnswer()).status.slice(9)
  expect([await get('/yes'), await get('/no/x'), await get(`http://a.example:${port}/yes`)]).toEqual([
    '200 OK',
    '403 Forbidden',
    '200 OK',
  ])
  expect(await get('/yes', `b.example:${port}`)).toBe('421 Misdirected Request')
  const other = new Client(lab.port)
  await connectTo(other, `a.example:${port}`)
  const { status } = await other
    .send(`GET http://b.example:${port}/ HTTP/1.1\r\nHost: a.example:${port}\r\n\r\n`)
    .takeAnswer()
  expect(status).toBe('HTTP/1.1 421 Misdirected Request')
  const nested = new Client(lab.port)
  await connectTo(nested, `a.example:${port}`)
  const answer = (
    await nested.send('CONNECT b.example:443 HTTP/1.1\r\nHost: b.example\r\n\r\n').takeAll()
  ).toString()
  expect(answer.slice(0, 24)).toBe('HTTP/1.1 400 Bad Request')
  expect(lab.asked.every((name) => name === 'a.example')).toBe(true)
})

for (const [name, bytes] of Object.entries({
  'no method': '\r\n\0\0',
  'HTTP/0.9': 'GET /no\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  junk: '\0\x01\x02',
}))
  test(`decision 0050: where paths are restricted, bytes that are not HTTP/1.1 go nowhere: ${name}`, async () => {
    let received = 0
    const port = await startRaw((socket) => socket.on('data', (chunk) => (received += chunk.length)))
    const lab = await startLab(
      rules({ host: 'a.example', port }, { host: 'a.example', port, pathPrefix: '/no', allow: false }),
    )
    const client = new Client(lab.port)
    await connectTo(client, `a.example:${port}`)
    expect((await client.send(bytes).takeAll()).toString()).toBe('')
    expect(received).toBe(0)
    expect(await settled(lab, 1)).toMatchObject([{ kind: 'connect', allowed: false }])
  })

test('SPEC 4.5 TLS that is not intercepted: the server name must be the requested host', async () => {
  const certificate = await serverCertificate('a.example', 'b.example')
  const { port } = await startHttps(certificate, (_, res) => res.end('tls'))
  const lab = await startLab(rules({ host: 'a.example', port }))
  const good = new Client(lab.port)
  await connectTo(good, `a.example:${port}`)
  const socket = await secure(good, 'A.example', certificate.cert)
  expect((await ask(socket, 'GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')).body).toContain('tls')
  for (const servername of ['b.example', '']) {
    const bad = new Client(lab.port)
    await connectTo(bad, `a.example:${port}`)
    await expect(secure(bad, servername, certificate.cert)).rejects.toThrow('alert access denied')
  }
  expect((await settled(lab, 2)).map((d) => (d as { reason: string }).reason)).toEqual([
    'the TLS handshake names another server than a.example',
    'the TLS handshake names no server, expected a.example',
  ])
})

test('an end that breaks takes the other end with it, in both directions', async () => {
  const servers: Socket[] = []
  const port = await startRaw((socket) => {
    servers.push(socket)
    echo(socket)
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  const open = async (): Promise<{ client: Client; server: Socket }> => {
    const client = new Client(lab.port)
    await connectTo(client, `a.example:${port}`)
    await client.send('\0').take(1)
    return { client, server: servers.at(-1)! }
  }
  const one = await open()
  one.client.socket.resetAndDestroy()
  await once(one.server, 'close')
  const two = await open()
  two.server.resetAndDestroy()
  await two.client.takeAll()
  expect((await settled(lab, 2)).length).toBe(2)
})

test('an idle tunnel, a silent client and a client that says nothing are closed and recorded', async () => {
  const port = await startRaw(echo)
  const lab = await startLab(rules({ host: 'a.example', port }, { host: 'b.example' }), {
    limits: { idleMs: 3000, firstBytesMs: 3000 },
    resolve: () => Promise.resolve(['127.1.0.1']),
  })
  const idle = new Client(lab.port)
  await connectTo(idle, `a.example:${port}`)
  await idle.send('\0').take(1)
  await idle.takeAll()
  await new Client(lab.port).takeAll()
  expect((await settled(lab, 2)).map((d) => (d as { reason: string }).reason)).toEqual([
    'allowed',
    'the client said nothing',
  ])
})

test('a client that speaks TLS to the proxy, or junk, is closed with a recorded reason', async () => {
  const lab = await startLab(rules({ host: 'a.example' }))
  for (const bytes of ['\x16\x03\x01\x02\x00', '\x04\x01\0\x50', '\0', '{}'])
    expect((await new Client(lab.port).send(Buffer.from(bytes, 'latin1')).takeAll()).length).toBe(0)
  expect((await settled(lab, 4)).map((d) => (d as { reason: string }).reason)).toEqual([
    'the client speaks TLS: this proxy is plain, use http:// in its URL',
    'the client speaks neither HTTP nor SOCKS5',
    'the client speaks neither HTTP nor SOCKS5',
    'the client speaks neither HTTP nor SOCKS5',
  ])
})

test('close() breaks every connection, frees the port and records what was open', async () => {
  const gone = Promise.withResolvers<void>()
  const port = await startRaw((socket) => {
    socket.on('close', () => gone.resolve())
    echo(socket)
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port)
  await connectTo(client, `a.example:${port}`)
  await client.send('\0\0\0').take(3)
  await lab.proxy.close()
  await client.takeAll()
  await gone.promise
  expect(await settled(lab, 1)).toMatchObject([{ allowed: true, bytesUp: 3, bytesDown: 3 }])
  const late = new Client(lab.port)
  const [error] = (await once(late.socket, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('ECONNREFUSED')
})
