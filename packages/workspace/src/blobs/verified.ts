import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { reason } from '../small-files.ts'
import { type BlobRef } from '../resources/resource.ts'
import { BlobReadError } from './errors.ts'

/**
 * SPEC 6.2: verified on read. What it is shows only at the end, so a caller that acts on the beginning of a large
 * one must be able to take that back. It never grows beyond the size in the reference, whatever the file unpacks to.
 */
export const openVerified = (path: string, ref: BlobRef, onDamage: () => void): Readable =>
  Readable.from(verified(path, ref, onDamage), { objectMode: false })

/** For content that is used as a whole. Returns only what was verified. */
export async function readVerified(
  path: string,
  ref: BlobRef,
  limit: number,
  onDamage: () => void,
): Promise<Buffer> {
  if (ref.size > limit) throw new BlobReadError(ref.$blob, `it is larger than ${limit} bytes`)
  const chunks: Buffer[] = []
  for await (const chunk of verified(path, ref, onDamage)) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function* verified(path: string, ref: BlobRef, onDamage: () => void): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of unpacked(path, ref, onDamage)) {
    size += chunk.length
    if (size > ref.size) break
    hash.update(chunk)
    yield chunk
  }
  if (size === ref.size && hash.digest('hex') === ref.$blob) return
  onDamage()
  throw new BlobReadError(ref.$blob, DAMAGED)
}

async function* unpacked(path: string, ref: BlobRef, onDamage: () => void): AsyncGenerator<Buffer> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
  // Node takes the number; its types only know the names.
  const flags = (O_RDONLY | O_NOFOLLOW | O_NONBLOCK) as unknown as string
  const gunzip = createGunzip({ chunkSize: 256 * 1024 })
  // What goes wrong in the file is also what the loop below throws.
  pipeline(createReadStream(path, { flags }), gunzip).catch(() => undefined)
  try {
    for await (const chunk of gunzip) yield chunk as Buffer
  } catch (error) {
    if (isBroken(error)) onDamage()
    throw new BlobReadError(ref.$blob, isBroken(error) ? DAMAGED : reason(error))
  }
}

const DAMAGED = 'its content is not what its name says; the file is damaged'

const isBroken = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
