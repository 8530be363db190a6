import { type RelPath, ROOT } from '@cordon/policy'
import { type ContentBlock, type ToolResult } from './protocol.ts'

export const text = (content: string): ContentBlock => ({ type: 'text', text: content })

export const success = (...content: readonly ContentBlock[]): ToolResult => ({ type: 'success', content })

export const failure = (message: string): ToolResult => ({
  type: 'error',
  message,
  trace: [],
  transient: false,
})

/** Workspace-rooted (SPEC 6.3): `file:///src/a.ts` is `src/a.ts`, wherever the workspace is. */
export const workspaceUri = (relative: RelPath, fragment = ''): string =>
  `file:///${relative === ROOT ? '' : relative.split('/').map(encodeURIComponent).join('/')}${fragment}`

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
