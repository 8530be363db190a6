import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { type NetRule } from '@cordon/policy'
import { type Authority } from './authority.ts'
import { codeOf } from './dial.ts'
import { denyByRule } from './denial.ts'
import { forward, forwardUpgrade } from './forward.ts'
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
    this.#server.on('request', (req, res) => this.#onRequest(req, res))
    this.#server.on('checkContinue', (req, res) => this.#onRequest(req, res))
    this.#server.on('checkExpectation', (req, res) =>
      this.#refuse(req, res, { status: 400, reason: 'it expects something else than 100-continue' }),
    )
    this.#server.on('upgrade', (req, socket) => this.#onUpgrade(req, socket))
    this.#server.on('connect', (req, socket) => this.#onTunnel(req, socket))
    this.#server.on('clientError', (error, socket) => this.#onBroken(error, socket))
  }

  /** HTTP on `socket`: for the proxy, or for the one server that a tunnel leads to. */
  serve(socket: Duplex, origin?: RequestOrigin, seed?: Seed): void {
    const { dialer, gate } = this.#shared
    const agent = new OriginAgent(dialer, gate, this.#roots, seed)
    this.#sessions.set(socket, { origin, agent, answering: 0, refused: false })
    socket.once('close', () => agent.destroy())
    this.#server.emit('connection', socket)
    socket.resume() // it was paused while its first bytes were looked at
  }

  /** HTTP inside TLS that ends here (SPEC 4.5, interception). */
  async serveTls(client: Socket, origin: RequestOrigin, seed: Seed): Promise<void> {
    const authority = await this.#authority
    if (!authority) throw new Error('interception without an authority')
    const secureContext = await authority.contextFor(origin.host)
    const secure = new TLSSocket(client, { isServer: true, secureContext, ALPNProtocols: ['http/1.1'] })
    secure.once('close', () => client.destroy())
    this.serve(secure, origin, seed)
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
    const { gate, journal } = this.#shared
    const session = this.#sessionOf(req)
    session.answering++
    res.once('close', () => session.answering--)
    const asked = readRequestHead(req, session.origin, 'request')
    if ('status' in asked) return this.#refuse(req, res, asked)
    const verdict = gate.request(asked.target, asked.rawPath)
    if (!verdict.allowed) return this.#deny(session, res, asked, verdict.rule)
    const entry = journal.open(subject(session, asked))
    entry.allow(verdict.rule)
    if (req.headers.expect !== undefined) res.writeContinue()
    forward({ req, res, asked, agent: session.agent, entry, idleMs: this.#shared.limits.idleMs })
  }

  #onUpgrade(req: IncomingMessage, socket: Duplex): void {
    const { gate, journal } = this.#shared
    const session = this.#sessionOf(req)
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

  #onTunnel(req: IncomingMessage, socket: Duplex): void {
    const session = this.#sessions.get(socket)
    // Inside a tunnel there is one server; only the connection to the proxy itself can ask for another.
    if (!session || session.origin || session.answering > 0 || hasBody(req)) {
      this.#shared.journal.refuse(unknown(session), undefined, 'CONNECT is not possible here')
      socket.end(plainResponse(400, 'CONNECT is not possible here.\n'))
      return
    }
    this.#onConnect(socket as Socket, req.url ?? '')
  }

  #onBroken(error: Error, socket: Duplex): void {
    const session = this.#sessions.get(socket)
    if (session?.refused) return // answered already; the answer closes the connection
    const code = codeOf(error)
    const parsed = code.startsWith('HPE_') || code.startsWith('ERR_HTTP_')
    const reason = parsed ? `not a valid HTTP request (${code})` : `the connection broke (${code})`
    if (parsed || socket instanceof TLSSocket)
      this.#shared.journal.refuse(unknown(session), undefined, reason)
    // In the middle of an answer a second one would be read as part of the first.
    if (!parsed || !socket.writable || (session?.answering ?? 0) > 0) socket.destroy()
    else socket.end(plainResponse(code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, `cordon: ${reason}.\n`))
  }

  #refuse(req: IncomingMessage, res: ServerResponse, { status, reason }: BadRequest): void {
    const session = this.#sessionOf(req)
    this.#shared.journal.refuse(unknown(session), undefined, reason)
    session.refused = true
    res.shouldKeepAlive = false
    answer(res, status, `cordon: the request was refused: ${reason}.\n`)
  }

  #deny(session: Session, res: ServerResponse, asked: Asked, rule: NetRule | undefined): void {
    const denial = denyByRule(asked.target, asked.target.scheme, rule)
    this.#shared.journal.refuse(subject(session, asked), rule, denial.reason)
    answerDenial(res, asked, denial)
  }

  #sessionOf(req: IncomingMessage): Session {
    const session = this.#sessions.get(req.socket)
    if (!session) throw new Error('a request on a connection that was never served')
    return session
  }
}

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
