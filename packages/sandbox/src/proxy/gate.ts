import { DEFAULT_PORTS, type HostName, NetIndex, type NetRule, type NetTarget } from '@cordon/policy'
import { readingsOf } from './readings.ts'

export type Verdict =
  | { readonly allowed: true; readonly rule: NetRule }
  | { readonly allowed: false; readonly rule: NetRule | undefined }

/** Where a tunnel leads. What it carries is not known before its first bytes. */
export interface Endpoint {
  readonly host: HostName
  readonly port: number
}

/** A socket inside that stands for an endpoint; where rules allow `localhost` and its address, for both names of it. */
export interface Door extends Endpoint {
  readonly alias?: HostName | undefined
}

/** Decision 0050: SPEC 1.5 applied to what a proxy can see. Pure; says yes or no and by which rule. */
export class Gate {
  readonly #index: NetIndex
  readonly #rules = new Map<HostName, NetRule[]>()
  readonly #order = new Map<NetRule, number>()
  readonly #interception: 'auto' | 'off'

  constructor(rules: readonly NetRule[], interception: 'auto' | 'off') {
    this.#index = new NetIndex(rules)
    this.#interception = interception
    for (const [i, rule] of rules.entries()) {
      this.#order.set(rule, i)
      const list = this.#rules.get(rule.host)
      if (list) list.push(rule)
      else this.#rules.set(rule.host, [rule])
    }
  }

  indexOf(rule: NetRule): number {
    return this.#order.get(rule) ?? -1
  }

  /** One request whose URL is known in full. `rawPath` is the path as it was sent. */
  request(target: NetTarget, rawPath: string): Verdict {
    let verdict: Verdict = { allowed: false, rule: undefined }
    for (const reading of readingsOf(target, rawPath)) {
      verdict = this.#evaluate(reading)
      if (!verdict.allowed) return verdict
    }
    return verdict
  }

  /** Before anything was sent: is there a rule that could allow something there? Its answer is never final yes. */
  tunnel(place: Endpoint): Verdict {
    const hope = this.#at(place, ANY_SCHEME).find((rule) => rule.allow)
    if (hope) return { allowed: true, rule: hope }
    return this.opaque(place, place.port === 80 ? 'http' : place.port === 443 ? 'https' : 'tcp')
  }

  /** TLS that is not looked into, or bytes that are neither TLS nor HTTP (`tcp`). */
  opaque(place: Endpoint, scheme: 'https' | 'http' | 'tcp'): Verdict {
    if (scheme === 'https' && this.#hidden(place, TLS)) return this.#hostLevel(place)
    const plain = this.#evaluate({ ...place, scheme, segments: [] })
    if (plain.allowed && scheme === 'tcp') return this.#raw(place, plain)
    if (plain.allowed || plain.rule) return plain
    // A rule for `ssh`, `imaps`… : its bytes cannot be told from others, so the port is what is held.
    for (const { scheme: named } of this.#rules.get(place.host) ?? []) {
      if (named === undefined || KNOWN.has(named)) continue
      const verdict = this.#evaluate({ ...place, scheme: named, segments: [] })
      if (verdict.allowed) return verdict
    }
    return plain
  }

  /** SPEC 4.5: only hosts with rules that TLS hides are intercepted. */
  intercepts(place: Endpoint): boolean {
    return this.#interception === 'auto' && this.#hidden(place, TLS)
  }

  /**
   * Bytes that we cannot read may still be HTTP or TLS to a lenient server. So they pass only where both
   * would pass whole, or where a rule says `scheme = "tcp"`; and never beside a rule that looks inside.
   */
  #raw(place: Endpoint, verdict: Verdict & { allowed: true }): Verdict {
    if (this.#hidden(place, CLEAR) || this.#hidden(place, TLS)) return { allowed: false, rule: undefined }
    if (verdict.rule.scheme === 'tcp') return verdict
    const clear = this.#evaluate({ ...place, scheme: 'http', segments: [] })
    return clear.allowed ? this.#evaluate({ ...place, scheme: 'https', segments: [] }) : clear
  }

  /** Interception is off: a path rule counts for its whole host, and one that refuses wins. */
  #hostLevel(place: Endpoint): Verdict {
    const rules = this.#at(place, TLS)
    const refusal = rules.find((rule) => !rule.allow && isNarrow(rule))
    if (refusal) return { allowed: false, rule: refusal }
    const plain = this.#evaluate({ ...place, scheme: 'https', segments: [] })
    const grant = rules.find((rule) => rule.allow)
    return plain.allowed || !grant ? plain : { allowed: true, rule: grant }
  }

  #hidden(place: Endpoint, schemes: ReadonlySet<string>): boolean {
    return this.#at(place, schemes).some(isNarrow)
  }

  #at({ host, port }: Endpoint, schemes: ReadonlySet<string> | undefined): NetRule[] {
    return (this.#rules.get(host) ?? []).filter(
      (rule) =>
        (rule.scheme === undefined || !schemes || schemes.has(rule.scheme)) && portsOf(rule).includes(port),
    )
  }

  #evaluate(target: NetTarget): Verdict {
    const decision = this.#index.evaluate(target)
    if (decision.kind === 'unmatched') return { allowed: false, rule: undefined }
    return { allowed: decision.kind === 'allowed', rule: decision.rule }
  }
}

const ANY_SCHEME = undefined
const TLS: ReadonlySet<string> = new Set(['https', 'wss'])
const CLEAR: ReadonlySet<string> = new Set(['http', 'ws'])
const KNOWN: ReadonlySet<string> = new Set([...TLS, ...CLEAR, 'tcp'])

/** What the outside of a connection does not show: a path, or a WebSocket among requests. */
export const isNarrow = (rule: NetRule): boolean =>
  rule.scheme === 'wss' || rule.scheme === 'ws' || hasPath(rule)

/** `/` has no segments: it covers everything, as no prefix does. */
export const hasPath = (rule: NetRule): boolean =>
  (rule.pathPrefix ?? '').split('/').some((segment) => segment !== '' && segment !== '.')

/** Whether some rule is about what only interception shows (SPEC 4.5). */
export const needsAuthority = (rules: readonly NetRule[], interception: 'auto' | 'off'): boolean =>
  interception === 'auto' &&
  rules.some((rule) => isNarrow(rule) && rule.scheme !== 'http' && rule.scheme !== 'ws')

/** Where a rule says anything about: its port, else those of its scheme, else of the web. */
export function portsOf({ port, scheme }: NetRule): readonly number[] {
  if (port !== undefined) return [port]
  if (scheme === undefined) return [80, 443]
  const usual = DEFAULT_PORTS[scheme]
  return usual === undefined ? [] : [usual]
}
