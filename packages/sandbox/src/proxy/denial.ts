import { DEFAULT_PORTS, type NetRule, quote, show } from '@cordon/policy'
import { type AddressKind } from './address.ts'
import { type Place } from './gate.ts'

export interface Denial {
  readonly reason: string
  /** The rule that would change the answer; undefined when no rule can. */
  readonly fix: string | undefined
}

/** SPEC 1.4 for the network: the host, the rule or its absence, and the exact TOML. `part` is a path, where others are granted. */
export function denyByRule(
  { host: asked, port, part = '' }: Place & { readonly part?: string },
  scheme: string,
  rule: NetRule | undefined,
): Denial {
  if (!rule) {
    const at = DEFAULT_PORTS[scheme] === port ? {} : { port }
    return {
      reason: `no rule allows ${asked}:${port}${part}`,
      fix: ruleToml({ host: asked, ...at, ...(part === '' ? {} : { pathPrefix: part }) }),
    }
  }
  const { host, origin, pathPrefix } = rule
  const at = origin === undefined ? '' : ` at ${origin}`
  // Same shape as the refusing rule and later than it: SPEC 1.1, the last of equals wins.
  return { reason: `the rule${at} for ${host}${pathPrefix ?? ''} says no`, fix: ruleToml(rule) }
}

/** Decision 0051. */
export function denyByAddress(place: Place, address: string, kind: AddressKind): Denial {
  const literal = address.includes(':') ? `[${address}]` : address
  const resolves = place.host === literal ? 'is' : `resolves to ${address},`
  return {
    reason: `${place.host} ${resolves} a ${kind} address, and no rule names that address`,
    fix: ruleToml({ host: address, port: place.port }),
  }
}

/** The plain-text body of a 403. */
export function denialText(what: string, denial: Denial): string {
  const fix =
    denial.fix === undefined
      ? ''
      : `To allow it, add this rule after the others of the tool's or profile's access:\n\n${denial.fix}`
  return `cordon: network access denied: ${show(what)}\n${denial.reason}.\n${fix}`
}

function ruleToml(rule: { host: string; scheme?: string; port?: number; pathPrefix?: string }): string {
  const lines = ['[[access.net]]', `host = ${quote(rule.host)}`]
  if (rule.scheme !== undefined) lines.push(`scheme = ${quote(rule.scheme)}`)
  if (rule.port !== undefined) lines.push(`port = ${rule.port}`)
  if (rule.pathPrefix !== undefined) lines.push(`path_prefix = ${quote(rule.pathPrefix)}`)
  return [...lines, 'allow = true', ''].join('\n')
}
