import { expect, test } from 'vitest'
import { Client, type Lab, rules, settled, startHttp, startLab, startRaw } from './lab.ts'

const hello = (): Promise<number> => startHttp((req, res) => res.end(`${req.headers.host} ${req.url}`))

test('SPEC 4.5 an allowed request reaches its server, rewritten for it', async () => {
  const port = await startHttp((req, res) => res.end(JSON.stringify([req.method, req.url, req.rawHeaders])))
  const lab = await startLab(rules({ host: 'api.example', port }))
  const client = new Client(lab.port)
  client.send(
    `GET http://API.Example.:${port}/a/b?q=1 HTTP/1.1\r\nHost: other.example\r\nConnection: keep-alive, X-Drop\r\n` +
      'X-Drop: 1\r\nProxy-Authorization: secret\r\nAccept: */*\r\n\r\n',
  )
  const { status, body } = await client.takeAnswer()
  expect(status).toBe('HTTP/1.1 200 OK')
  expect(JSON.parse(body)).toEqual([
    'GET',
    '/a/b?q=1',
    ['Host', `api.example:${port}`, 'Accept', '*/*', 'Connection', 'keep-alive'],
  ])
  expect(lab.asked).toEqual(['api.example'])
  expect(await settled(lab, 1)).toEqual([
    {
      kind: 'http',
      host: 'api.example',
      port,
      url: `http://api.example:${port}/a/b`,
      allowed: true,
      rule: { index: 0, origin: 'config.toml:1' },
      reason: 'allowed',
      bytesUp: 0,
      bytesDown: body.length,
    },
  ])
})

test('SPEC 4.5 a denial is a 403 that names the host and the missing rule, and no command; nothing is looked up', async () => {
  const lab = await startLab(rules({ host: 'api.example' }))
  const client = new Client(lab.port).send(
    'GET http://api.example.evil.example/x?secret HTTP/1.1\r\nHost: api.example\r\n\r\n',
  )
  const { status, body } = await client.takeAnswer()
  expect(status).toBe('HTTP/1.1 403 Forbidden')
  expect(body).toBe(
    'cordon: network access denied: http://api.example.evil.example/x\n' +
      '  because: no rule allows api.example.evil.example:80\n',
  )
  expect(lab.asked).toEqual([])
  expect(await settled(lab, 1)).toEqual([
    {
      kind: 'http',
      host: 'api.example.evil.example',
      port: 80,
      url: 'http://api.example.evil.example/x',
      allowed: false,
      rule: undefined,
      reason: 'no rule allows api.example.evil.example:80',
      wish: { scheme: 'http', host: 'api.example.evil.example', port: 80 },
      bytesUp: 0,
      bytesDown: 0,
    },
  ])
})

test('SPEC 1.5 on one connection every request is decided on its own, by host and by path', async () => {
  const port = await hello()
  const lab = await startLab(
    rules(
      { host: 'a.example', port },
      { host: 'a.example', port, pathPrefix: '/admin', allow: false },
      { host: 'b.example', port },
    ),
  )
  const client = new Client(lab.port)
  const get = async (url: string): Promise<string> => {
    const { status, body } = await client.send(`GET ${url} HTTP/1.1\r\nHost: a.example\r\n\r\n`).takeAnswer()
    return status.includes('200') ? body : `${status.slice(9)}: ${body.split('\n')[1]}`
  }
  expect(await get(`http://a.example:${port}/x`)).toBe(`a.example:${port} /x`)
  expect(await get(`http://a.example:${port}/admin/users`)).toBe(
    '403 Forbidden:   because: the rule at config.toml:2 for a.example/admin says no',
  )
  expect(await get(`http://b.example:${port}/admin`)).toBe(`b.example:${port} /admin`)
  expect(await get(`http://c.example:${port}/`)).toBe(
    `403 Forbidden:   because: no rule allows c.example:${port}`,
  )
  expect(await get(`http://a.example:${port}/y`)).toBe(`a.example:${port} /y`)
  // Kept connections: one to each server, looked up once.
  expect(lab.asked).toEqual(['a.example', 'b.example'])
})

const SMUGGLING = {
  'Content-Length with Transfer-Encoding': 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'two Content-Lengths': 'Content-Length: 0\r\nContent-Length: 5\r\n\r\n',
  'a folded line': 'X: a\r\n b\r\n\r\n',
  'a bare LF': 'X: a\nY: b\r\n\r\n',
  'a bare CR': 'X: a\rY: b\r\n\r\n',
  'a NUL': 'X: a\0b\r\n\r\n',
  'two Hosts': 'Host: evil.example\r\n\r\n',
  'an unknown coding': 'Transfer-Encoding: xchunked\r\n\r\n',
  'two codings': 'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'a space before the colon': 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
} as const

