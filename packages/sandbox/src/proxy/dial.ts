import { lookup } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import { type HostName, parseHost } from '@cordon/policy'
import { type AddressKind } from './address.ts'
import { denyByAddress, type Denial } from './denial.ts'
import { type Endpoint } from './gate.ts'
import { inHostsFile } from './hosts-file.ts'
import { Intake, LargeReads } from './intake.ts'
import { type ProxyLimits, type Resolve } from './options.ts'
import { askUpstream, goesThrough, type UpstreamProxy } from './upstream.ts'

export type Dialed =
  | { readonly kind: 'open'; readonly intake: Intake; readonly named: HostName | undefined }
  | { readonly kind: 'denied'; readonly denial: Denial }
  | { readonly kind: 'failed'; readonly reason: string; readonly timedOut: boolean }

export interface DialerOptions {
  readonly resolve: Resolve | undefined
  readonly classify: (address: string) => AddressKind
  readonly limits: ProxyLimits
  readonly upstream?: UpstreamProxy | undefined
}

/**
 * SPEC 4.5: resolves, checks, and connects to the very address that was checked; the name is never looked
 * up again, so an answer that changes (DNS rebinding) changes nothing.
 */
export class Dialer {
  /** Every connection to the outside that is alive. */
  readonly sockets = new Set<Socket>()
  readonly #resolve: Resolve
  readonly #classify: (address: string) => AddressKind
  readonly #limits: ProxyLimits
  readonly #upstream: UpstreamProxy | undefined
  readonly #large = new LargeReads()

  constructor({ resolve, classify, limits, upstream }: DialerOptions) {
    this.#resolve = resolve ?? openAmbientResolver
    this.#classify = classify
    this.#limits = limits
    this.#upstream = upstream
  }

  /** `permits` says whether rules allow the same thing for an address written as the host (decision 0051). */
  async dial(place: Endpoint, permits: (literal: HostName) => boolean): Promise<Dialed> {
    const upstream = this.#upstream && goesThrough(this.#upstream, place.host) ? this.#upstream : undefined
    const answer = await this.#addresses(place.host)
    // Behind a proxy the host need not be able to look up anything: the proxy does, and is who must know better.
    if (!Array.isArray(answer)) return upstream ? this.#connectBy(upstream, place) : answer
    let denial: Denial | undefined
    let failure: Dialed | undefined
    for (const address of answer) {
      const kind = this.#classify(address)
      const literal = parseHost(address)
      const named = kind !== 'public' && !isLoopbackName(place.host, kind) ? literal : undefined
      if (literal === undefined || (named !== undefined && !permits(named))) {
        denial ??= denyByAddress(place, address, kind)
        continue
      }
      const dialed = await (upstream && kind === 'public'
        ? this.#connectBy(upstream, place)
        : this.#connect(address, place, named))
      if (dialed.kind === 'open') return dialed
      failure ??= dialed
    }
    if (failure) return failure
    if (denial) return { kind: 'denied', denial }
    return { kind: 'failed', reason: `${place.host} has no address`, timedOut: false }
  }

  async #addresses(host: HostName): Promise<string[] | Extract<Dialed, { kind: 'failed' }>> {
    const bare = host.startsWith('[') ? host.slice(1, -1) : host
    if (isIP(bare)) return [bare]
    if (isLocalhost(host)) return ['127.0.0.1', '::1'] // RFC 6761 §6.3: never asked of a name server
    const late = Promise.withResolvers<undefined>()
    const timer = setTimeout(late.resolve, this.#limits.connectMs, undefined)
    try {
      const answer = await Promise.race([this.#resolve(host), late.promise])
      if (!answer) return { kind: 'failed', reason: `the lookup of ${host} timed out`, timedOut: true }
      return answer.filter((address) => isIP(address) !== 0).slice(0, MOST_ADDRESSES)
    } catch (error) {
      return { kind: 'failed', reason: `${host} cannot be resolved (${codeOf(error)})`, timedOut: false }
    } finally {
      clearTimeout(timer)
    }
  }

  /** The proxy gets the name and not the address that was checked: most of them decide by names. */
  async #connectBy(upstream: UpstreamProxy, place: Endpoint): Promise<Dialed> {
    const dialed = await this.#connect(upstream.host, upstream, undefined)
    if (dialed.kind !== 'open') return dialed
    const why = await askUpstream(dialed.intake.socket, upstream, place, this.#limits)
    if (why === undefined) return dialed
    dialed.intake.socket.destroy()
    return { kind: 'failed', reason: `${place.host}:${place.port}: ${why}`, timedOut: false }
  }

  #connect(
    address: string,
    { host, port }: { readonly host: string; readonly port: number },
    named: HostName | undefined,
  ): Promise<Dialed> {
    return new Promise((done) => {
      const intake = new Intake({ host: address, port, allowHalfOpen: true, noDelay: true }, this.#large)
      const { socket } = intake
      this.sockets.add(socket)
      socket.once('close', () => this.sockets.delete(socket))
      const fail = (why: string, timedOut: boolean): void => {
        socket.destroy()
        done({ kind: 'failed', reason: `${host}:${port} cannot be reached (${why})`, timedOut })
      }
      const timer = setTimeout(fail, this.#limits.connectMs, 'timed out', true)
      // Stays for the socket's life: whoever owns it next hears `close`.
      socket.on('error', (error) => {
        clearTimeout(timer)
        fail(codeOf(error), false)
      })
      socket.once('connect', () => {
        clearTimeout(timer)
        done({ kind: 'open', intake, named })
      })
    })
  }
}

const MOST_ADDRESSES = 16

const isLocalhost = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost')

/** A rule that says `localhost` names loopback, and nothing but loopback. */
const isLoopbackName = (host: string, kind: AddressKind): boolean => isLocalhost(host) && kind === 'loopback'

/**
 * Uses the process's authority: the system's resolver. A name with a dot is meant as it stands, so it is asked for with one at
 * its end: otherwise a search domain (`resolv.conf`, `LOCALDOMAIN`) could make of a name that a rule allows one that no rule
 * names. The system does not find that form in `/etc/hosts` (decision 0566).
 */
const openAmbientResolver: Resolve = async (host) => {
  const written = host.includes('.') ? inHostsFile(host) : []
  if (written.length > 0) return written
  const found = await lookup(host.includes('.') ? `${host}.` : host, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}

export const codeOf = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error)
