import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/** The one temporary name a file's writer uses. Its writers exclude each other by a lock, so one is enough. */
export const tempOf = (file: string): string => `${file}.tmp`

/**
 * Replaces `file` so that a crash at any point leaves the old or the new content, and the new one is on the
 * disk when this returns: temp, fsync, rename, fsync of the directory (SPEC 3.2). The caller holds the
 * lock that serialises the writers of this file.
 */
export async function writeDurable(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  const temp = tempOf(file)
  await rm(temp, { force: true, recursive: true }) // left by a writer that was killed
  try {
    const handle = await open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temp, file)
  } catch (error) {
    await rm(temp, { force: true })
    throw error
  }
  await syncDirectory(dirname(file))
}

/** At the file's position. A write may take less than it was given. */
export async function writeAll(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten
}

/** A rename or a new entry survives power loss only once its directory is written. */
export async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, O_RDONLY | O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export interface SmallFile {
  readonly bytes: Buffer
  readonly uid: number
  readonly mode: number
}

/**
 * A regular file of at most `limit` bytes, or undefined when there is none. Follows no link, and does not
 * hang on a FIFO that stands where a file should.
 */
export async function readSmall(file: string, limit: number): Promise<SmallFile | undefined> {
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  })
  if (!handle) return undefined
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new Error('it is not a regular file')
    if (stat.size > limit) throw new Error(`it is larger than ${limit} bytes`)
    return { bytes: await handle.readFile(), uid: stat.uid, mode: stat.mode & 0o7777 }
  } finally {
    await handle.close()
  }
}

export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** A system error in a few words, without the path it names: the message around it already has that. */
export function reason(error: unknown): string {
  const code = errorCode(error)
  if (code !== undefined && !code.startsWith('ERR_')) return WORDS[code] ?? code
  return error instanceof Error ? error.message : String(error)
}

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
