import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Client, connectTo, echo, rules, settled, startHttp, startLab, startRaw } from './lab.ts'

for (const first of ['', '\0'])
  test(`a slow reader slows the server down, ${first ? 'in an open tunnel' : 'before it spoke'}: what is held is bounded`, async () => {
    const chunk = Buffer.alloc(1 << 20, 1)
    let written = 0
    const port = await startRaw((socket) => {
      const pump = (): void => {
        while (written < 512 << 20) {
          written += chunk.length
          if (!socket.write(chunk)) return void socket.once('drain', pump)
        }
      }
      if (first) socket.once('data', pump)
      else pump()
    })
    const lab = await startLab(rules({ host: 'a.example', port }))
    const client = new Client(lab.port)
    await connectTo(client, `a.example:${port}`)
    client.socket.pause()
    if (first) client.send(first)
    // Kernel buffers fill, then nothing moves any more.
    for (let before = -1; before !== written || before === 0;) {
      before = written
      await new Promise((go) => setTimeout(go, 300))
    }
    expect(written).toBeLessThan(64 << 20)
  })

test('a slow server slows the uploading client down', async () => {
  const port = await startHttp((req) => void req.pause())
  const lab = await startLab(rules({ host: 'a.example', port }))
  const socket = connect(lab.port, '127.0.0.1')
  socket.write(`POST http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${1 << 30}\r\n\r\n`)
  const chunk = Buffer.alloc(1 << 20, 1)
  let accepted = 0
  let before = -1
  const pump = (): void => {
    while (socket.write(chunk)) accepted += chunk.length
    accepted += chunk.length
    socket.once('drain', pump)
  }
  pump()
  while (before !== accepted) {
    before = accepted
    await new Promise((go) => setTimeout(go, 300))
  }
  socket.destroy()
  expect(accepted).toBeLessThan(64 << 20)
})

test('1,000 parallel tunnels hold, each with its own bytes; one more than the limit is refused', async () => {
  const port = await startRaw(echo)
  const lab = await startLab(rules({ host: 'a.example', port }), { limits: { maxConnections: 1000 } })
  const clients = Array.from({ length: 1000 }, () => new Client(lab.port))
  await Promise.all(clients.map((client) => connectTo(client, `a.example:${port}`)))
  const answers = await Promise.all(
    clients.map((client, i) => client.send(`\0${String(i).padStart(4, '0')}`).take(5)),
  )
  expect(answers.map((answer) => Number(answer.subarray(1).toString()))).toEqual(clients.map((_, i) => i))
  expect((await new Client(lab.port).takeAll()).length).toBe(0)
  for (const client of clients) client.socket.end()
  const decisions = (await settled(lab, 1001)) as {
    allowed: boolean
    reason: string
    bytesUp: number
    bytesDown: number
  }[]
  expect(decisions.filter((d) => d.allowed && d.bytesUp === 5 && d.bytesDown === 5).length).toBe(1000)
  expect(decisions[0]!.reason).toBe('more than 1000 connections')
})

test('clients that break off at any moment leave nothing behind', async () => {
  const open = new Set<Socket>()
  const port = await startRaw((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    echo(socket)
  })
  const lab = await startLab(rules({ host: 'a.example', port }))
  for (let i = 0; i < 60; i++) {
    const socket = connect(lab.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `CONNECT a.example:${port} HTTP/1.1\r\n\r\n\0${'x'.repeat(i * 1000)}`.slice(0, 10 + i * 1000),
    )
    if (i % 3 === 0) await once(socket, 'connect')
    setTimeout(() => (i % 2 ? socket.resetAndDestroy() : socket.destroy()), i % 7)
  }
  await lab.proxy.close()
  while (open.size > 0) await new Promise((go) => setTimeout(go, 5))
  expect(open.size).toBe(0)
})
