import { readClientHello } from './client-hello.ts'

/** What a tunnel carries, by the client's first bytes (decision 0050). */
export type Speech =
  | { readonly kind: 'more' }
  | { readonly kind: 'tls'; readonly serverName: string | undefined }
  | { readonly kind: 'http' }
  | { readonly kind: 'http2' }
  | { readonly kind: 'bytes' }

export function readSpeech(bytes: Buffer): Speech {
  if (bytes.length === 0) return { kind: 'more' }
  if (bytes[0] === 0x16) {
    const hello = readClientHello(bytes)
    if (hello.kind === 'hello') return { kind: 'tls', serverName: hello.serverName }
    return { kind: hello.kind === 'partial' ? 'more' : 'bytes' }
  }
  const text = bytes.subarray(0, LONGEST_LINE).toString('latin1').trimStart()
  const end = text.indexOf('\n')
  if (end === -1) return { kind: startsLikeHttp(text) && bytes.length < LONGEST_LINE ? 'more' : 'bytes' }
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
  return METHODS.some((method) => method.startsWith(upper) || upper.startsWith(method))
}
