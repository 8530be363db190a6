import { createHash } from 'node:crypto'
import { type Anchor, type EntryKind, FileError, type FileVersion } from '@cordon/files'
import { type RelPath } from '@cordon/policy'

/** What is at a place, from one look at it. */
export interface Seen {
  readonly kind: EntryKind | 'missing'
  readonly size: number
  /** Undefined: nothing is there. */
  readonly version: FileVersion | undefined
  /** Undefined: no file, one that is larger than was asked for, or that this process may not read. */
  readonly content: Buffer | undefined
}

/** What is kept of a look, to know the same thing again. */
export interface Witness {
  readonly kind: Seen['kind']
  readonly version?: string
  readonly sha256?: string
}

/** Larger files are known again by their version. */
export const LARGEST_SEEN = 1024 * 1024

/** Of the entry itself: a link is a link. `most`: larger content is not read. */
export function lookAt(anchor: Anchor, inside: RelPath, most = LARGEST_SEEN): Seen {
  const there = orUndefined(() => anchor.stat(inside), ['FILE_NOT_FOUND'])
  if (!there) return { kind: 'missing', size: 0, version: undefined, content: undefined }
  const { kind, size, version } = there
  if (kind !== 'file' || size > most) return { kind, size, version, content: undefined }
  const read = orUndefined(() => readAt(anchor, inside, most), ['FILE_NO_PERMISSION', 'FILE_TOO_LARGE'])
  return read ?? { kind, size, version, content: undefined }
}

/** Content and version are those of one open file. */
function readAt(anchor: Anchor, inside: RelPath, most: number): Seen {
  using file = anchor.open(inside)
  const content = file.readAll(most)
  return { kind: 'file', size: content.length, version: file.stat.version, content }
}

export const witnessOf = ({ kind, version, content }: Seen): Witness => ({
  kind,
  ...(version === undefined ? {} : { version }),
  ...(content === undefined ? {} : { sha256: sha256Of(content) }),
})

/**
 * By the content where both have it: two writes within one tick of the clock can leave the version as it was. Of a directory
 * its kind is enough: the tools take away an empty one, or move one with whatever is in it.
 */
export function isStill(was: Witness, now: Witness): boolean {
  if (was.kind !== now.kind) return false
  if (was.kind === 'missing' || was.kind === 'directory') return true
  return was.sha256 === undefined || now.sha256 === undefined
    ? was.version === now.version
    : was.sha256 === now.sha256
}

const sha256Of = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

function orUndefined<T>(look: () => T, expected: readonly string[]): T | undefined {
  try {
    return look()
  } catch (error) {
    if (error instanceof FileError && expected.includes(error.code)) return undefined
    throw error
  }
}