for (const [name, rest] of Object.entries(SMUGGLING))
  test(`SPEC 4.5 request smuggling is refused: ${name}`, async () => {
    let requests = 0
    const port = await startHttp((_, res) => res.end(String(++requests)))
    const lab = await startLab(rules({ host: 'a.example', port }))
    const client = new Client(lab.port).send(
      `POST http://a.example:${port}/ HTTP/1.1\r\nHost: a.example\r\n${rest}`,
    )
    const answer = (await client.takeAll()).toString()
    expect(answer.slice(0, answer.indexOf('\r\n'))).toBe('HTTP/1.1 400 Bad Request')
    expect(requests).toBe(0)
    expect(lab.asked).toEqual([])
    expect((await settled(lab, 1)).length).toBe(1)
  })

const BAD_TARGETS: Record<string, string> = {
  '/origin-form': 'this is a proxy: the target must be a whole http URL',
  '*': 'this is a proxy: the target must be a whole http URL',
  'https://a.example/': 'https goes through CONNECT',
  'ftp://a.example/': 'this is a proxy: the target must be a whole http URL',
  'http://user@a.example/': 'its URL holds a user name',
  'http://a.example@evil.example/': 'its URL holds a user name',
  'http://a.example/\\@evil.example/': 'its URL holds a character that two servers could read differently',
  'http://a.example/#@evil.example/': 'its URL holds a character that two servers could read differently',
  'http://a%2eexample/': 'its host is not valid',
  'http://a.example:0/': 'its host is not valid',
  'http://a.example:99999/': 'its host is not valid',
  'http://*.example/': 'its host is not valid',
  'http://a.example/%zz': 'its path has a broken % escape',
}
for (const [target, reason] of Object.entries(BAD_TARGETS))
  test(`SPEC 1.5 a target that can be read in two ways is refused: ${target}`, async () => {
    const lab = await startLab(rules({ host: 'a.example' }, { host: 'evil.example' }))
    const client = new Client(lab.port).send(`GET ${target} HTTP/1.1\r\nHost: a.example\r\n\r\n`)
    const { status, body } = await client.takeAnswer()
    expect([status, body]).toEqual([
      'HTTP/1.1 400 Bad Request',
      `cordon: the request was refused: ${reason}.\n`,
    ])
    expect(lab.asked).toEqual([])
  })

test('SPEC 1.5 spellings of an address are one address, and only its own rule allows it', async () => {
  const port = await startHttp((_, res) => res.end('in'), '127.0.0.1')
  const status = async (lab: Lab, host: string): Promise<string> => {
    const client = new Client(lab.port).send(`GET http://${host}:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`)
    return (await client.takeAnswer()).status.slice(9)
  }
  const none = await startLab(rules({ host: 'a.example', port }))
  const named = await startLab(rules({ host: '127.0.0.1', port }))
  for (const host of ['127.0.0.1', '0x7f.1', '2130706433', '0177.0.0.1', '127.1']) {
    expect([host, await status(none, host)]).toEqual([host, '403 Forbidden'])
    expect([host, await status(named, host)]).toEqual([host, '200 OK'])
  }
  expect(await status(named, '[::ffff:127.0.0.1]')).toBe('403 Forbidden')
  expect(await status(named, '[::1]')).toBe('403 Forbidden')
})

