import { expect, test } from 'vitest'
import { Client, rules, settled, startLab, startRaw } from './lab.ts'

const LENGTH = 3 << 20
const BODY = Buffer.alloc(LENGTH, 'abcdefghijklm')

/** A server that answers each request on each connection with the same bytes, then ends if told to. */
const startServer = (answer: Uint8Array[], then: 'stay' | 'end' = 'stay'): Promise<number> =>
  startRaw((socket) => {
    socket.on('data', () => {
      for (const piece of answer) socket.write(piece)
      if (then === 'end') socket.end()
    })
  })

const head = (lines: string): Buffer => Buffer.from(`HTTP/1.1 ${lines}\r\n\r\n`)
const ok = head(`200 OK\r\nContent-Length: ${LENGTH}`)
const ask = (port: number, method = 'GET'): string =>
  `${method} http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`

for (const [name, surplus] of Object.entries({
  exact: '',
  'followed by a second answer': 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil',
}))
  test(`decision 0056: a long body, ${name}: its bytes, no more, and the next request is decided anew`, async () => {
    const port = await startServer([ok, BODY, Buffer.from(surplus)])
    const lab = await startLab(rules({ host: 'a.example', port }))
    const client = new Client(lab.port)
    for (let round = 0; round < 2; round++) {
      client.send(ask(port))
      expect((await client.takeHead()).slice(0, 15)).toBe('HTTP/1.1 200 OK')
      expect((await client.take(LENGTH)).equals(BODY)).toBe(true)
    }
    const denied = client.send('GET http://b.example/ HTTP/1.1\r\nHost: x\r\n\r\n')
    expect((await denied.takeAnswer()).status).toBe('HTTP/1.1 403 Forbidden')
    expect(await settled(lab, 3)).toMatchObject([
      { allowed: true, bytesDown: LENGTH },
      { allowed: true, bytesDown: LENGTH },
      { allowed: false, bytesDown: 0 },
    ])
  })

test('decision 0056: a long body that breaks off does not look complete', async () => {
  const port = await startServer([ok, BODY.subarray(1)], 'end')
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port).send(ask(port))
  await client.takeHead()
  expect((await client.takeAll()).length).toBeLessThan(LENGTH)
  expect(await settled(lab, 1)).toMatchObject([{ allowed: true, bytesDown: LENGTH - 1 }])
})

for (const [method, status] of [
  ['HEAD', '200 OK'],
  ['GET', '304 Not Modified'],
] as const)
  test(`decision 0056: a long length without a body, ${method} ${status}`, async () => {
    const port = await startServer([head(`${status}\r\nContent-Length: ${LENGTH}`)])
    const lab = await startLab(rules({ host: 'a.example', port }))
    const client = new Client(lab.port)
    for (let round = 0; round < 2; round++)
      expect((await client.send(ask(port, method)).takeHead()).split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`)
    expect(await settled(lab, 2)).toMatchObject([{ bytesDown: 0 }, { bytesDown: 0 }])
  })

for (const framing of [
  `Content-Length: ${LENGTH}\r\nTransfer-Encoding: chunked`,
  `Content-Length: ${LENGTH}\r\nContent-Length: 5`,
])
  test(`decision 0056: an answer whose length is in doubt is a 502: ${framing.split('\r\n')[1]}`, async () => {
    const port = await startServer([head(`200 OK\r\n${framing}`), BODY])
    const lab = await startLab(rules({ host: 'a.example', port }))
    const client = new Client(lab.port).send(ask(port))
    expect((await client.takeAnswer()).status).toBe('HTTP/1.1 502 Bad Gateway')
  })

test('decision 0056: a slow reader slows the server of a long body down: what is held is bounded', async () => {
  let written = 0
  const port = await startRaw((socket) => {
    const pump = (): void => {
      while (written < 512 << 20) {
        written += LENGTH
        if (!socket.write(BODY)) return void socket.once('drain', pump)
      }
    }
    socket.once('data', () => {
      socket.write(head(`200 OK\r\nContent-Length: ${1 << 30}`))
      pump()
    })
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  const client = new Client(lab.port).send(ask(port))
  client.socket.pause()
  // Kernel buffers fill, then nothing moves any more.
  for (let before = -1; before !== written || before === 0;) {
    before = written
    await new Promise((go) => setTimeout(go, 300))
  }
  expect(written).toBeLessThan(64 << 20)
})
