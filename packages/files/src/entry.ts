import { type BigIntStats, type Dirent } from 'node:fs'

/** What a directory entry is. A link is a link, never what it points to. */
export type EntryKind = 'file' | 'directory' | 'link' | 'fifo' | 'socket' | 'device' | 'unknown'

/** Changes whenever the file's content, owner or mode may have changed. Opaque: compare, do not read. */
export type FileVersion = string & { readonly __version: unique symbol }

/** What the kernel says about one entry, links not followed. */
export interface FileStat {
  readonly kind: EntryKind
  readonly size: number
  /** The permission bits with setuid, setgid and sticky: `0o7777`. */
  readonly mode: number
  readonly links: number
  readonly modifiedMs: number
  /** Two entries with the same identity are names of one file. */
  readonly identity: string
  readonly version: FileVersion
}

export const describeStats = (stats: BigIntStats): FileStat => ({
  kind: kindOf(stats),
  size: Number(stats.size),
  mode: modeOf(stats),
  links: Number(stats.nlink),
  modifiedMs: Number(stats.mtimeMs),
  identity: `${stats.dev}:${stats.ino}`,
  version: versionOf(stats),
})

/** The change time is in it because nobody can set it back, as one can the modification time. */
export const versionOf = (stats: BigIntStats): FileVersion =>
  `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}` as FileVersion

export const modeOf = (stats: BigIntStats): number => Number(stats.mode) & 0o7777

export const sameFile = (a: BigIntStats, b: BigIntStats): boolean => a.ino === b.ino && a.dev === b.dev

export function kindOf(entry: BigIntStats | Dirent | Dirent<NonSharedBuffer>): EntryKind {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  if (entry.isSymbolicLink()) return 'link'
  if (entry.isFIFO()) return 'fifo'
  if (entry.isSocket()) return 'socket'
  return entry.isBlockDevice() || entry.isCharacterDevice() ? 'device' : 'unknown'
}
