import { expect, test } from 'vitest'
import { Client, connectTo, echo, PUBLIC, rules, startHttp, startLab, startRaw } from './lab.ts'

const get = async (port: number, url: string): Promise<{ status: string; body: string }> =>
  new Client(port).send(`GET ${url} HTTP/1.1\r\nHost: x\r\n\r\n`).takeAnswer()

test('SPEC 4.5 an allowed name that resolves to loopback is refused (DNS rebinding)', async () => {
  const port = await startHttp((_, res) => res.end('secret'), '127.0.0.1')
  const lab = await startLab(rules({ host: 'a.example', port }), {
    resolve: () => Promise.resolve(['127.0.0.1']),
  })
  const { status, body } = await get(lab.port, `http://a.example:${port}/`)
  expect(status).toBe('HTTP/1.1 403 Forbidden')
  expect(body).toBe(
    `cordon: network access denied: http://a.example:${port}/\n` +
      '  because: a.example resolves to 127.0.0.1, a loopback address, and no rule names that address\n',
  )
  expect(await connectTo(new Client(lab.port), `a.example:${port}`)).toBe('HTTP/1.1 403 Forbidden')
})

for (const address of [
  '10.0.0.1',
  '169.254.169.254',
  'fd00:ec2::254',
  '::1',
  '::ffff:127.0.0.1',
  '64:ff9b::7f00:1',
  '0.0.0.0',
  '224.0.0.1',
])
  test(`SPEC 4.5 an allowed name that resolves to ${address} is refused`, async () => {
    const lab = await startLab(rules({ host: 'a.example' }), { resolve: () => Promise.resolve([address]) })
    expect((await get(lab.port, 'http://a.example/')).status).toBe('HTTP/1.1 403 Forbidden')
    expect(await connectTo(new Client(lab.port), 'a.example:443')).toBe('HTTP/1.1 403 Forbidden')
  })

test('SPEC 4.5 the answer is pinned: one lookup a connection, and a second answer is checked like the first', async () => {
  const outside = await startRaw(echo)
  const inside = await startRaw((socket) => socket.end('secret'), '127.0.0.1')
  expect(inside).toBeGreaterThan(0)
  let lookups = 0
  const lab = await startLab(rules({ host: 'a.example', port: outside }), {
    resolve: () => Promise.resolve([lookups++ === 0 ? PUBLIC : '127.0.0.1']),
  })
  const client = new Client(lab.port)
  expect(await connectTo(client, `a.example:${outside}`)).toBe('HTTP/1.1 200 Connection established')
  expect((await client.send('\0ping').take(5)).toString()).toBe('\0ping')
  expect(lookups).toBe(1)
  expect(await connectTo(new Client(lab.port), `a.example:${outside}`)).toBe('HTTP/1.1 403 Forbidden')
  expect(lookups).toBe(2)
})

test('addresses are tried in order, and forbidden ones are left out', async () => {
  const port = await startHttp((_, res) => res.end('ok'), '127.1.0.9')
  const lab = await startLab(rules({ host: 'a.example', port }), {
    resolve: () => Promise.resolve(['10.0.0.1', 'junk', '127.1.0.8', '127.1.0.9']),
  })
  expect((await get(lab.port, `http://a.example:${port}/`)).body).toBe('ok')
})

test('decision 0051: a rule that names the address lets a name lead there, for what that rule allows', async () => {
  const port = await startHttp((req, res) => res.end(req.url), '127.0.0.1')
  const lab = await startLab(
    rules({ host: 'corp.example', port }, { host: '127.0.0.1', port, pathPrefix: '/ok' }),
    {
      resolve: () => Promise.resolve(['127.0.0.1']),
    },
  )
  const client = new Client(lab.port)
  const path = async (p: string): Promise<string> =>
    (
      await client.send(`GET http://corp.example:${port}${p} HTTP/1.1\r\nHost: x\r\n\r\n`).takeAnswer()
    ).status.slice(9)
  // The second request would ride on the first one's connection if that were kept.
  expect([await path('/ok/1'), await path('/no'), await path('/ok/2')]).toEqual([
    '200 OK',
    '403 Forbidden',
    '200 OK',
  ])
})

test('decision 0051: a rule for localhost names loopback, without asking any name server', async () => {
  const port = await startHttp((_, res) => res.end('mine'), '127.0.0.1')
  const lab = await startLab(rules({ host: 'localhost', port }), {
    resolve: () => Promise.resolve(['10.0.0.1']),
  })
  expect((await get(lab.port, `http://localhost:${port}/`)).body).toBe('mine')
  expect((await get(lab.port, `http://LOCALHOST.:${port}/`)).body).toBe('mine')
  expect((await get(lab.port, `http://127.0.0.1:${port}/`)).status).toBe('HTTP/1.1 403 Forbidden')
  expect(lab.asked).toEqual([])
})

test('a lookup that never answers is given up', async () => {
  const lab = await startLab(rules({ host: 'a.example' }), {
    resolve: () => new Promise(() => {}),
    limits: { connectMs: 50 },
  })
  expect(await get(lab.port, 'http://a.example/')).toMatchObject({
    status: 'HTTP/1.1 504 Gateway Timeout',
    body: 'cordon: the lookup of a.example timed out.\n',
  })
})
