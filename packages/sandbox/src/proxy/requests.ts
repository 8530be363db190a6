import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { type NetRule } from '@cordon/policy'
// `import type`, not `{ type … }`: the latter still loads the module, and this one must stay lazy.
import type { Authority } from './authority.ts'
import { codeOf } from './dial.ts'
import { denyByRule } from './denial.ts'
import { forward, forwardUpgrade } from './forward.ts'
import { discardRest } from './leftover.ts'
import { isDeceptive } from './readings.ts'
import { OriginAgent, type Seed } from './origin-agent.ts'
import { type Asked, type BadRequest, readRequestHead, type RequestOrigin } from './request-head.ts'
import { answer, answerDenial, plainResponse } from './responses.ts'
import { type Roots } from './roots.ts'
import { type Shared } from './shared.ts'

/** One client connection that speaks HTTP to us: to the proxy itself, or inside a tunnel (`origin`). */
interface Session {
  readonly origin: RequestOrigin | undefined
  readonly agent: OriginAgent
  answering: number
  /** A request was refused as unreadable: what comes after it on the connection means nothing. */
  refused: boolean
  /** Did a whole head arrive, readable or not? */
  heard: boolean
}

type OnConnect = (socket: Socket, authority: string) => void

/** Decision 0053: every request is decided on its own, whatever came before it on the same connection. */
export class Requests {
  readonly #shared: Shared
  readonly #roots: Roots
  readonly #authority: Promise<Authority> | undefined
  readonly #onConnect: OnConnect
  readonly #server: Server
  readonly #sessions = new WeakMap<Duplex, Session>()

