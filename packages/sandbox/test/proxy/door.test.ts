import { createServer } from 'node:net'
import { parseHost } from '@cordon/policy'
import { describe, expect, onTestFinished, test } from 'vitest'
import { classifyAddress } from '../../src/proxy/address.ts'
import { type Door } from '../../src/proxy/gate.ts'
import { openProxy, type ProxyHandle } from '../../src/proxy/serve.ts'
import { parseUpstream } from '../../src/proxy/upstream.ts'
import { type ProxyOptions } from '../../src/proxy/options.ts'
import { Client, echo, listen, PUBLIC, type RuleText, rules, startHttp, startLab, startRaw } from './lab.ts'
import { ask, secure, serverCertificate, startHttps } from './tls-lab.ts'

interface DoorLab {
  readonly proxy: ProxyHandle
  readonly port: number
}

/** A door to `a.example:port`, whose address is `PUBLIC` unless told otherwise. */
async function startDoor(
  port: number,
  list: readonly RuleText[],
  options: Partial<ProxyOptions> = {},
  door: Pick<Door, 'host' | 'alias'> = { host: parseHost('a.example')! },
): Promise<DoorLab> {
  const server = createServer()
  const at = await listen(server, '127.0.0.1')
  const proxy = await openProxy({
    rules: rules(...list),
    classify: (address) => (address === PUBLIC ? 'public' : 'private'),
    resolve: () => Promise.resolve([PUBLIC]),
    ...options,
  })
  proxy.serve(server, { ...door, port })
  onTestFinished(() => proxy.close())
  return { proxy, port: at }
}

const outcome = ({ proxy }: DoorLab): unknown =>
  proxy.decisions().map(({ kind, host, allowed, reason }) => ({ kind, host, allowed, reason }))

test('SPEC 4.5 bytes of any protocol pass, also when the server speaks first', async () => {
  const server = await startRaw((socket) => {
    socket.write('SSH-2.0-server\r\n')
    echo(socket)
  })
  const lab = await startDoor(server, [{ host: 'a.example', port: server }])
  const client = new Client(lab.port)
  expect((await client.take(16)).toString()).toBe('SSH-2.0-server\r\n')
  client.send('SSH-2.0-client\r\n')
  expect((await client.take(16)).toString()).toBe('SSH-2.0-client\r\n')
})

test('a refusal is said in the words of whoever speaks, and recorded with what would allow it', async () => {
  const server = await startHttp((_, res) => res.end('never'), '127.0.0.1')
  const lab = await startDoor(server, [{ host: 'a.example', port: server }], {
    resolve: () => Promise.resolve(['10.0.0.5']),
  })
  const reason = 'a.example resolves to 10.0.0.5, a private address, and no rule names that address'
  const { status, body } = await new Client(lab.port)
    .send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
    .takeAnswer()
  expect([status, body.split('\n')[1]]).toEqual(['HTTP/1.1 403 Forbidden', `  because: ${reason}`])
  const silent = new Client(lab.port).send('x')
  silent.socket.end()
  expect((await silent.takeAll()).length).toBe(0)
  expect(outcome(lab)).toEqual(
    Array.from({ length: 2 }, () => ({ kind: 'direct', host: 'a.example', allowed: false, reason })),
  )
  expect(lab.proxy.decisions()[0]?.wish).toEqual({ host: '10.0.0.5', port: server })
})