test('SPEC 4.5 nothing that follows a refused request in the same packet is forwarded', async () => {
  let requests = 0
  const port = await startHttp((_, res) => res.end(String(++requests)))
  const lab = await startLab(rules({ host: 'a.example', port }))
  const good = `GET http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\n`
  const client = new Client(lab.port).send(
    `${good}Host: y\r\n\r\n${good}\r\n${good}Connection: upgrade\r\nUpgrade: websocket\r\n\r\n`,
  )
  expect((await client.takeAll()).toString().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
  expect([requests, lab.asked]).toEqual([0, []])
})

for (const last of [
  'CONNECT a.example:443 HTTP/1.1\r\n\r\n',
  'GET http://a.example/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
])
  test(`a change of protocol behind an unanswered request closes the connection: ${last.slice(0, 7)}`, async () => {
    const port = await startHttp(() => {})
    const lab = await startLab(rules({ host: 'a.example', port }, { host: 'a.example' }))
    const client = new Client(lab.port).send(
      `GET http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n${last}`,
    )
    expect((await client.takeAll()).toString()).toBe('')
    expect(await settled(lab, 2)).toMatchObject([
      { allowed: false, reason: 'a change of protocol before the answer' },
      { allowed: true },
    ])
  })

test('SPEC 1.5 an international name is one name in Punycode, and raw Unicode in a request is refused', async () => {
  const port = await hello()
  const lab = await startLab(rules({ host: 'MÜNCHEN.example', port }))
  const status = async (host: string): Promise<string> =>
    (
      await new Client(lab.port).send(`GET http://${host}:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`).takeAnswer()
    ).status.slice(9)
  expect(await status('xn--mnchen-3ya.example')).toBe('200 OK')
  expect(await status('XN--MNCHEN-3YA.EXAMPLE.')).toBe('200 OK')
  expect(await status('münchen.example')).toBe('400 Bad Request')
  expect(await status('munchen.example')).toBe('403 Forbidden')
})

test('a head over the limit is a 431, and recorded', async () => {
  const lab = await startLab(rules({ host: 'a.example' }), { limits: { maxHeadBytes: 4096 } })
  const client = new Client(lab.port).send(`GET http://a.example/ HTTP/1.1\r\nX: ${'y'.repeat(8000)}\r\n\r\n`)
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 431 Request Header Fields Too Large')
  expect(await settled(lab, 1)).toMatchObject([
    { allowed: false, reason: 'not a valid HTTP request (HPE_HEADER_OVERFLOW)' },
  ])
  expect(lab.asked).toEqual([])
})

test('bodies are counted exactly, both ways, with and without a length', async () => {
  const port = await startHttp((req, res) => {
    req.resume().on('end', () => res.end(Buffer.alloc(70_001)))
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port)
  client
    .send(`POST http://a.example:${port}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 123456\r\n\r\n`)
    .send(Buffer.alloc(123_456))
  await client.takeAnswer()
  client.send(
    `POST http://a.example:${port}/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
  )
  await client.takeAnswer()
  const counts = (await settled(lab, 2)).map((d) => d as { bytesUp: number; bytesDown: number })
  expect(counts.map(({ bytesUp, bytesDown }) => [bytesUp, bytesDown])).toEqual([
    [123_456, 70_001],
    [3, 70_001],
  ])
})

test('a kept connection that the server drops: a safe request goes again, another is a 502', async () => {
  const seen = new WeakSet<object>()
  const port = await startHttp((req, res) => {
    if (seen.has(req.socket)) req.socket.destroy()
    seen.add(req.socket)
    res.end('first')
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port)
  const send = async (method: string): Promise<string> =>
    (
      await client.send(`${method} http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`).takeAnswer()
    ).status.slice(9)
  expect([await send('GET'), await send('GET'), await send('POST')]).toEqual([
    '200 OK',
    '200 OK',
    '502 Bad Gateway',
  ])
})

test('a server that switches protocols unasked is a 502', async () => {
  const port = await startRaw((socket) =>
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    ),
  )
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port).send(`GET http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`)
  expect((await client.takeAnswer()).status).toBe('HTTP/1.1 502 Bad Gateway')
})

test('an answer that breaks off does not look complete', async () => {
  const port = await startHttp((_, res) => {
    res.writeHead(200, { 'Content-Length': 100 })
    res.write('half', () => res.destroy())
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port).send(`GET http://a.example:${port}/ HTTP/1.1\r\nHost: a\r\n\r\n`)
  expect((await client.takeAll()).toString()).toMatch(/\r\n\r\nhalf$/)
})

test('a server that cannot be reached or resolved is a 502 that says so', async () => {
  const lab = await startLab(rules({ host: 'a.example', port: 1 }, { host: 'gone.example' }), {
    resolve: (host) =>
      host === 'a.example'
        ? Promise.resolve(['127.1.0.1'])
        : Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
  })
  const client = new Client(lab.port)
  const get = async (url: string): Promise<string[]> => {
    const { status, body } = await client.send(`GET ${url} HTTP/1.1\r\nHost: a\r\n\r\n`).takeAnswer()
    return [status, body]
  }
  expect(await get('http://a.example:1/')).toEqual([
    'HTTP/1.1 502 Bad Gateway',
    'cordon: a.example:1 cannot be reached (ECONNREFUSED).\n',
  ])
  expect(await get('http://gone.example/')).toEqual([
    'HTTP/1.1 502 Bad Gateway',
    'cordon: gone.example cannot be resolved (ENOTFOUND).\n',
  ])
})
