import {
  formatRule,
  type HostName,
  netRuleAllowing,
  type NetRule,
  type NetTarget,
  show,
} from '@cordon/policy'
import { type AddressKind } from './address.ts'
import { type Endpoint } from './gate.ts'
import { type NetWish } from './options.ts'
import { isDeceptive } from './readings.ts'

export interface Denial {
  readonly reason: string
  /** The rule that would change the answer, as a value in TOML; undefined when no rule can. */
  readonly fix: string | undefined
  readonly wish: NetWish | undefined
}

/** SPEC 1.4 for the network: the host, the rule or its absence, and the rule that would allow it, for who can say whose it is. */
export function denyByRule(
  place: Endpoint,
  rule: NetRule | undefined,
  { part = '', inside }: Shown = {},
): Denial {
  // Of a tunnel only the outside is known, and of a path with several readings no rule for one of them would do.
  const wish = inside && !isDeceptive(inside.rawPath) ? inside.target : { host: place.host, port: place.port }
  const fix = formatRule(netRuleAllowing(wish, rule))
  if (!rule)
    return {
      reason: `no rule allows ${place.host}:${place.port}${part}`,
      fix,
      wish: {
        ...(inside ? { scheme: inside.target.scheme } : {}), // the least, as `why run net` names it
        host: place.host,
        port: place.port,
        ...(part === '' ? {} : { path: part }),
      },
    }
  const { host, origin, pathPrefix } = rule
  const at = origin === undefined ? '' : ` at ${origin}`
  return { reason: `the rule${at} for ${host}${pathPrefix ?? ''} says no`, fix, wish: undefined }
}

/** Of a name that was only looked up. */
export const denyName = (host: HostName): Pick<Denial, 'reason' | 'wish'> => ({
  reason: `no rule allows ${host}`,
  wish: { host },
})

/** What is known of a request beside the place. */
interface Shown {
  /** A path, where others are granted. */
  readonly part?: string
  readonly inside?: { readonly target: NetTarget; readonly rawPath: string }
}

/** Decision 0051. */
export function denyByAddress(place: Endpoint, address: string, kind: AddressKind): Denial {
  const literal = address.includes(':') ? `[${address}]` : address
  const resolves = place.host === literal ? 'is' : `resolves to ${address},`
  return {
    reason: `${place.host} ${resolves} a ${kind} address, and no rule names that address`,
    fix: formatRule(netRuleAllowing({ host: address, port: place.port })),
    wish: { host: literal, port: place.port },
  }
}

/**
 * The plain-text body of a 403. It has no command: who reads it is the program, and often a model, and the proxy does not know
 * whose access the program has. The person is told by whoever started it (decision 0469).
 */
export const denialText = (what: string, { reason }: Pick<Denial, 'reason'>): string =>
  `cordon: network access denied: ${show(what)}\n  because: ${reason}\n`
