import { Agent, type ClientRequestArgs } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { type HostName } from '@cordon/policy'
import { codeOf, type Dialed, type Dialer } from './dial.ts'
import { type Gate } from './gate.ts'
import { type Intake } from './intake.ts'
import { type Asked } from './request-head.ts'
import { type Roots } from './roots.ts'

/** A connection that a tunnel opened before it was known what the tunnel carries. */
export interface Seed {
  readonly upstream: Intake
  readonly named: HostName | undefined
}

/** Why there is no connection, as the proxy will tell it. */
export class DialError extends Error {
  readonly dialed: Exclude<Dialed, { kind: 'open' }>
  constructor(dialed: Exclude<Dialed, { kind: 'open' }>) {
    super(dialed.kind)
    this.dialed = dialed
  }
}

export type AskedRequest = ClientRequestArgs & { readonly asked: Asked }

/** The connections to servers of one client connection; kept open between its requests. */
export class OriginAgent extends Agent {
  readonly #dialer: Dialer
  readonly #gate: Gate
  readonly #roots: Roots
  readonly #once = new WeakSet<Duplex>()
  readonly #plain = new WeakMap<Duplex, Intake>()
  #seed: Seed | undefined

  constructor(dialer: Dialer, gate: Gate, roots: Roots, seed: Seed | undefined) {
    super({ keepAlive: true, maxFreeSockets: 4 })
    this.#dialer = dialer
    this.#gate = gate
    this.#roots = roots
    this.#seed = seed
  }

  override createConnection(
    options: ClientRequestArgs,
    done?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    // Agent passes the request's own options through; only `Requests` uses this agent.
    const { asked } = options as AskedRequest
    this.#open(asked).then(
      (stream) => done?.(null, stream),
      (error: Error) => (done as ((error: Error) => void) | undefined)?.(error),
    )
  }

  /** A connection that only a rule for its address permits is good for the one request that was checked. */
  override keepSocketAlive(socket: Duplex): boolean {
    if (this.#once.has(socket)) return false
    const kept: unknown = super.keepSocketAlive(socket) // typed as void, yet its answer counts
    return kept !== false
  }

  override destroy(): void {
    this.#seed?.upstream.socket.destroy()
    super.destroy()
  }

  /** Where the bytes of a plain connection come in; inside TLS there is no such place. */
  intakeOf(stream: Duplex): Intake | undefined {
    return this.#plain.get(stream)
  }

  async #open(asked: Asked): Promise<Duplex> {
    const { host, port, scheme } = asked.target
    const permits = (literal: HostName): boolean =>
      this.#gate.request({ ...asked.target, host: literal }, asked.rawPath).allowed
    const seed = this.#takeSeed(permits)
    const dialed = seed ?? (await this.#dialer.dial({ host, port }, permits))
    if (dialed.kind !== 'open') throw new DialError(dialed)
    const secure = scheme === 'https' || scheme === 'wss'
    const stream = secure ? await this.#secure(dialed.intake.socket, host) : dialed.intake.socket
    if (!secure) this.#plain.set(stream, dialed.intake)
    if (dialed.named !== undefined) this.#once.add(stream)
    return stream
  }

  #takeSeed(permits: (literal: HostName) => boolean): Extract<Dialed, { kind: 'open' }> | undefined {
    const seed = this.#seed
    this.#seed = undefined
    if (!seed) return undefined
    if (!seed.upstream.socket.destroyed && (seed.named === undefined || permits(seed.named)))
      return { kind: 'open', intake: seed.upstream, named: seed.named }
    seed.upstream.socket.destroy()
    return undefined
  }

  /** SPEC 4.5: to the client we vouch for the server, so nothing less than the system's trust will do. */
  #secure(socket: Socket, host: HostName): Promise<Duplex> {
    const bare = host.startsWith('[') ? host.slice(1, -1) : host
    return new Promise((done, fail) => {
      const secure = connectTls({
        socket,
        host: bare,
        ...(isIP(bare) ? {} : { servername: bare }),
        ca: [...this.#roots()],
        ALPNProtocols: ['http/1.1'],
      })
      const failed = (why: string): void => {
        secure.destroy()
        fail(new DialError({ kind: 'failed', reason: `TLS with ${host} failed (${why})`, timedOut: false }))
      }
      secure.on('error', (error) => failed(codeOf(error)))
      secure.once('close', () => failed('closed'))
      secure.once('secureConnect', () => done(secure))
    })
  }
}