  constructor(shared: Shared, roots: Roots, authority: Promise<Authority> | undefined, onConnect: OnConnect) {
    this.#shared = shared
    this.#roots = roots
    this.#authority = authority
    this.#onConnect = onConnect
    this.#server = createServer({
      maxHeaderSize: shared.limits.maxHeadBytes,
      keepAliveTimeout: shared.limits.idleMs,
      requireHostHeader: false, // an absolute URL has it already; inside a tunnel we ask for it ourselves
      shouldUpgradeCallback: isWebSocket, // h2c and others are optional for the client: not offered
    })
    this.#server.timeout = shared.limits.idleMs
    const onRequest = contained((req: IncomingMessage, res: ServerResponse) => this.#onRequest(req, res))
    this.#server.on('request', onRequest)
    this.#server.on('checkContinue', onRequest)
    this.#server.on('checkExpectation', (req, res) =>
      this.#refuse(req, res, { status: 400, reason: 'it expects something else than 100-continue' }),
    )
    this.#server.on(
      'upgrade',
      contained((req: IncomingMessage, socket: Duplex, early: Buffer) => this.#onUpgrade(req, socket, early)),
    )
    this.#server.on(
      'connect',
      contained((req: IncomingMessage, socket: Duplex, early: Buffer) => this.#onTunnel(req, socket, early)),
    )
    this.#server.on('clientError', (error, socket) => this.#onBroken(error, socket))
  }

  /** HTTP on `socket`: for the proxy, or for the one server that a tunnel leads to. */
  serve(socket: Duplex, origin?: RequestOrigin, seed?: Seed): void {
    const { dialer, gate } = this.#shared
    const agent = new OriginAgent(dialer, gate, this.#roots, seed)
    this.#sessions.set(socket, { origin, agent, answering: 0, refused: false, heard: false })
    socket.once('close', () => agent.destroy())
    socket.on('error', () => {}) // the server stops listening for it when it lets go of a socket
    this.#server.emit('connection', socket)
    socket.resume() // it was paused while its first bytes were looked at
  }

  /** HTTP inside TLS that ends here (SPEC 4.5, interception). */
  async serveTls(client: Socket, origin: RequestOrigin, seed: Seed): Promise<void> {
    const authority = await this.#authority
    if (!authority) throw new Error('interception without an authority')
    const secureContext = await authority.contextFor(origin.host)
    const secure = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] })
    this.serve(secure, origin, seed)
    secure.once('close', () => {
      client.destroy()
      const session = this.#sessions.get(secure)
      // Most clients that do not trust a certificate just leave.
      if (session && !session.heard && !session.refused)
        this.#shared.journal.refuse(unknown(session), undefined, UNHEARD)
    })
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
    const { gate, journal } = this.#shared
    const session = this.#sessionOf(req)
    if (session.refused) return // the parser had it already; the 400 before it closes the connection
    session.answering++
    res.once('close', () => session.answering--)
    const asked = readRequestHead(req, session.origin, 'request')
    if ('status' in asked) return this.#refuse(req, res, asked)
    const verdict = gate.request(asked.target, asked.rawPath)
    if (!verdict.allowed) {
      discardRest(req)
      return this.#deny(session, res, asked, verdict.rule)
    }
    const entry = journal.open(subject(session, asked))
    entry.allow(verdict.rule)
    // RFC 9110 §10.1.1: in HTTP/1.0 the header means nothing, and the client would take this for the answer.
    if (req.headers.expect !== undefined && req.httpVersion !== '1.0') res.writeContinue()
    forward({ req, res, asked, agent: session.agent, entry, idleMs: this.#shared.limits.idleMs })
  }

  #onUpgrade(req: IncomingMessage, socket: Duplex, early: Buffer): void {
    const { gate, journal } = this.#shared
    const session = this.#sessionOf(req)
    if (this.#tooEarly(session, socket)) return
    if (early.length > 0) socket.unshift(early)
    const res = new ServerResponse(req)
    res.shouldKeepAlive = false
    res.assignSocket(socket as Socket) // the server let go of it; what we answer goes the same way
    res.once('finish', () => socket.end())
    socket.on('error', () => socket.destroy())
    const asked = readRequestHead(req, session.origin, 'websocket')
    if ('status' in asked) return this.#refuse(req, res, asked)
    if (
      req.method !== 'GET' ||
      req.headers['content-length'] !== undefined ||
      req.headers['transfer-encoding'] !== undefined
    )
      return this.#refuse(req, res, { status: 400, reason: 'a WebSocket starts with a GET without a body' })
    const verdict = gate.request(asked.target, asked.rawPath)
    if (!verdict.allowed) return this.#deny(session, res, asked, verdict.rule)
    const entry = journal.open(subject(session, asked))
    entry.allow(verdict.rule)
    forwardUpgrade(
      { req, res, asked, agent: session.agent, entry, idleMs: this.#shared.limits.idleMs },
      socket,
    )
  }

  #onTunnel(req: IncomingMessage, socket: Duplex, early: Buffer): void {
    const session = this.#sessionOf(req)
    if (this.#tooEarly(session, socket)) return
    if (early.length > 0) socket.unshift(early)
    // Inside a tunnel there is one server; only the connection to the proxy itself can ask for another.
    if (session.origin || hasBody(req)) {
      this.#shared.journal.refuse(unknown(session), undefined, 'CONNECT is not possible here')
      socket.end(plainResponse(400, 'CONNECT is not possible here.\n'))
      return
    }
    this.#onConnect(socket as Socket, req.url ?? '')
  }

  /** The parser has let go of the socket, so an answer that is still due could no longer be told apart. */
  #tooEarly(session: Session, socket: Duplex): boolean {
    if (session.refused) return true
    if (session.answering === 0) return false
    this.#shared.journal.refuse(unknown(session), undefined, 'a change of protocol before the answer')
    socket.destroy()
    return true
  }

  #onBroken(error: Error, socket: Duplex): void {
    const session = this.#sessions.get(socket)
    if (session?.refused) return // answered already; the answer closes the connection
    const code = codeOf(error)
    // In the middle of a body: that request is recorded, and there was no other.
    const left = code === 'HPE_INVALID_EOF_STATE' && (session?.answering ?? 0) > 0
    const parsed = !left && (code.startsWith('HPE_') || code.startsWith('ERR_HTTP_'))
    const reason = parsed ? `not a valid HTTP request (${code})` : `the connection broke (${code})`
    if (parsed) {
      if (session) session.refused = true
      this.#shared.journal.refuse(unknown(session), undefined, reason)
    }
    // In the middle of an answer a second one would be read as part of the first.
    if (!parsed || !socket.writable || (session?.answering ?? 0) > 0) socket.destroy()
    else socket.end(plainResponse(code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, `cordon: ${reason}.\n`))
  }

  #refuse(req: IncomingMessage, res: ServerResponse, { status, reason, wish }: BadRequest): void {
    const session = this.#sessionOf(req)
    this.#shared.journal.refuse(unknown(session), undefined, reason, wish)
    session.refused = true
    res.shouldKeepAlive = false
    answer(res, status, `cordon: the request was refused: ${reason}.\n`)
  }

  #deny(session: Session, res: ServerResponse, asked: Asked, rule: NetRule | undefined): void {
    const part = this.#shared.gate.tunnel(asked.target).allowed ? partOf(asked) : ''
    const denial = denyByRule(asked.target, rule, { part, inside: asked })
    this.#shared.journal.refuse(subject(session, asked), rule, denial.reason, denial.wish)
    answerDenial(res, asked, denial)
  }

  #sessionOf(req: IncomingMessage): Session {
    const session = this.#sessions.get(req.socket)
    if (!session) throw new Error('a request on a connection that was never served')
    session.heard = true
    return session
  }
}

/** A mistake of ours costs the client its connection, never the host its life. */
const contained =
  <Rest extends unknown[]>(handle: (req: IncomingMessage, ...rest: Rest) => void) =>
  (req: IncomingMessage, ...rest: Rest): void => {
    try {
      handle(req, ...rest)
    } catch {
      req.socket.destroy()
    }
  }

/** As a rule would write it. One that can be read in several ways needs more; a long one is kept once, in the URL. */
function partOf({ target, rawPath }: Asked): string {
  if (isDeceptive(rawPath)) return ''
  const names = target.segments.map((segment) =>
    encodeURIComponent(Buffer.from(segment, 'latin1').toString()),
  )
  const path = `/${names.join('/')}`
  return path.length > LONGEST_PART ? '' : path
}

const LONGEST_PART = 200

const UNHEARD = "the client left before its first request: it may not trust the run's certificate authority"

const isWebSocket = (req: IncomingMessage): boolean => req.headers.upgrade?.toLowerCase() === 'websocket'

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

const subject = (
  session: Session,
  { target, url }: Asked,
): { kind: 'http' | 'https'; host: string; port: number; url: string } => ({
  kind: session.origin?.scheme ?? 'http',
  host: target.host,
  port: target.port,
  url,
})

const unknown = (
  session: Session | undefined,
): { kind: 'http' | 'https' | 'unknown'; host: string; port: number | undefined } => ({
  kind: session?.origin?.scheme ?? 'unknown',
  host: session?.origin?.host ?? '',
  port: session?.origin?.port,
})
