import { type HostName, type NetRule } from '@cordon/policy'
import { type AddressKind } from './address.ts'
import { type UpstreamProxy } from './upstream.ts'

/** SPEC 4.5: DNS happens in the host. Answers are address literals, best first. */
export type Resolve = (host: HostName) => Promise<readonly string[]>

export interface ProxyLimits {
  /** Client connections at once; one more is closed and recorded. */
  readonly maxConnections: number
  /** Request heads, ClientHellos and everything else that is held before a decision. */
  readonly maxHeadBytes: number
  /** No byte in either direction for this long closes the connection. */
  readonly idleMs: number
  /** For the name lookup, and for each address that is tried. */
  readonly connectMs: number
  /** How long a client may take to show what it speaks. */
  readonly firstBytesMs: number
  /** The newest so many decisions are kept. */
  readonly maxDecisions: number
}

export const DEFAULT_LIMITS: ProxyLimits = {
  maxConnections: 2048,
  maxHeadBytes: 32 * 1024,
  idleMs: 300_000,
  connectMs: 15_000,
  firstBytesMs: 15_000,
  maxDecisions: 10_000,
}

export interface ProxyOptions {
  readonly rules: readonly NetRule[]
  readonly resolve?: Resolve
  /** Called once per decision, when its connection or request is over and the byte counts are final. */
  readonly onDecision?: (decision: ProxyDecision) => void
  /** `auto`: hosts whose rules need it are intercepted (decision 0052). `off`: such rules are host-level. */
  readonly interception?: 'auto' | 'off'
  readonly limits?: Partial<ProxyLimits>
  /** What an address is; only `public` ones are reached without a rule that names them. A seam for tests. */
  readonly classify?: (address: string) => AddressKind
  /** PEM roots that upstream TLS is verified against; the system's when absent. */
  readonly upstreamRoots?: readonly string[]
  readonly now?: () => number
  /** Where the host is itself behind a proxy: what is dialled goes through it (decision 0213). */
  readonly upstream?: UpstreamProxy | undefined
}

export type DecisionKind = 'http' | 'https' | 'connect' | 'socks5' | 'direct' | 'name' | 'unknown'

/** What a person could grant so that it is allowed: of a name that was only looked up the port is not known. */
export interface NetWish {
  readonly scheme?: string
  readonly host: string
  readonly port?: number
  readonly path?: string
}

export interface ProxyDecision {
  readonly time: number
  /**
   * `https` is a request inside an intercepted tunnel, `direct` a connection to the address that stands for the host, `name` a
   * lookup; `unknown` never said what it wanted.
   */
  readonly kind: DecisionKind
  readonly host: string
  readonly port: number | undefined
  readonly url?: string
  readonly allowed: boolean
  /** Allowed, and then the name could not be found, the server not be reached or not be understood: `reason` says it. */
  readonly failed?: true
  readonly rule: { readonly index: number; readonly origin?: string } | undefined
  readonly reason: string
  /** Only of what was refused because no rule speaks of it: a rule that says no was written on purpose. */
  readonly wish?: NetWish
  /** Tunnels: every byte after the handshake with us. Requests: the bodies, and all that follows an upgrade. */
  readonly bytesUp: number
  readonly bytesDown: number
  readonly durationMs: number
}
