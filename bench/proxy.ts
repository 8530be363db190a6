/**
 * SPEC 4.5, issue 4: bytes through the proxy against direct loopback, in one run, and the memory that
 * 1,000 parallel connections cost. Server, proxy and client are three processes, as in life.
 * CORDON_BENCH_MIB scales the transfer (default 1024).
 */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { parseHost } from '@cordon/policy'
import { serveProxy } from '@cordon/sandbox'

const MIB = Number(process.env['CORDON_BENCH_MIB'] ?? 1024)
const TOTAL = MIB * 1024 * 1024
const CHUNK = Buffer.alloc(1 << 18, 0x61)
const ROUNDS = 3
const PARALLEL = 1000

const role = process.argv[2]
// A child ends with its parent, however that ends.
if (role !== undefined) process.once('disconnect', () => process.exit())
if (role === 'server') await runServer()
else if (role === 'proxy') await runProxy()
else await runClient()

async function runServer(): Promise<void> {
  const raw = createServer((socket) => {
    // A NUL asks for the bytes; anything else is sent back.
    socket.once('data', (first) =>
      first[0] === 0 ? pour(socket) : socket.write(first) && socket.pipe(socket),
    )
    socket.on('error', () => socket.destroy())
  })
  const http = createHttp((_, res) => {
    res.writeHead(200, { 'Content-Length': TOTAL })
    pour(res)
  })
  process.send!({ raw: await listen(raw), http: await listen(http) })
}

async function runProxy(): Promise<void> {
  const server = createServer()
  const port = await listen(server)
  const [ports] = (await once(process, 'message')) as [{ raw: number; http: number }]
  const rules = Object.values(ports).map((p) => ({ host: parseHost('127.0.0.1')!, port: p, allow: true }))
  await serveProxy(server, { rules })
  process.send!(port)
  process.on('message', () => {
    globalThis.gc?.()
    process.send!(process.memoryUsage().rss)
  })
}

async function runClient(): Promise<void> {
  const [serverProcess, proxyProcess] = [start('server'), start('proxy')]
  const [ports] = (await once(serverProcess, 'message')) as [{ raw: number; http: number }]
  proxyProcess.send(ports)
  const [proxy] = (await once(proxyProcess, 'message')) as [number]
  const get = (url: string): string =>
    `GET ${url} HTTP/1.1\r\nHost: 127.0.0.1:${ports.http}\r\nConnection: close\r\n\r\n`
  const ways = {
    'raw, direct': () => receive(ports.raw, '\0'),
    'raw, CONNECT': () => receive(proxy, `CONNECT 127.0.0.1:${ports.raw} HTTP/1.1\r\n\r\n\0`),
    'http, direct': () => receive(ports.http, get('/')),
    'http, proxy': () => receive(proxy, get(`http://127.0.0.1:${ports.http}/`)),
  }
  const best: Record<string, number> = {}
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, way] of Object.entries(ways)) best[name] = Math.max(best[name] ?? 0, await way())
  for (const [name, rate] of Object.entries(best)) console.log(`${name.padEnd(14)} ${rate.toFixed(0)} MiB/s`)
  console.log(
    `CONNECT against direct: ${(best['raw, CONNECT']! / best['raw, direct']!).toFixed(2)} (aim 0.5)`,
  )
  console.log(
    `plain HTTP against direct: ${(best['http, proxy']! / best['http, direct']!).toFixed(2)} (aim 0.5)`,
  )
  await parallel(proxyProcess, proxy, ports.raw)
  serverProcess.kill()
  proxyProcess.kill()
}

async function parallel(proxyProcess: ChildProcess, proxy: number, target: number): Promise<void> {
  const before = await rss(proxyProcess)
  const sockets = await Promise.all(Array.from({ length: PARALLEL }, () => echoOnce(proxy, target)))
  const after = await rss(proxyProcess)
  console.log(
    `${PARALLEL} parallel tunnels: ${mib(after - before)} MiB over ${mib(before)} MiB, ` +
      `${((after - before) / PARALLEL / 1024).toFixed(0)} KiB each`,
  )
  for (const socket of sockets) socket.destroy()
}

async function echoOnce(proxy: number, target: number): Promise<Socket> {
  const socket = connect(proxy, '127.0.0.1')
  socket.write(`CONNECT 127.0.0.1:${target} HTTP/1.1\r\n\r\n`)
  await once(socket, 'data')
  socket.write(Buffer.alloc(16 << 10, 1))
  let got = 0
  while (got < 16 << 10) got += ((await once(socket, 'data')) as [Buffer])[0].length
  return socket
}

async function rss(child: ChildProcess): Promise<number> {
  child.send('rss')
  return ((await once(child, 'message')) as [number])[0]
}

/** MiB per second from the request to the last byte. */
function receive(port: number, request: string): Promise<number> {
  return new Promise((done, fail) => {
    const begun = performance.now()
    // One buffer for all reads: the client must not be what is measured.
    const onread = { buffer: Buffer.alloc(1 << 18), callback: () => true }
    const socket = connect({ port, host: '127.0.0.1', onread })
    socket.write(request)
    socket.resume() // for `end`; the bytes themselves go to the buffer
    socket.on('error', fail)
    socket.on('close', () => {
      if (socket.bytesRead < TOTAL) fail(new Error(`only ${socket.bytesRead} bytes came`))
      else done(MIB / ((performance.now() - begun) / 1000))
    })
  })
}

function pour(to: NodeJS.WritableStream): void {
  let left = TOTAL
  const pump = (): void => {
    while (left > 0) {
      const piece = left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK
      left -= piece.length
      if (!to.write(piece)) return void to.once('drain', pump)
    }
    to.end()
  }
  pump()
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1', 1024)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function start(name: string): ChildProcess {
  return fork(fileURLToPath(import.meta.url), [name], {
    execArgv: ['--conditions=cordon-source', '--expose-gc'],
  })
}

function mib(bytes: number): string {
  return (bytes / (1 << 20)).toFixed(0)
}
