import { type Socket as UdpSocket } from 'node:dgram'
import { type Server, type Socket } from 'node:net'
import { type HostName, InvalidUrlError, parseNetTarget } from '@cordon/policy'
import { classifyAddress } from './address.ts'
// `import type`, not `{ type … }`: the latter still loads the module, and this one must stay lazy.
import type { Authority } from './authority.ts'
import { denialText } from './denial.ts'
import { Dialer } from './dial.ts'
import { trustEnv, type TrustFiles } from './environment.ts'
import { openDoor } from './door.ts'
import { type Door, Gate, needsAuthority, type Endpoint } from './gate.ts'
import { readHeld } from './held-read.ts'
import { Journal } from './journal.ts'
import { NameServer } from './names.ts'
import { DEFAULT_LIMITS, type ProxyDecision, type ProxyLimits, type ProxyOptions } from './options.ts'
import { Requests } from './requests.ts'
import { plainResponse } from './responses.ts'
import { openAmbientRoots } from './roots.ts'
import { type Shared } from './shared.ts'
import { serveSocks5 } from './socks5.ts'
import { openTunnel } from './tunnel.ts'

/** The trust that intercepted hosts need inside the sandbox; the spawner writes the two files. */
interface ProxyTrust {
  readonly certPem: string
  readonly bundlePem: string
  env(files: TrustFiles): Record<string, string>
}

export interface ProxyHandle {
  /** Filters what is accepted on a socket that somebody already listens on. At a door, `place` is where it leads. */
  serve(server: Server, place?: Door): void
  /** Answers who asks for names, on a socket of either kind. */
  serveNames(socket: Server | UdpSocket, names: ReadonlyMap<HostName, string>): void
  /** Only when a rule needs interception. */
  readonly ca: ProxyTrust | undefined
  /** The newest `maxDecisions`, oldest first; what is still open is not among them. */
  decisions(): readonly ProxyDecision[]
  /** How many more there were. */
  droppedDecisions(): number
  /** Stops listening, breaks every connection, and records what was still open. */
  close(): Promise<void>
}

/** SPEC 4.5: the filter of one confined process, on whatever sockets it is given. */
export async function openProxy(options: ProxyOptions): Promise<ProxyHandle> {
  const { rules, interception = 'auto', classify = classifyAddress, now = Date.now } = options
  const limits: ProxyLimits = { ...DEFAULT_LIMITS, ...options.limits }
  const gate = new Gate(rules, interception)
  const journal = new Journal(gate, limits.maxDecisions, options.onDecision ?? (() => {}), now)
  const dialer = new Dialer({ resolve: options.resolve, classify, limits, upstream: options.upstream })
  const shared: Shared = { gate, journal, limits, dialer }
  const { upstreamRoots } = options
  const roots = upstreamRoots ? () => upstreamRoots : openAmbientRoots()
  const authority = needsAuthority(rules, interception) ? loadAuthority(now()) : undefined
  const requests: Requests = new Requests(shared, roots, authority, (socket, asked) => {
    guard(socket, () => connectTo(shared, requests, socket, asked))
  })
  const clients = new Set<Socket>()
  const closing: (() => Promise<void>)[] = []
  const listen = (server: Server, greeting: (socket: Socket) => Promise<void>): void => {
    const onConnection = (socket: Socket): void => {
      socket.on('error', () => socket.destroy())
      if (clients.size >= limits.maxConnections) {
        journal.refuse(NOBODY, undefined, `more than ${limits.maxConnections} connections`)
        socket.destroy()
        return
      }
      clients.add(socket)
      socket.once('close', () => clients.delete(socket))
      socket.allowHalfOpen = true
      guard(socket, () => greeting(socket))
    }
    server.on('connection', onConnection)
    closing.push(() => {
      server.off('connection', onConnection).on('connection', (socket) => socket.destroy())
      return new Promise((done) => server.close(() => done()))
    })
  }
  const certPem = (await authority)?.certPem
  return {
    serve: (server, place) =>
      listen(server, (socket) =>
        place ? openDoor(shared, requests, socket, place) : greet(shared, requests, socket),
      ),
    serveNames: (socket, names) => {
      const server = new NameServer(names, journal)
      if ('listen' in socket)
        return listen(socket, (client) => server.serveStream(client, limits.firstBytesMs))
      server.serveDatagrams(socket)
      closing.push(() => new Promise((done) => socket.close(() => done())))
    },
    ca:
      certPem === undefined
        ? undefined
        : { certPem, bundlePem: [...roots(), certPem].join('\n'), env: trustEnv },
    decisions: () => journal.list(),
    droppedDecisions: () => journal.dropped,
    close: async () => {
      const closed = closing.map((close) => close())
      journal.close()
      for (const socket of [...clients, ...dialer.sockets]) socket.destroy()
      await Promise.all(closed)
    },
  }
}

