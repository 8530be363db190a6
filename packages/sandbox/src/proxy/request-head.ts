import { type IncomingMessage } from 'node:http'
import { InvalidUrlError, type NetTarget, parseNetTarget } from '@cordon/policy'
import { type Door } from './gate.ts'
import { type NetWish } from './options.ts'

/** The server that a tunnel leads to; absent where the client speaks to the proxy itself. */
export interface RequestOrigin extends Door {
  readonly scheme: 'http' | 'https'
}

export interface Asked {
  readonly target: NetTarget & { readonly port: number }
  /** As the client sent it: what goes to the server. */
  readonly path: string
  readonly rawPath: string
  readonly hostHeader: string
  /** Without the query, which often holds secrets. */
  readonly url: string
}

export interface BadRequest {
  readonly status: 400 | 421
  readonly reason: string
  /** What would have to be granted, where the request only used another name of the same machine. */
  readonly wish?: NetWish | undefined
}

/** Decision 0053: what one request asks for, read in exactly one way or refused. */
export function readRequestHead(
  req: IncomingMessage,
  origin: RequestOrigin | undefined,
  purpose: 'request' | 'websocket',
): Asked | BadRequest {
  const hosts = headerValues(req, 'host')
  const wrong = wrongFraming(req) ?? (hosts.length > 1 ? 'it has more than one Host header' : undefined)
  if (wrong !== undefined) return bad(wrong)
  const match = TARGET.exec(req.url ?? '')
  if (!match?.groups && /[^!-~]|[#\\]/.test(req.url ?? ''))
    return bad('its URL holds a character that two servers could read differently')
  if (!match?.groups)
    return bad(origin ? 'its target is not a path' : 'this is a proxy: the target must be a whole http URL')
  const { scheme, authority, path = '', query = '' } = match.groups
  if (scheme === undefined && !origin) return bad('this is a proxy: the target must be a whole http URL')
  if (authority?.includes('@')) return bad('its URL holds a user name')
  const secure = scheme?.toLowerCase() === 'https'
  if (!origin && secure) return bad('https goes through CONNECT')
  const ours = origin ?? { scheme: 'http' }
  const named = scheme === undefined ? undefined : readPlace(`${scheme}://${authority}`)
  const saysHost = hosts[0] === undefined ? undefined : readPlace(`${ours.scheme}://${hosts[0]}`)
  if (origin) {
    if (hosts[0] === undefined) return bad('it has no Host header')
    if (!saysHost || !isAt(saysHost, origin) || (scheme !== undefined && !isSame(saysHost, named)))
      return misdirected(saysHost, origin)
  }
  const place = origin ? saysHost : named
  if (!place?.port) return bad('its host is not valid')
  const hostHeader = place.port === DEFAULT[ours.scheme] ? place.host : `${place.host}:${place.port}`
  const url = `${wireScheme(ours.scheme, purpose)}://${hostHeader}${path}`
  const target = readPlace(url)
  if (!target) return bad('its path has a broken % escape')
  return {
    target: { ...target, port: place.port },
    path: `${path || '/'}${query}`,
    rawPath: path,
    hostHeader,
    url,
  }
}

function misdirected(said: NetTarget | undefined, { host, port }: RequestOrigin): BadRequest {
  const other = said === undefined ? 'another host' : `${said.host}:${said.port}, another host`
  const isSameMachine = said?.port === port && LOOPBACK.has(said.host) && LOOPBACK.has(host)
  return {
    status: 421,
    reason: `it is for ${other} than ${host}:${port}, where this tunnel leads`,
    ...(isSameMachine ? { wish: { host: said.host, port } } : {}),
  }
}

/** Names of this machine: who typed one of them may well have meant another. */
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** A door with two names takes both, and each request is decided by the one that it says. */
const isAt = ({ scheme, host, port }: NetTarget, origin: RequestOrigin): boolean =>
  scheme === origin.scheme && port === origin.port && (host === origin.host || host === origin.alias)

const isSame = (a: NetTarget, b: NetTarget | undefined): boolean =>
  a.scheme === b?.scheme && a.host === b.host && a.port === b.port

/** Printable ASCII without a fragment or a backslash: two servers could read those differently. */
const TARGET =
  /^(?:(?<scheme>https?):\/\/(?<authority>[!-.0->@-[\]-~]+))?(?<path>(?:\/[!"$->@-[\]-~]*)?)(?<query>(?:\?[!"$-[\]-~]*)?)$/i
const DEFAULT = { http: 80, https: 443 } as const

const bad = (reason: string): BadRequest => ({ status: 400, reason })

/** The parser refuses Content-Length with Transfer-Encoding, folded lines, bare CR or LF; this is the rest. */
function wrongFraming(req: IncomingMessage): string | undefined {
  if (req.httpVersion !== '1.1' && req.httpVersion !== '1.0') return 'it is not HTTP/1.1 or HTTP/1.0'
  const codings = headerValues(req, 'transfer-encoding')
  if (codings.length === 0) return undefined
  if (req.httpVersion === '1.0') return 'HTTP/1.0 has no Transfer-Encoding'
  return codings.length === 1 && codings[0]?.toLowerCase() === 'chunked'
    ? undefined
    : 'its Transfer-Encoding is not chunked'
}

export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)
}

function readPlace(url: string): NetTarget | undefined {
  try {
    return parseNetTarget(url)
  } catch (error) {
    if (error instanceof InvalidUrlError) return undefined
    throw error
  }
}

/** `wss://h/p` is what a tool's own check was asked about, so the upgrade is decided as that. */
const wireScheme = (scheme: 'http' | 'https', purpose: 'request' | 'websocket'): string =>
  purpose === 'request' ? scheme : scheme === 'https' ? 'wss' : 'ws'
