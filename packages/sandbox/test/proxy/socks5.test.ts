import { expect, test } from 'vitest'
import { Client, echo, PUBLIC, rules, settled, startHttp, startLab, startRaw } from './lab.ts'

const portBytes = (port: number): Buffer => Buffer.from([port >> 8, port & 255])
const byName = (name: string, port: number): Buffer =>
  Buffer.concat([Buffer.from([5, 1, 0, 3, Buffer.byteLength(name)]), Buffer.from(name), portBytes(port)])
const byV4 = (address: string, port: number): Buffer =>
  Buffer.concat([Buffer.from([5, 1, 0, 1, ...address.split('.').map(Number)]), portBytes(port)])

/** The reply code. */
async function socks(client: Client, request: Buffer): Promise<number> {
  expect([...(await client.send(Buffer.from([5, 1, 0])).take(2))]).toEqual([5, 0])
  return (await client.send(request).take(10))[1]!
}

test('SPEC 4.5 SOCKS5 by name and by address, counted exactly', async () => {
  const port = await startRaw(echo)
  const lab = await startLab(rules({ host: 'a.example', port }, { host: PUBLIC, port }))
  for (const request of [byName('A.Example.', port), byV4(PUBLIC, port)]) {
    const client = new Client(lab.port)
    expect(await socks(client, request)).toBe(0)
    expect((await client.send('\0hello').take(6)).toString()).toBe('\0hello')
    client.socket.end()
    await client.takeAll()
  }
  expect(lab.asked).toEqual(['a.example'])
  expect(await settled(lab, 2)).toMatchObject([
    { kind: 'socks5', host: 'a.example', port, allowed: true, bytesUp: 6, bytesDown: 6, rule: { index: 0 } },
    { kind: 'socks5', host: PUBLIC, port, allowed: true, bytesUp: 6, bytesDown: 6, rule: { index: 1 } },
  ])
})

test('SPEC 4.5 SOCKS5 denials are reply 2, whatever the spelling', async () => {
  const lab = await startLab(rules({ host: 'a.example' }))
  const v6 = Buffer.concat([
    Buffer.from([5, 1, 0, 4]),
    Buffer.from('00000000000000000000ffff7f000001', 'hex'),
    portBytes(80),
  ])
  for (const request of [
    byName('b.example', 443),
    byName('a.example.evil.example', 443),
    byName('x@a.example', 443),
    byName('a.example', 22),
    byName('a.example\0.evil.example', 443),
    byName('ä.example', 443),
    byName('', 443),
    byName('2130706433', 80),
    byName('0x7f.1', 80),
    byV4('127.0.0.1', 80),
    byV4('169.254.169.254', 80),
    v6,
  ])
    expect([request.toString('latin1'), await socks(new Client(lab.port), request)]).toEqual([
      request.toString('latin1'),
      2,
    ])
  expect(lab.asked).toEqual([])
  const decisions = await settled(lab, 12)
  expect(decisions.every((d) => !(d as { allowed: boolean }).allowed)).toBe(true)
})

test('SOCKS5 names are ASCII: other bytes are not read by a guess', async () => {
  const lab = await startLab(
    rules({ host: 'ä.example' }, { host: Buffer.from('ä.example').toString('latin1') }),
  )
  expect(await socks(new Client(lab.port), byName('ä.example', 443))).toBe(2)
  expect(lab.asked).toEqual([])
})

test('SOCKS5 BIND, UDP, authentication and unknown address types are refused', async () => {
  const lab = await startLab(rules({ host: 'a.example' }))
  const [bind, udp, type] = [byName('a.example', 443), byName('a.example', 443), byName('a.example', 443)]
  bind[1] = 2
  udp[1] = 3
  type[3] = 9
  expect(await socks(new Client(lab.port), bind)).toBe(7)
  expect(await socks(new Client(lab.port), udp)).toBe(7)
  expect(await socks(new Client(lab.port), type)).toBe(8)
  expect([...(await new Client(lab.port).send(Buffer.from([5, 1, 2])).takeAll())]).toEqual([5, 0xff])
  expect(lab.asked).toEqual([])
})

test('SOCKS5 carries HTTP like any tunnel: each request is decided', async () => {
  const port = await startHttp((req, res) => res.end(req.url))
  const lab = await startLab(rules({ host: 'a.example', port, pathPrefix: '/yes' }))
  const client = new Client(lab.port)
  expect(await socks(client, byName('a.example', port))).toBe(0)
  const get = async (path: string): Promise<string> =>
    (await client.send(`GET ${path} HTTP/1.1\r\nHost: a.example:${port}\r\n\r\n`).takeAnswer()).status.slice(
      9,
    )
  expect([await get('/yes/1'), await get('/no'), await get('/yes/2')]).toEqual([
    '200 OK',
    '403 Forbidden',
    '200 OK',
  ])
})

test('the request may come in pieces, and data right behind it is not lost', async () => {
  const port = await startRaw(echo)
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port)
  for (const byte of [5, 1, 0]) client.send(Buffer.from([byte]))
  await client.take(2)
  const request = byName('a.example', port)
  client.send(request.subarray(0, 7))
  await new Promise((go) => setTimeout(go, 10))
  client.send(Buffer.concat([request.subarray(7), Buffer.from('\0early')]))
  expect((await client.take(10))[1]).toBe(0)
  expect((await client.take(6)).toString()).toBe('\0early')
})

test('a server that refuses is reply 5', async () => {
  const lab = await startLab(rules({ host: 'a.example', port: 1 }))
  expect(await socks(new Client(lab.port), byName('a.example', 1))).toBe(5)
})
