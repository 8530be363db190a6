import { createHash } from 'node:crypto'
import { basename, dirname } from 'node:path'

/**
 * SPEC 6.3: `external:<sha256 of the canonical parent directory>/<file name>`. The same file gives the same URI, files of one name from
 * different directories give different ones, and nobody learns where it lay. The name is verbatim, for the reader (decision 0065).
 */
export function externalUri(canonicalPath: string): string {
  const parent = createHash('sha256').update(dirname(canonicalPath), 'utf8').digest('hex')
  return `external:${parent}/${basename(canonicalPath)}`
}

/** Split at the first `/`; undefined for anything else. */
export function parseExternalUri(
  uri: string,
): { readonly directory: string; readonly name: string } | undefined {
  const match = /^external:([0-9a-f]{64})\/(.+)$/s.exec(uri)
  return match ? { directory: match[1]!, name: match[2]! } : undefined
}