describe('a door that two rules share: localhost and its address', () => {
  const TWO = { host: parseHost('127.0.0.1')!, alias: parseHost('localhost')! }
  const startTwo = (port: number, list: readonly RuleText[], options: Partial<ProxyOptions> = {}) =>
    startDoor(port, list, { classify: classifyAddress, ...options }, TWO)

  test('SPEC 4.5 each request is decided by the name that it says, on one connection', async () => {
    const server = await startHttp((req, res) => res.end(`${req.headers.host}${req.url}`), '127.0.0.1')
    const lab = await startTwo(server, [
      { host: 'localhost', port: server, pathPrefix: '/name' },
      { host: '127.0.0.1', port: server, pathPrefix: '/address' },
    ])
    const client = new Client(lab.port)
    const seen: string[] = []
    for (const host of ['localhost', '127.0.0.1'])
      for (const path of ['/name', '/address', '/name']) {
        const { status, body } = await client
          .send(`GET ${path} HTTP/1.1\r\nHost: ${host}:${server}\r\n\r\n`)
          .takeAnswer()
        seen.push(status.includes('200') ? body : `${host}${path} refused`)
      }
    expect(seen).toEqual([
      `localhost:${server}/name`,
      'localhost/address refused',
      `localhost:${server}/name`,
      '127.0.0.1/name refused',
      `127.0.0.1:${server}/address`,
      '127.0.0.1/name refused',
    ])
  })

  test.each([
    ['another name of loopback', (port: number) => `GET /x HTTP/1.1\r\nHost: evil.localhost:${port}\r\n\r\n`],
    ['another host', () => 'GET /x HTTP/1.1\r\nHost: metadata.internal\r\n\r\n'],
    ['another port', () => 'GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    [
      'two hosts',
      (port: number) => `GET /x HTTP/1.1\r\nHost: localhost:${port}\r\nHost: 127.0.0.1:${port}\r\n\r\n`,
    ],
    [
      'a URL that says the other one',
      (port: number) => `GET http://127.0.0.1:${port}/x HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`,
    ],
    [
      'a Host that says the other one',
      (port: number) => `GET http://localhost:${port}/x HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`,
    ],
  ])('%s is refused', async (_, request) => {
    let reached = 0
    const server = await startHttp((_req, res) => res.end(String(++reached)), '127.0.0.1')
    const lab = await startTwo(server, [
      { host: 'localhost', port: server },
      { host: '127.0.0.1', port: server },
    ])
    const { status } = await new Client(lab.port).send(request(server)).takeAnswer()
    expect([status.slice(0, 10), reached]).toEqual(['HTTP/1.1 4', 0])
  })

  test('a door that only the address has does not answer to the name', async () => {
    const server = await startHttp((_, res) => res.end('never'), '127.0.0.1')
    const lab = await startDoor(
      server,
      [{ host: '127.0.0.1', port: server }],
      { classify: classifyAddress },
      { host: TWO.host },
    )
    const { status } = await new Client(lab.port)
      .send(`GET / HTTP/1.1\r\nHost: localhost:${server}\r\n\r\n`)
      .takeAnswer()
    expect(status).toBe('HTTP/1.1 421 Misdirected Request')
  })

  test('SPEC 4.5 TLS is decided by its server name; without one it is for the address', async () => {
    const certificate = await serverCertificate('localhost', '127.0.0.1', 'evil.localhost')
    const { port } = await startHttps(certificate, (_, res) => res.end('tls'), '127.0.0.1')
    const name = { host: 'localhost', port }
    const address = { host: '127.0.0.1', port }
    const cases: [RuleText[], string, boolean][] = [
      [[name, address], 'localhost', true],
      [[name, address], '127.0.0.1', true],
      [[name, address], 'evil.localhost', false],
      [[{ ...name, scheme: 'http' }, address], 'localhost', false],
      [[name, { ...address, scheme: 'http' }], 'localhost', true],
      [[name, { ...address, scheme: 'http' }], '127.0.0.1', false],
    ]
    for (const [list, asked, allowed] of cases) {
      const lab = await startTwo(port, list)
      const shaken = secure(new Client(lab.port), asked, certificate.cert)
      if (allowed) await shaken
      else await expect(shaken).rejects.toThrow('alert access denied')
    }
  })

  test('SPEC 4.5 what TLS asked for is what the requests inside it are for', async () => {
    const certificate = await serverCertificate('localhost')
    const { port } = await startHttps(certificate, (req, res) => res.end(req.url), '127.0.0.1')
    const lab = await startTwo(
      port,
      [
        { host: 'localhost', port, pathPrefix: '/name' },
        { host: '127.0.0.1', port },
      ],
      { upstreamRoots: [certificate.cert] },
    )
    const socket = await secure(new Client(lab.port), 'localhost', lab.proxy.ca!.certPem)
    const get = (path: string, host: string) =>
      ask(socket, `GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\n\r\n`)
    expect(await get('/name', 'localhost')).toEqual({ status: '200 OK', body: '/name' })
    expect((await get('/other', 'localhost')).status).toBe('403 Forbidden')
    expect((await get('/other', '127.0.0.1')).status).toBe('421 Misdirected Request')
  })
})

