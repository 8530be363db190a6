import { once } from 'node:events'
import { type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Client, connectTo, type Lab, rules, settled, startLab, startRaw } from './lab.ts'
import { ask, secure, serverCertificate, startHttps } from './tls-lab.ts'

const LENGTH = 8 << 20

/** Every line of the body is a request that a rule allows: what of it is left over must not become one. */
const bodyFor = (port: number): Buffer =>
  Buffer.alloc(LENGTH, `GET http://a.example:${port}/smuggled HTTP/1.1\r\nHost: x\r\n\r\n`)

interface World {
  readonly port: number
  readonly lab: Lab
  /** The request lines that the server saw at the start of what it read. */
  readonly seen: string[]
  /** Reads on where an upload was left unread, until the other side has closed. */
  readonly leftByClient: () => Promise<unknown>
}

/** A server that answers on the first bytes of a request, and reads no more of an upload. */
async function startHasty(rule: { pathPrefix?: string } = {}): Promise<World> {
  const seen: string[] = []
  const unread: Socket[] = []
  const port = await startRaw((socket) =>
    socket.on('data', (bytes) => {
      const line = bytes.toString('latin1').split('\r\n')[0]!
      seen.push(line)
      if (line.startsWith('POST')) {
        unread.push(socket.pause())
        socket.write('HTTP/1.1 413 Payload Too Large\r\nContent-Length: 8\r\n\r\ntoo long')
      } else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    }),
  )
  const leftByClient = (): Promise<unknown> =>
    Promise.all(
      unread.map((socket) => {
        const over = Promise.race([once(socket, 'end'), once(socket, 'close')])
        socket.removeAllListeners('data').resume()
        return over
      }),
    )
  return { port, lab: await startLab(rules({ host: 'a.example', port, ...rule })), seen, leftByClient }
}

const FRAMINGS: Record<string, (body: Buffer) => { framing: string; pieces: (Buffer | string)[] }> = {
  'with a length': (body) => ({ framing: `Content-Length: ${LENGTH}`, pieces: [body] }),
  chunked: (body) => ({
    framing: 'Transfer-Encoding: chunked',
    pieces: [`${LENGTH.toString(16)}\r\n`, body, '\r\n0\r\n\r\n'],
  }),
}

for (const [name, frame] of Object.entries(FRAMINGS))
  test(`an answer before the end of an upload ${name}: the rest goes nowhere, the next request is decided anew`, async () => {
    const { port, lab, seen, leftByClient } = await startHasty()
    const client = new Client(lab.port)
    const { framing, pieces } = frame(bodyFor(port))
    client.send(`POST http://a.example:${port}/up HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n`)
    for (const piece of pieces) client.send(piece)
    expect(await client.takeAnswer()).toMatchObject({
      status: 'HTTP/1.1 413 Payload Too Large',
      body: 'too long',
    })
    client.send('GET http://b.example/ HTTP/1.1\r\nHost: x\r\n\r\n')
    expect((await client.takeAnswer()).status).toBe('HTTP/1.1 403 Forbidden')
    client.send(`GET http://a.example:${port}/next HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(await client.takeAnswer()).toMatchObject({ status: 'HTTP/1.1 200 OK', body: 'ok' })
    expect(seen).toEqual(['POST /up HTTP/1.1', 'GET /next HTTP/1.1'])
    await leftByClient()
    expect(await settled(lab, 3)).toMatchObject([
      { url: `http://a.example:${port}/up`, allowed: true, bytesDown: 8 },
      { url: 'http://b.example/', allowed: false, bytesUp: 0, bytesDown: 0 },
      { url: `http://a.example:${port}/next`, allowed: true, bytesUp: 0, bytesDown: 2 },
    ])
  })

for (const [name, answer, status] of [
  [
    'a long answer',
    `HTTP/1.1 200 OK\r\nContent-Length: ${2 << 20}\r\n\r\n${'y'.repeat(2 << 20)}`,
    'HTTP/1.1 200 OK',
  ],
  ['a break', '', 'HTTP/1.1 502 Bad Gateway'],
] as const)
  test(`${name} before the end of an upload: the next request on the connection is decided anew`, async () => {
    const port = await startRaw((socket) =>
      socket.once('data', () => {
        socket.pause()
        if (answer) socket.write(answer)
        else socket.destroy()
      }),
    )
    const lab = await startLab(rules({ host: 'a.example', port }))
    const client = new Client(lab.port)
    client.send(`POST http://a.example:${port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: ${LENGTH}\r\n\r\n`)
    client.send(bodyFor(port))
    expect((await client.takeAnswer()).status).toBe(status)
    client.send('GET http://b.example/ HTTP/1.1\r\nHost: x\r\n\r\n')
    expect((await client.takeAnswer()).status).toBe('HTTP/1.1 403 Forbidden')
    expect(await settled(lab, 2)).toMatchObject([{ allowed: true }, { allowed: false }])
  })

for (const [path, status] of [
  ['/up', 'HTTP/1.1 413 Payload Too Large'],
  ['/denied', 'HTTP/1.1 403 Forbidden'],
] as const)
  test(`decision 0057: an upload without an end is cut after its answer, ${status.slice(9)}`, async () => {
    const { port, seen, lab } = await startHasty({ pathPrefix: '/up' })
    const client = new Client(lab.port)
    client.send(
      `POST http://a.example:${port}${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1 << 20, 'z'), Buffer.from('\r\n')])
    client.send(chunk)
    expect((await client.takeAnswer()).status).toBe(status)
    const sent = await sendUntilCut(client, chunk)
    expect(sent).toBeGreaterThan(63 << 20)
    expect(sent).toBeLessThan(128 << 20)
    expect(seen).toEqual(path === '/up' ? ['POST /up HTTP/1.1'] : [])
  })

async function sendUntilCut({ socket }: Client, chunk: Buffer): Promise<number> {
  let sent = 0
  while (!socket.destroyed && sent < 256 << 20) {
    sent += chunk.length
    await new Promise((go) => socket.write(chunk, go))
  }
  return sent
}

test('an answer before the end of an upload inside an intercepted tunnel: the next request is decided anew', async () => {
  const certificate = await serverCertificate('a.example')
  const seen: string[] = []
  const { port } = await startHttps(certificate, (req, res) => {
    seen.push(`${req.method} ${req.url}`)
    req.on('error', () => {})
    res.writeHead(413, { 'Content-Length': 8 }).end('too long')
  })
  const lab = await startLab(rules({ host: 'a.example', port, pathPrefix: '/up' }), {
    upstreamRoots: [certificate.cert],
  })
  const client = new Client(lab.port)
  await connectTo(client, `a.example:${port}`)
  const socket = await secure(client, 'a.example', lab.proxy.ca!.certPem)
  const head = (line: string): string => `${line} HTTP/1.1\r\nHost: a.example:${port}\r\n`
  const body = Buffer.alloc(LENGTH, `${head('GET /up/smuggled')}\r\n`)
  const upload = `${head('POST /up')}Content-Length: ${LENGTH}\r\n\r\n${body.toString('latin1', 0, 1000)}`
  expect(await ask(socket, upload)).toEqual({ status: '413 Payload Too Large', body: 'too long' })
  socket.write(body.subarray(1000))
  expect((await ask(socket, `${head('GET /other')}\r\n`)).status).toBe('403 Forbidden')
  expect((await ask(socket, `${head('GET /up/next')}\r\n`)).status).toBe('413 Payload Too Large')
  expect(seen).toEqual(['POST /up', 'GET /up/next'])
})
