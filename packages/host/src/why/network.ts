import {
  type HostName,
  NetIndex,
  type NetRule,
  type NetTarget,
  parseHost,
  parseNetTarget,
} from '@cordon/policy'
import { classifyAddress, inHostsFile, type KernelReport } from '@cordon/sandbox'
import type { Answer } from './answer.ts'

/** `[scheme://]host[:port][/path]`, as `--allow-net` takes it. */
export function askedPlace(text: string): NetTarget {
  const bare = /^(?:\[[^\]]*\]|[^:/?#@[\]]+)(?::(?<port>\d{1,5}))?(?<path>\/.*)?$/.exec(text)?.groups
  return parseNetTarget(bare ? `${schemeOf(bare['port'], bare['path'])}://${text}` : text)
}

/** Only the web has paths, and what is asked for by its name alone is asked for in a browser. Of a port nothing else is known. */
function schemeOf(port: string | undefined, path: string | undefined): string {
  if (port === undefined) return 'https'
  if (path !== undefined) return port === '80' ? 'http' : 'https'
  return BY_PORT[port] ?? 'tcp'
}

/** As the proxy takes what it cannot look into. */
const BY_PORT: Readonly<Record<string, string>> = { 22: 'ssh', 80: 'http', 443: 'https' }

/** What a rule or a flag would name of it. Of bytes that nobody looks into the port is all there is to say. */
export const wishFor = ({ scheme, ...place }: NetTarget): Omit<NetTarget, 'scheme'> & { scheme?: string } =>
  scheme === 'tcp' ? place : { scheme, ...place }

/** In the form that rules are matched on. */
export function urlOf({ scheme, host, port, segments }: NetTarget): string {
  const path = segments.map((segment) => encodeURIComponent(Buffer.from(segment, 'latin1').toString('utf8')))
  return `${scheme}://${host}${port === undefined ? '' : `:${port}`}/${path.join('/')}`
}

/** The addresses of a name, as far as this machine knows them without asking anybody. */
export type LookUp = (host: HostName) => readonly string[]

export interface ByAddress {
  readonly found: Answer
  readonly notes: readonly string[]
  /** What would have to be allowed besides. */
  readonly wish?: NetTarget
}

/**
 * SPEC 4.5, decision 0051: a name that leads to a private address needs the address's own rule, too. Of a name that is denied
 * that is told as well, or what is advised for it would not be enough.
 */
export function byAddress(found: Answer, rules: readonly NetRule[], lookUp: LookUp = inHostsFile): ByAddress {
  if (found.question.axis !== 'net' || rules.length === 0) return { found, notes: [] }
  const target = askedPlace(found.question.target)
  const { host } = target
  if (isAddress(host) || /(?:^|\.)localhost$/.test(host)) return { found, notes: [] }
  const [first, ...more] = lookUp(host)
  if (first === undefined)
    return {
      found,
      notes: found.allowed
        ? [`where ${host} leads is looked up then: a private or loopback address ${OWN_RULE}`]
        : [],
    }
  const index = new NetIndex(rules)
  const isUsed = (address: string): boolean =>
    classifyAddress(address) === 'public' ||
    index.evaluate({ ...target, host: literal(address) }).kind === 'allowed'
  if ([first, ...more].some(isUsed)) return { found, notes: [] }
  const leads = `${host} leads to ${first}, a ${classifyAddress(first)} address,`
  const wish = { ...target, host: literal(first) }
  if (!found.allowed) return { found, notes: [`${leads} which ${OWN_RULE}`], wish }
  return {
    found: { ...found, allowed: false, because: `${leads} and no rule names that address` },
    notes: [],
    wish,
  }
}

const OWN_RULE = 'needs a rule of its own as well'

const isAddress = (host: string): boolean => host.startsWith('[') || /^[\d.]+$/.test(host)

const literal = (address: string): HostName =>
  parseHost(address.includes(':') ? `[${address}]` : address) ?? (address as HostName)

/** SPEC 4.5: rules that allow hosts need a network namespace; where there is none, nothing is started with one. */
export const whyNoHosts = ({ newRoot }: KernelReport): string | undefined =>
  newRoot === 'works'
    ? undefined
    : 'without user namespaces no host can be allowed: a command with such a rule is not started; `cordon doctor` says how to get them'
