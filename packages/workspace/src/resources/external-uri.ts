import { createHash } from 'node:crypto'
import { basename, dirname } from 'node:path'

/**
 * RFD D03: `external:<sha256 of the canonical parent directory>/<file name>`. The same file gives the same URI, files of one name from
 * different directories give different ones, and nobody learns where it lay. The name is verbatim, for the reader.
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

/** SPEC 6.3: rooted at the workspace, so that it means the same on every machine. */
export const workspaceUri = (relative: string): string =>
  `file:///${encodeURI(relative).replaceAll('#', '%23').replaceAll('?', '%3F')}`

/** The workspace-relative path; undefined for anything else. */
export function parseWorkspaceUri(uri: string): string | undefined {
  if (!uri.startsWith('file:///')) return undefined
  try {
    return decodeURIComponent(uri.slice('file:///'.length))
  } catch {
    return undefined
  }
}
