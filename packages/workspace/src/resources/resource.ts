/** A payload kept in the blob store (SPEC 6.2), as it stands in an event. */
export interface BlobRef {
  readonly $blob: BlobHash
  readonly size: number
}

/** SHA-256 of the content, 64 lower-case hex digits: checked, because it becomes part of a path. */
export type BlobHash = string & { readonly __brand: 'BlobHash' }

export const isBlobHash = (text: unknown): text is BlobHash =>
  typeof text === 'string' && /^[0-9a-f]{64}$/.test(text)

const isBlobRef = (value: unknown): value is BlobRef =>
  typeof value === 'object' &&
  value !== null &&
  '$blob' in value &&
  isBlobHash(value.$blob) &&
  'size' in value &&
  Number.isSafeInteger(value.size)

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

/**
 * A superset of MCP's resource contents. `text` and `blob` hold a reference when Cordon wrote them; inline they are
 * what MCP says (text, base64), which is what a person writes into a file by hand.
 */
export interface Resource {
  readonly uri: string
  readonly mimeType?: string
  readonly annotations?: JsonObject
  readonly text?: string | BlobRef
  readonly blob?: string | BlobRef
  readonly name?: string
  readonly title?: string
  readonly description?: string
}

export function isResource(value: unknown): value is Resource {
  if (typeof value !== 'object' || value === null) return false
  const { uri, text, blob } = value as Readonly<Record<string, unknown>>
  return typeof uri === 'string' && isPayload(text) && isPayload(blob)
}

const isPayload = (value: unknown): boolean =>
  value === undefined || typeof value === 'string' || isBlobRef(value)
