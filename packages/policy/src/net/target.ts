import { CordonError } from '../errors.ts'
import { type HostName } from '../rules.ts'
import { describe, quote } from '../text.ts'
import { parseHost } from './host.ts'
import { pathSegments } from './path.ts'

/** A URL reduced to what rules look at. */
export interface NetTarget {
  readonly scheme: string
  readonly host: HostName
  /** The port in the URL, else the scheme's default; undefined when the scheme has none (SPEC 1.5). */
  readonly port: number | undefined
  readonly segments: readonly string[]
}

/**
 * The schemes with a default port. Part of the wire format: other languages use the same table.
 * Without a prototype, because `constructor` is a scheme that anybody can write.
 */
export const DEFAULT_PORTS: Readonly<Record<string, number>> = Object.assign(
  Object.create(null) as Record<string, number>,
  { http: 80, https: 443, ws: 80, wss: 443, ftp: 21, ssh: 22 },
)

/** Reads a URL in exactly one way or refuses it; nothing that two parsers could read differently passes (decision 0020). */
export function parseNetTarget(input: unknown): NetTarget {
  if (typeof input !== 'string') throw new InvalidUrlError(describe(input), 'it is not a string')
  const fail = (reason: string): never => {
    throw new InvalidUrlError(input, reason)
  }
  if (input.length > LONGEST_URL) fail(`it is longer than ${LONGEST_URL} characters`)
  if (!input.isWellFormed()) fail('it is not valid Unicode')
  // Browsers read `\` as `/` and drop tabs; RFC 3986 does neither. Such a URL has two meanings.
  if (isAmbiguous(input)) fail('it contains a space, a control character or a backslash')
  const match = URL_SHAPE.exec(input)
  if (!match?.groups) return fail('expected scheme://host[:port][/path]')
  const { scheme = '', authority = '', path = '' } = match.groups
  // The last `@` ends the user part; a host never contains one.
  const place = AUTHORITY.exec(authority.slice(authority.lastIndexOf('@') + 1))
  const host = parseHost(place?.groups?.['host'] ?? '') ?? fail('the host is not valid')
  const port = place?.groups?.['port']
  if (port !== undefined && Number(port) > 65535) fail('the port is larger than 65535')
  const segments = pathSegments(path) ?? fail('the path has a broken % escape')
  const lower = scheme.toLowerCase()
  return { scheme: lower, host, port: port ? Number(port) : DEFAULT_PORTS[lower], segments }
}

const LONGEST_URL = 65_536
/** Of what is plain ASCII no Unicode set is made, which takes V8 a part of a millisecond in each process. */
const isAmbiguous = (text: string): boolean =>
  text.includes('\\') || (!/^[!-~]*$/.test(text) && /[\p{Cc}\p{Z}]/u.test(text))
const URL_SHAPE = /^(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):\/\/(?<authority>[^/?#]*)(?<path>[^?#]*)/
const AUTHORITY = /^(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>[0-9]{0,5}))?$/

/** A URL that cannot be read in exactly one way; refused, never guessed. */
export class InvalidUrlError extends CordonError {
  readonly code = 'URL_INVALID'
  readonly input: string
  readonly reason: string
  constructor(input: string, reason: string) {
    super(`invalid URL: ${quote(input)} (${reason})`)
    this.input = input
    this.reason = reason
  }
}