test('decision 0213: where the host is behind a proxy, ours dials through it, by name', async () => {
  const asked: string[] = []
  const upstream = await startRaw((socket) => {
    socket.once('data', (head: Buffer) => {
      asked.push(head.toString())
      if (head.includes('forbidden')) return void socket.end('HTTP/1.1 407 No\r\n\r\n')
      socket.write('HTTP/1.1 200 OK\r\nX: y\r\n\r\nearly')
      echo(socket)
    })
  }, '127.0.0.1')
  const env = { HTTPS_PROXY: `http://me:p%40ss@127.0.0.1:${upstream}`, no_proxy: 'internal.example,.corp' }
  const list = [{ host: 'a.example', port: 9 }]
  // Whether or not the host can look it up itself.
  for (const resolve of [() => Promise.resolve([PUBLIC]), () => Promise.reject(new Error('no DNS here'))]) {
    const lab = await startDoor(9, list, { resolve, upstream: parseUpstream(env) })
    const client = new Client(lab.port)
    expect((await client.take(5)).toString()).toBe('early')
    client.send('sent')
    expect((await client.take(4)).toString()).toBe('sent')
  }
  expect(asked).toEqual(
    Array.from(
      { length: 2 },
      () =>
        'CONNECT a.example:9 HTTP/1.1\r\nHost: a.example:9\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n',
    ),
  )
})

test('decision 0213: what is private, or excepted, or refused by it, does not go through the host’s proxy', async () => {
  const upstream = await startRaw((socket) => socket.end('HTTP/1.1 407 No\r\n\r\n'), '127.0.0.1')
  const env = { https_proxy: `127.0.0.1:${upstream}`, NO_PROXY: 'a.example' }
  const server = await startHttp((_, res) => res.end('direct'))
  const get = (lab: { port: number }, host: string) =>
    new Client(lab.port).send(`GET http://${host}:${server}/ HTTP/1.1\r\nHost: x\r\n\r\n`).takeAnswer()
  const list = rules({ host: 'a.example', port: server }, { host: 'b.example', port: server })
  const lab = await startLab(list, { upstream: parseUpstream(env) })
  expect((await get(lab, 'a.example')).body).toBe('direct')
  expect((await get(lab, 'b.example')).body).toBe(
    `cordon: b.example:${server}: the proxy of this host said 407.\n`,
  )
  const checked = await startLab(list, {
    upstream: parseUpstream(env),
    resolve: () => Promise.resolve(['10.0.0.5']),
  })
  expect((await get(checked, 'b.example')).status).toBe('HTTP/1.1 403 Forbidden')
})

test.each([
  [{}, undefined],
  [{ HTTPS_PROXY: '' }, undefined],
  [{ https_proxy: 'socks5://x:1' }, undefined],
  [{ ALL_PROXY: 'http://p.example:3128' }, { host: 'p.example', port: 3128 }],
  [
    { https_proxy: 'http://a.example:1', HTTPS_PROXY: 'http://b.example:2' },
    { host: 'a.example', port: 1 },
  ],
] as const)('the proxy of the host: %j', (env, expected) => {
  const found = parseUpstream(env)
  expect(found && { host: found.host, port: found.port }).toEqual(expected)
})
