import { readClientHello } from './client-hello.ts'

/** What a tunnel carries, by the client's first bytes (decision 0050). */
export type Speech =
  | { readonly kind: 'more' }
  | { readonly kind: 'tls'; readonly serverName: string | undefined }
  /** Some server may read it, and we cannot tell for whom it is. */
  | { readonly kind: 'broken-tls' }
  | { readonly kind: 'http' }
  | { readonly kind: 'http2' }
  | { readonly kind: 'bytes' }

export function readSpeech(bytes: Buffer): Speech {
  if (bytes.length === 0) return { kind: 'more' }
  if (bytes[0] === 0x16) {
    const hello = readClientHello(bytes)
    if (hello.kind === 'hello') return { kind: 'tls', serverName: hello.serverName }
    if (hello.kind === 'partial') return { kind: 'more' }
    return { kind: bytes[1] === 3 ? 'broken-tls' : 'bytes' }
  }
  const text = bytes.subarray(0, LONGEST_LINE).toString('latin1').trimStart()
  const end = text.indexOf('\n')
  if (end === -1 && !startsLikeHttp(text)) return { kind: 'bytes' }
  // A line without an end is a request all the same: the parser refuses it, and some servers would not.
  if (end === -1) return { kind: bytes.length < LONGEST_LINE ? 'more' : 'http' }
  const line = text.slice(0, end)
  if (line.startsWith('PRI ')) return { kind: 'http2' }
  return { kind: /\sHTTP\/\S*\s*$/i.test(line) ? 'http' : 'bytes' }
}

const LONGEST_LINE = 16 * 1024
const METHODS =
  'GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH PROPFIND REPORT SEARCH MKCOL MOVE COPY LOCK PRI'
    .split(' ')
    .map((method) => `${method} `)

/** An unfinished line is waited for only when it can still become a request, else a raw protocol would hang. */
const startsLikeHttp = (text: string): boolean => {
  const upper = text.slice(0, 16).toUpperCase()
  return METHODS.some((method) => method.startsWith(upper) || upper.startsWith(method)) || OTHER.test(text)
}

/** A method that we do not know, and what follows it: who sends it in two pieces does not get past us. */
const OTHER = /^[A-Z][A-Z-]*(?: [!-~]*(?: [!-~]*)?)?\r?$/
