import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { type FileHandle } from 'node:fs/promises'
import { type CordonError } from '@cordon/policy'

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

/** At the file's position. A write may take less than it was given. */
export async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten
}

export interface SmallFile {
  readonly bytes: Buffer
  readonly uid: number
  readonly mode: number
  /** Of the last change of its content, in milliseconds. */
  readonly modifiedMs: number
}

/**
 * A regular file of at most `limit` bytes, or undefined when there is none. Follows no link, and does not hang on a FIFO
 * that stands where a file should. Without a promise: the first of Node's costs three milliseconds of a start.
 */
export function readSmall(file: string, limit: number): SmallFile | undefined {
  let fd: number
  try {
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error('it is not a regular file')
    if (stat.size > limit) throw new Error(`it is larger than ${limit} bytes`)
    return { bytes: readFileSync(fd), uid: stat.uid, mode: stat.mode & 0o7777, modifiedMs: stat.mtimeMs }
  } finally {
    closeSync(fd)
  }
}

/** The same, where what cannot be read has an error of its own. */
export function readSmallOr(
  file: string,
  limit: number,
  wrong: (problem: string) => CordonError,
): SmallFile | undefined {
  try {
    return readSmall(file, limit)
  } catch (error) {
    throw wrong(reason(error))
  }
}

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** A system error in a few words, without the path it names: the message around it already has that. */
export function reason(error: unknown): string {
  const code = errorCode(error)
  if (code !== undefined && !code.startsWith('ERR_')) return systemReason(code)
  return error instanceof Error ? error.message : String(error)
}

/** The same by the kernel's name for it. */
export const systemReason = (errno: string): string => WORDS[errno] ?? errno

const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EDQUOT: 'the disk quota is used up',
  EISDIR: 'it is a directory',
  ELOOP: 'it is a symbolic link',
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a directory',
  EPERM: 'operation not permitted',
  EROFS: 'the filesystem is read-only',
}
