import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readSync,
  realpathSync,
} from 'node:fs'
import type { Dirent } from 'node:fs'
import { lookAt, refuseClosed } from '@cordon/policy'

/** A configuration longer than this is not read, and that is said. */
const LONGEST = 1024 * 1024

/**
 * The whole of a regular file, or why it is not known. Whoever wrote it may have put a pipe in its place. What is closed to its
 * owner is an error, here and below: it may name, or hold, what is to be guarded elsewhere (decision 0510).
 */
export type Text = { readonly text: string } | { readonly unknown: string }

export function readText(file: string): Text {
  const read = readBytes(file, LONGEST)
  return 'bytes' in read ? { text: read.bytes.toString('utf8') } : read
}

/** The same as bytes, up to a length of its own. What is not there is empty. */
export function readBytes(
  file: string,
  longest: number,
): { readonly bytes: Buffer } | { readonly unknown: string } {
  if (file === '/dev/null' || !lookAt(file)) return { bytes: NOTHING } // as most often, and an error costs more than the question
  let fd: number | undefined
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = fstatSync(fd)
    if (!stats.isFile()) return { unknown: 'is no regular file' }
    if (stats.size > longest) return { unknown: `is longer than ${longest / 2 ** 20} MiB` }
    const bytes = Buffer.allocUnsafe(stats.size)
    return { bytes: bytes.subarray(0, readSync(fd, bytes)) }
  } catch (error) {
    refuseClosed(file, error)
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { bytes: NOTHING }
      : { unknown: `cannot be read (${code})` }
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

const NOTHING = Buffer.alloc(0)

/** So many entries of a directory at most, and whether there are more. What another user keeps us from listing has none. */
export function entriesOf(
  dir: string,
  most: number,
): { readonly entries: readonly Dirent[]; readonly more: boolean } {
  const entries: Dirent[] = []
  if (!lookAt(dir)?.isDirectory()) return { entries, more: false }
  try {
    const open = opendirSync(dir)
    try {
      for (let entry = open.readSync(); entry; entry = open.readSync()) {
        if (entries.length === most) return { entries, more: true }
        entries.push(entry)
      }
    } finally {
      open.closeSync()
    }
  } catch (error) {
    refuseClosed(dir, error)
  }
  return { entries, more: false }
}

export function realDirectory(path: string): string | undefined {
  try {
    const real = realpathSync.native(path)
    return lstatSync(real).isDirectory() ? real : undefined
  } catch (error) {
    refuseClosed(path, error)
    return undefined
  }
}
