/**
 * SPEC 4.5, issue 4: bytes through the proxy against direct loopback, in one run, and the memory that
 * 1,000 parallel connections cost. Server, proxy and client are three processes, as in life.
 * CORDON_BENCH_MIB scales the transfer (default 1024). Arguments pick rows: `node bench/proxy.ts 'http up'`.
 */
import { execFileSync, fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { parseHost } from '@cordon/policy'
import { openProxy } from '@cordon/sandbox'

const MIB = Number(process.env['CORDON_BENCH_MIB'] ?? 1024)
const TOTAL = MIB * 1024 * 1024
const CHUNK = Buffer.alloc(1 << 18, 0x61)
const ROUNDS = 5
const PARALLEL = 1000
const HOST = '127.0.0.1'

interface Ports {
  readonly raw: number
  readonly http: number
  readonly chunked: number
  readonly https: number
}

interface Certificate {
  readonly key: string
  readonly cert: string
}

const role = process.argv[2]
// A child ends with its parent, however that ends.
if (process.send) process.once('disconnect', () => process.exit())
if (role === 'server') await runServer()
else if (role === 'proxy') await runProxy()
else await runClient(process.argv.slice(2))

async function runServer(): Promise<void> {
  const raw = createServer((socket) => {
    // A NUL asks for the bytes, a P sends us some; anything else is sent back.
    socket.once('data', (first) => {
      if (first[0] === 0) pour(socket)
      else if (first[0] === 0x50) drain(socket, first.length - first.indexOf('\r\n\r\n') - 4)
      else if (socket.write(first)) socket.pipe(socket)
    })
    socket.on('error', () => socket.destroy())
  })
  const [certificate] = (await once(process, 'message')) as [Certificate]
  const give: RequestListener = (_, res) => pour(res.writeHead(200, { 'Content-Length': TOTAL }))
  process.send!({
    raw: await listen(raw),
    http: await listen(createHttp(give)),
    chunked: await listen(createHttp((_, res) => pour(res))),
    https: await listen(createHttps(certificate, give)),
  })
}

async function runProxy(): Promise<void> {
  const server = createServer()
  const port = await listen(server)
  const [ports, { cert }] = ((await once(process, 'message')) as [[Ports, Certificate]])[0]
  const host = parseHost(HOST)!
  const proxy = await openProxy({
    rules: Object.entries(ports).map(([name, p]) =>
      name === 'https'
        ? { host, port: p, pathPrefix: '/ruled', allow: true }
        : { host, port: p, allow: true },
    ),
    upstreamRoots: [cert],
  })
  proxy.serve(server)
  // As a program inside finds it that knows no proxy: an address that stands for the server.
  const door = createServer()
  const doorPort = await listen(door)
  proxy.serve(door, { host, port: ports.raw })
  process.send!({ port, door: doorPort, ca: proxy.ca!.certPem })
  process.on('message', () => {
    globalThis.gc?.()
    process.send!(process.memoryUsage().rss)
  })
}

async function runClient(wanted: string[]): Promise<void> {
  const certificate = makeCertificate()
  const [serverProcess, proxyProcess] = [start('server'), start('proxy')]
  serverProcess.send(certificate)
  const [ports] = (await once(serverProcess, 'message')) as [Ports]
  proxyProcess.send([ports, certificate])
  const [proxy] = (await once(proxyProcess, 'message')) as [{ port: number; door: number; ca: string }]
  const via = (port: number): string => `CONNECT ${HOST}:${port} HTTP/1.1\r\n\r\n`
  const get = (port: number, url = '/'): string => `GET ${url} ${head(port)}\r\n`
  const put = (port: number, url = '/'): string => `PUT ${url} ${head(port)}Content-Length: ${TOTAL}\r\n\r\n`
  const url = (port: number): string => `http://${HOST}:${port}/`
  const rows: Record<string, [direct: () => Promise<number>, proxied: () => Promise<number>]> = {
    'CONNECT down': [() => receive(ports.raw, '\0'), () => receive(proxy.port, `${via(ports.raw)}\0`)],
    'its own address, down': [() => receive(ports.raw, '\0'), () => receive(proxy.door, '\0')],
    'CONNECT up': [
      () => send(ports.raw, 'P/\r\n\r\n'),
      () => send(proxy.port, `${via(ports.raw)}P/\r\n\r\n`),
    ],
    'its own address, up': [() => send(ports.raw, 'P/\r\n\r\n'), () => send(proxy.door, 'P/\r\n\r\n')],
    'http down': [
      () => receive(ports.http, get(ports.http)),
      () => receive(proxy.port, get(ports.http, url(ports.http))),
    ],
    'http down, chunked': [
      () => receive(ports.chunked, get(ports.chunked)),
      () => receive(proxy.port, get(ports.chunked, url(ports.chunked))),
    ],
    'http up': [
      () => send(ports.raw, put(ports.raw)),
      () => send(proxy.port, put(ports.raw, url(ports.raw))),
    ],
    'https under a path rule, down': [
      () => receiveTls(ports.https, certificate.cert, get(ports.https, '/ruled')),
      () => receiveTls(proxy.port, proxy.ca, get(ports.https, '/ruled'), via(ports.https)),
    ],
  }
  for (const [name, [direct, proxied]] of Object.entries(rows)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const best = [0, 0]
    for (let round = 0; round < ROUNDS; round++) {
      best[0] = Math.max(best[0]!, await direct())
      best[1] = Math.max(best[1]!, await proxied())
    }
    const [fast, ours] = best as [number, number]
    console.log(
      `${name.padEnd(30)} ${(ours / fast).toFixed(2)} of direct (${ours.toFixed(0)} of ${fast.toFixed(0)} MiB/s)`,
    )
  }
  if (wanted.length === 0) {
    await parallel(proxyProcess, 'tunnels', () =>
      echoOnce(proxy.port, `CONNECT ${HOST}:${ports.raw} HTTP/1.1\r\n\r\n`),
    )
    await parallel(proxyProcess, 'connections to its own address', () => echoOnce(proxy.door))
  }
  serverProcess.kill()
  proxyProcess.kill()
}

function head(port: number): string {
  return `HTTP/1.1\r\nHost: ${HOST}:${port}\r\nConnection: close\r\n`
}

async function parallel(
  proxyProcess: ChildProcess,
  what: string,
  open: () => Promise<Socket>,
): Promise<void> {
  const before = await rss(proxyProcess)
  const sockets = await Promise.all(Array.from({ length: PARALLEL }, open))
  const after = await rss(proxyProcess)
  console.log(
    `${PARALLEL} parallel ${what}: ${mib(after - before)} MiB over ${mib(before)} MiB, ` +
      `${((after - before) / PARALLEL / 1024).toFixed(0)} KiB each`,
  )
  for (const socket of sockets) socket.destroy()
}

async function echoOnce(port: number, request?: string): Promise<Socket> {
  const socket = connect(port, HOST)
  if (request !== undefined) {
    socket.write(request)
    await once(socket, 'data')
  }
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
    const socket = connect({ port, host: HOST, onread })
    socket.write(request)
    socket.resume() // for `end`; the bytes themselves go to the buffer
    socket.on('error', fail)
    socket.on('close', () => {
      if (socket.bytesRead < TOTAL) fail(new Error(`only ${socket.bytesRead} bytes came`))
      else done(rate(begun))
    })
  })
}

