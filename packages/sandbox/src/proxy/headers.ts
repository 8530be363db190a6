import { type IncomingMessage } from 'node:http'
import { headerValues } from './request-head.ts'

/** RFC 9110 §7.6.1, and what only the two ends of a hop may decide: framing and the Host. */
const OURS = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/**
 * A flat list for `http.request`. Host and framing are written by us from what was parsed, so the client
 * cannot strip them with a Connection header, nor let the server see another end of the body than we did.
 */
export function requestHeaders(req: IncomingMessage, host: string, upgrade?: 'websocket'): string[] {
  const headers = ['Host', host]
  for (const [name, value] of endToEnd(req, NOT_FORWARDED)) headers.push(name, value)
  if (upgrade) return [...headers, 'Connection', 'Upgrade', 'Upgrade', upgrade]
  const length = headerValues(req, 'content-length')[0]
  if (headerValues(req, 'transfer-encoding').length > 0) headers.push('Transfer-Encoding', 'chunked')
  else if (length !== undefined) headers.push('Content-Length', length)
  else if (!BODILESS.has(req.method ?? '')) headers.push('Content-Length', '0')
  return headers
}

/** RFC 9110 §8.6: a 204 has no length. A client that believed one would take the next answer for its body. */
export const responseHeaders = (res: IncomingMessage): string[] =>
  [...endToEnd(res, res.statusCode === 204 ? FRAMING : NONE)].flat()

/** The head of a switch to another protocol, which the two ends speak from then on. */
export function upgradeHead(res: IncomingMessage): string {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade']
  lines.push(`Upgrade: ${res.headers.upgrade ?? ''}`)
  for (const [name, value] of endToEnd(res, FRAMING)) lines.push(`${name}: ${value}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

const NONE: ReadonlySet<string> = new Set()
const FRAMING: ReadonlySet<string> = new Set(['content-length'])
const NOT_FORWARDED = new Set(['host', 'content-length', 'expect'])
const BODILESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

function* endToEnd(message: IncomingMessage, also: ReadonlySet<string>): Generator<[string, string]> {
  const listed = new Set(
    headerValues(message, 'connection').flatMap((value) =>
      value.split(',').map((name) => name.trim().toLowerCase()),
    ),
  )
  listed.delete('content-length') // in a response it is framing too, and not the sender's to hide
  const { rawHeaders } = message
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    const lower = name.toLowerCase()
    if (!OURS.has(lower) && !also.has(lower) && !listed.has(lower)) yield [name, rawHeaders[i + 1]!]
  }
}
