import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  futimesSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants

export interface Replacement {
  /** Of a new file, less the umask. */
  readonly mode: number
  /** Exactly this mode, as that of the file which is replaced. */
  readonly keptMode?: number | undefined
  /** When the new content says that it was written, in whole seconds: who edits the file later changes that. */
  readonly modifiedAt?: number | undefined
  /** Where the new content is written first, on the same filesystem. Whoever holds a lock on the file needs no other name. */
  readonly temp?: string
  /** The last look before the new content takes the place of the old; what it throws leaves the old one. */
  readonly beforeRename?: () => void
}

/**
 * Replaces a file of Cordon's own, so that a crash at any point leaves the old or the new content, and the new one is on
 * the disk when this returns: temp, fsync, rename, fsync of the directory (SPEC 3.2). What tools touch goes by an `Anchor`.
 */
export function replaceDurably(
  file: string,
  content: string | Uint8Array,
  { mode, keptMode, modifiedAt, temp = tempOf(file), beforeRename }: Replacement,
): void {
  rmSync(temp, { force: true, recursive: true }) // left by a writer that was killed
  try {
    writeNew(temp, content, { mode, keptMode, modifiedAt })
    beforeRename?.()
    renameSync(temp, file)
  } catch (error) {
    rmSync(temp, { force: true })
    throw error
  }
  syncDirectory(dirname(file))
}

/** Of two processes that make the same file one does, and the other is told false. On the disk when it returns. */
export function createDurably(file: string, content: string | Uint8Array, mode: number): boolean {
  try {
    writeNew(file, content, { mode })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
  syncDirectory(dirname(file))
  return true
}

export const tempOf = (file: string): string => `${file}.tmp`

/** A rename or a new entry survives power loss only once its directory is written. */
export function syncDirectory(dir: string): void {
  const fd = openSync(dir, O_RDONLY | O_DIRECTORY)
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function writeNew(
  file: string,
  content: string | Uint8Array,
  { mode, keptMode, modifiedAt }: Pick<Replacement, 'mode' | 'keptMode' | 'modifiedAt'>,
): void {
  const fd = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    writeFileSync(fd, content)
    if (keptMode !== undefined) fchmodSync(fd, keptMode)
    if (modifiedAt !== undefined) futimesSync(fd, modifiedAt, modifiedAt)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