/** The same inside TLS, to a server or through a tunnel. */
async function receiveTls(port: number, ca: string, request: string, tunnel?: string): Promise<number> {
  const begun = performance.now()
  const plain = connect(port, HOST)
  if (tunnel !== undefined) {
    plain.write(tunnel)
    await once(plain, 'data')
  }
  const socket = connectTls({ socket: plain, host: HOST, ca })
  let got = 0
  socket.on('data', (chunk) => (got += chunk.length))
  socket.write(request)
  await once(socket, 'close')
  if (got < TOTAL) throw new Error(`only ${got} bytes came`)
  return rate(begun)
}

/** From the first byte until the server says that it has them all. */
async function send(port: number, request: string): Promise<number> {
  const begun = performance.now()
  const socket = connect(port, HOST)
  socket.write(request)
  if (request.startsWith('CONNECT')) await once(socket, 'data')
  pour(socket, 'stay')
  for (let answer = ''; !answer.endsWith('got it');) {
    answer += String(((await once(socket, 'data')) as [Buffer])[0])
    if (answer.startsWith('HTTP/1.1 4') || answer.startsWith('HTTP/1.1 5')) throw new Error(answer)
  }
  socket.destroy()
  return rate(begun)
}

function rate(begun: number): number {
  return MIB / ((performance.now() - begun) / 1000)
}

function pour(to: NodeJS.WritableStream, then: 'end' | 'stay' = 'end'): void {
  let left = TOTAL
  const pump = (): void => {
    while (left > 0) {
      const piece = left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK
      left -= piece.length
      if (!to.write(piece)) return void to.once('drain', pump)
    }
    if (then === 'end') to.end()
  }
  pump()
}

/** A server of uploads with as little HTTP as will do: it counts, and answers when all is there. */
function drain(from: Duplex, already: number): void {
  let got = already
  const count = (): void => {
    if (got >= TOTAL) from.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ngot it')
  }
  from.on('data', (chunk: Buffer) => {
    got += chunk.length
    count()
  })
}

/** For the server; the proxy is told to trust it, as a system would trust a real one. */
function makeCertificate(): Certificate {
  const directory = mkdtempSync(join(tmpdir(), 'cordon-bench-'))
  const [key, cert] = [join(directory, 'key'), join(directory, 'cert')]
  try {
    const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const names = ['-subj', '/CN=bench', '-addext', `subjectAltName=IP:${HOST}`, '-days', '1']
    execFileSync('openssl', ['req', '-x509', ...ec, ...names, '-keyout', key, '-out', cert], {
      stdio: 'ignore',
    })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, HOST, 1024)
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
