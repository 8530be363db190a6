import { type HostName } from '../rules.ts'

/**
 * SPEC 1.5: one spelling for a host, the same for rules and targets: ASCII (Punycode), lower case, one
 * trailing dot stripped, IP literals normalised. Undefined when it is no host.
 *
 * The characters are checked *before* converting, because the converter forgives too much: it reads
 * `a/b` as `a`, and drops tabs and newlines.
 */
export function parseHost(text: unknown): HostName | undefined {
  if (typeof text !== 'string') return undefined
  if (text.length > LONGEST_HOST || !text.isWellFormed()) return undefined
  const bracketed = text.startsWith('[') && text.endsWith(']')
  const address = bracketed ? text.slice(1, -1) : text
  if (bracketed || IPV6.test(address)) return IPV6.test(address) ? convert(`[${address}]`) : undefined
  if (isCanonical(text)) return text as HostName
  if (text === '' || isForbidden(text)) return undefined
  // The dot is stripped after converting, because conversion produces dots of its own (U+3002).
  const host = convert(text)?.replace(/\.$/, '')
  return host === undefined || host.split('.').includes('') ? undefined : (host as HostName)
}

/**
 * Spelled as the converter spells it, as nearly all rules are: the first `URL` of a process takes half a millisecond. What ends
 * in a number is an address to it, and of `xn--` it looks whether that can be.
 */
const isCanonical = (text: string): boolean =>
  text.length <= 255 && /^(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/.test(text) && !text.includes('xn--')

/** DNS allows 253 octets; Unicode spellings of it are a few times longer at most. */
const LONGEST_HOST = 1024
const IPV6 = /^[0-9a-fA-F.]*:[0-9a-fA-F:.]+$/
/** `*` is refused because whoever writes `*.example.com` expects a wildcard, and there is none. */
const isForbidden = (text: string): boolean =>
  // The classes of Unicode take most of a millisecond to compile, at the first host that anybody names.
  /[/\\?#@:%<>^|[\]*"'`{}]/.test(text) || (!/^[!-~]*$/.test(text) && /[\p{C}\p{Z}]/u.test(text))

function convert(host: string): HostName | undefined {
  try {
    const { hostname } = new URL(`http://${host}/`)
    return hostname === '' || hostname.length > 255 ? undefined : (hostname as HostName)
  } catch {
    return undefined
  }
}
