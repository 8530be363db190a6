import { DEFAULT_PORTS, type NetRule } from '@cordon/policy'
import { hasPath, isNarrow } from './gate.ts'

/** SPEC 4.7: who holds a rule. `proxy` is exact; the others say what is held instead, or that nothing is. */
export type NetHolder =
  | { readonly rule: NetRule; readonly holder: 'proxy' }
  | { readonly rule: NetRule; readonly holder: 'host-level' | 'none'; readonly reason: string }

export function netHolders(rules: readonly NetRule[], interception: 'auto' | 'off' = 'auto'): NetHolder[] {
  return rules.map((rule) => holderOf(rule, interception))
}

function holderOf(rule: NetRule, interception: 'auto' | 'off'): NetHolder {
  const { scheme, port, host } = rule
  if (scheme !== undefined && port === undefined && DEFAULT_PORTS[scheme] === undefined && scheme !== 'tcp')
    return {
      rule,
      holder: 'none',
      reason: `${scheme} has no default port, so no connection matches: write port`,
    }
  if (scheme === 'tcp' && port === undefined)
    return { rule, holder: 'none', reason: 'tcp has no default port, so no connection matches: write port' }
  if (scheme !== undefined && !SEEN.has(scheme))
    return hasPath(rule) || !rule.allow
      ? { rule, holder: 'none', reason: `the proxy cannot read ${scheme}` }
      : {
          rule,
          holder: 'host-level',
          reason: `the proxy cannot tell ${scheme} from other bytes: it holds ${host} and the port`,
        }
  if (!isNarrow(rule) || scheme === 'http' || scheme === 'ws' || interception === 'auto')
    return { rule, holder: 'proxy' }
  const what = hasPath(rule) ? 'the path' : 'WebSockets among other requests'
  const held = rule.allow ? `all of ${host} is open to https` : `all of ${host} is closed to https`
  return {
    rule,
    holder: 'host-level',
    reason: `without interception the proxy cannot see ${what} inside TLS: ${held}`,
  }
}

const SEEN = new Set(['http', 'https', 'ws', 'wss', 'tcp'])
