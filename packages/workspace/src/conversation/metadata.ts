import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { type JsonObject } from '../resources/resource.ts'

/** `meta.json`: what a listing shows, so that it does not have to read events. */
export interface Metadata {
  readonly title?: string
  readonly archived_at?: string
  readonly forked_from?: string
}

export const metadataFile = (dir: string): string => join(dir, 'meta.json')

/** Missing, damaged or of another shape: nothing is known, and the conversation is listed without a title. */
export function readMetadata(dir: string): Metadata {
  const { title, archived_at, forked_from } = readStored(dir)
  return {
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof archived_at === 'string' ? { archived_at } : {}),
    ...(typeof forked_from === 'string' ? { forked_from } : {}),
  }
}

/** The caller holds the conversation's lock, or is making it. Undefined removes a field; unknown ones stay. */
export async function writeMetadata(
  dir: string,
  changes: { readonly [K in keyof Metadata]: Metadata[K] | undefined },
  mode: number,
): Promise<void> {
  replaceDurably(metadataFile(dir), `${JSON.stringify({ ...readStored(dir), ...changes })}\n`, { mode })
}

const LARGEST = 64 * 1024

/** Synchronous: a listing reads thousands, and a small file costs less than a trip through the thread pool. */
function readStored(dir: string): JsonObject {
  let fd: number | undefined
  try {
    fd = openSync(metadataFile(dir), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const { size } = fstatSync(fd)
    if (size > LARGEST) return {}
    const buffer = Buffer.alloc(size)
    const value: unknown = JSON.parse(buffer.toString('utf8', 0, readSync(fd, buffer)))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
  } catch {
    return {}
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
