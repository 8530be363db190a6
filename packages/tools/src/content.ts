import { type ContentBlock, type ToolResult } from './protocol.ts'

export const text = (content: string): ContentBlock => ({ type: 'text', text: content })

export const success = (...content: readonly ContentBlock[]): ToolResult => ({ type: 'success', content })

export const failure = (message: string): ToolResult => ({
  type: 'error',
  message,
  trace: [],
  transient: false,
})

/**
 * A path in a list of paths, one a line: as it is, or as a JSON string where a line break or another control character in
 * it could make it look like two, or a quote like a quoted one.
 */
export const showName = (name: string): string =>
  name.search(/[\p{C}\p{Zl}\p{Zp}"]/u) < 0 ? name : quoteWhole(name)

/** `quote` cuts what is long; a name must stay one that can be used. */
const quoteWhole = (name: string): string =>
  JSON.stringify(name).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) =>
    Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  )

/** `3 files`, `1 file`: a count that a sentence can use. Without Intl, which takes 20 ms to load. */
export const count = (n: number, one: string, many = `${one}s`): string =>
  `${String(n).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')} ${n === 1 ? one : many}`

/** For binary content, which has no better witness here than its name. The host looks at the bytes. */
export function mimeTypeOf(relative: string, kind: 'text' | 'binary'): string {
  const extension = /\.([a-z0-9]+)$/i.exec(relative)?.[1]?.toLowerCase() ?? ''
  const known = MIME[extension]
  if (kind === 'text') return known && !BINARY.test(known) ? known : 'text/plain'
  return known && BINARY.test(known) ? known : 'application/octet-stream'
}

const BINARY = /^(?:image\/(?!svg)|audio|video|application\/(?:pdf|zip|gzip|wasm))/

const MIME: Readonly<Record<string, string>> = {
  css: 'text/css',
  csv: 'text/csv',
  gif: 'image/gif',
  gz: 'application/gzip',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  md: 'text/markdown',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  wasm: 'application/wasm',
  webp: 'image/webp',
  xml: 'application/xml',
  zip: 'application/zip',
}