const NOBODY = { kind: 'unknown', host: '', port: undefined } as const

async function loadAuthority(now: number): Promise<Authority> {
  const { createAuthority } = await import('./authority.ts')
  return createAuthority(now)
}

/** One client's trouble is its own: it is cut off, and nothing is left unhandled. */
function guard(socket: Socket, serve: () => Promise<void>): void {
  serve().catch(() => socket.destroy())
}

/** One port for all: the first byte says which protocol the client speaks. */
async function greet(shared: Shared, requests: Requests, socket: Socket): Promise<void> {
  const { limits, journal } = shared
  const first = await readHeld(socket, { limit: 1, ms: limits.firstBytesMs, take: () => 1 })
  if (first.kind !== 'read') {
    if (first.kind === 'late') journal.refuse(NOBODY, undefined, 'the client said nothing')
    socket.destroy()
    return
  }
  socket.unshift(first.bytes)
  const byte = first.bytes[0] ?? 0
  if (byte === SOCKS5) return serveSocks5(shared, requests, socket)
  // A method's first letter; a line end before it is tolerated by RFC 9112 §2.2.
  if (/[A-Za-z\r\n]/.test(String.fromCharCode(byte))) return requests.serve(socket)
  const what = byte === TLS ? 'TLS: this proxy is plain, use http:// in its URL' : 'neither HTTP nor SOCKS5'
  journal.refuse(NOBODY, undefined, `the client speaks ${what}`)
  socket.destroy()
}

const SOCKS5 = 5
const TLS = 0x16

/** CONNECT host:port. */
function connectTo(shared: Shared, requests: Requests, socket: Socket, asked: string): Promise<void> {
  const place = readAuthority(asked)
  if (!place) {
    shared.journal.refuse({ ...NOBODY, kind: 'connect' }, undefined, 'CONNECT needs host:port')
    socket.end(plainResponse(400, 'cordon: CONNECT needs host:port.\n'))
    return Promise.resolve()
  }
  return openTunnel(shared, requests, socket, place, {
    kind: 'connect',
    accept: () => void socket.write('HTTP/1.1 200 Connection established\r\n\r\n'),
    deny: (where, denial) =>
      socket.end(plainResponse(403, denialText(`${where.host}:${where.port}`, denial))),
    fail: (reason, timedOut) => socket.end(plainResponse(timedOut ? 504 : 502, `cordon: ${reason}.\n`)),
  })
}

/** RFC 9112 §3.2.3: a host and a port, nothing before, between or after. */
function readAuthority(text: string): Endpoint | undefined {
  if (!/^[!-~]+:\d{1,5}$/.test(text) || /[@/?#]/.test(text)) return undefined
  try {
    const { host, port } = parseNetTarget(`tcp://${text}`)
    return port ? { host, port } : undefined
  } catch (error) {
    if (error instanceof InvalidUrlError) return undefined
    throw error
  }
}
