import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, read, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { type OpenedFile } from './directory.ts'
import { type FileVersion, versionOf } from './entry.ts'
import { FileError, Moved, type Subject } from './errors.ts'
import { type Slot, type WriteOptions } from './publish.ts'

const readAsync = promisify(read)

/** What a file holds. */
export interface Content {
  /** Lower-case hexadecimal. */
  readonly sha256: string
  readonly size: number
}

/** Content, and the version of the file that holds it. */
export interface VersionedContent extends Content {
  readonly version: FileVersion
}

const CHUNK = 256 * 1024

/**
 * Reads all of an open file and gives each chunk to `take`, which must be done with it when it resolves. A
 * file that was written meanwhile has no content to speak of, and is an error.
 */
export async function digest(
  fd: number,
  take?: (chunk: Uint8Array) => Promise<void>,
): Promise<VersionedContent> {
  const before = versionNow(fd)
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(CHUNK)
  let size = 0
  for (;;) {
    const { bytesRead } = await readAsync(fd, buffer, 0, CHUNK, size)
    if (bytesRead === 0) break
    const chunk = buffer.subarray(0, bytesRead)
    hash.update(chunk)
    await take?.(chunk)
    size += bytesRead
  }
  return same(before, fd, { sha256: hash.digest('hex'), size })
}

/** The same in one go, for callers that cannot wait. */
function digestNow(fd: number): VersionedContent {
  const before = versionNow(fd)
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(CHUNK)
  let size = 0
  for (let got = -1; got !== 0; size += got) {
    got = readSync(fd, buffer, 0, CHUNK, size)
    hash.update(buffer.subarray(0, got))
  }
  return same(before, fd, { sha256: hash.digest('hex'), size })
}

type Expect = WriteOptions['expect']

/** SPEC 7.2, `If-Match`: from the expected content to the version that has it, or an error if none has. */
export async function settleExpect(target: Slot, expect: Expect, subject: Subject): Promise<Expect> {
  if (typeof expect !== 'object') return expect
  const { fd } = openTarget(target)
  try {
    return versionWith(expect.sha256, await digest(fd), subject)
  } finally {
    closeSync(fd)
  }
}

export function settleExpectNow(target: Slot, expect: Expect, subject: Subject): Expect {
  if (typeof expect !== 'object') return expect
  const { fd } = openTarget(target)
  try {
    return versionWith(expect.sha256, digestNow(fd), subject)
  } finally {
    closeSync(fd)
  }
}

const openTarget = ({ directory, name }: Slot): OpenedFile => directory.openRegular(name, constants.O_RDONLY)

function versionWith(sha256: string, found: VersionedContent, subject: Subject): FileVersion {
  if (found.sha256 === sha256) return found.version
  throw new FileError('FILE_CHANGED', subject, 'does not have the expected content')
}

const versionNow = (fd: number): FileVersion => versionOf(fstatSync(fd, { bigint: true }))

function same(before: FileVersion, fd: number, content: Content): VersionedContent {
  if (versionNow(fd) !== before) throw new Moved()
  return { ...content, version: before }
}
