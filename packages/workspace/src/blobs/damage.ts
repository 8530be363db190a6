import {
  constants,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { errorCode } from '../small-files.ts'
import { type BlobRef } from '../resources/resource.ts'
import { refOf } from './compress.ts'

/** Beside a blob that a reader found damaged. It lets whoever has the content write it again. */
export const noteOf = (path: string): string => `${path}.damaged`

/** A note beside the blob. Where none can be written, there is none: such a store cannot be repaired either. */
export function markDamaged(path: string): void {
  try {
    writeFileSync(noteOf(path), '', { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (errorCode(error) === undefined) throw error
  }
}

/** Up to this size the content is looked at; of a larger blob only its end, and whether a reader left a note. */
const LOOKED_AT = 1024 * 1024

/**
 * Whether a blob that is there should be written again, asked when its content is at hand. Unpacking a large one would
 * cost more than hashing it did (decision 0171).
 */
export function isDamaged(path: string, ref: BlobRef): boolean {
  if (existsSync(noteOf(path))) return true
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
  try {
    const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      if (ref.size > LOOKED_AT) return !endsWell(fd, ref.size)
      return (
        refOf(gunzipSync(readFileSync(fd), { maxOutputLength: Math.max(ref.size, 1) })).$blob !== ref.$blob
      )
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return true
  }
}

/** The last four bytes of gzip are the size of the content, modulo 2^32. */
function endsWell(fd: number, size: number): boolean {
  const end = Buffer.alloc(4)
  const { size: packed } = fstatSync(fd)
  return packed > 4 && readSync(fd, end, 0, 4, packed - 4) === 4 && end.readUInt32LE() === size % 2 ** 32
}
