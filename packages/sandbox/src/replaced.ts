import { closeSync, constants, fstatSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Item } from './linux/items.ts'
import { type Status } from './status.ts'

/** SPEC 4.8, `replace = true`: what became of a file that was copied in. */
export interface Replaced {
  readonly path: string
  /** What it holds now; undefined when that is not known. */
  readonly content: Buffer | undefined
  /** Why not: ENOENT where it was removed, ELOOP where a link is in its place. */
  readonly errno?: string
}

type ReplacedItem = Extract<Item, { tag: 'replaced' }>

/** The descriptors by which files go in and come out, from the first that the launcher does not use itself. */
export const FIRST_REPLACED_FD = 5

export interface Carriers {
  /** For `spawn`, from FIRST_REPLACED_FD on. */
  readonly stdio: readonly number[]
  readonly results: (statuses: readonly Status[], items: readonly Item[]) => readonly Replaced[]
  readonly close: () => void
}

/** One file without a name for each. In memory, because such files hold logins; where there is no such memory, on disk. */
export function openCarriers(
  items: readonly Item[],
  contents: ReadonlyMap<string, Uint8Array | undefined>,
): Carriers {
  const carried = items.filter((item): item is ReplacedItem => item.tag === 'replaced')
  const files: number[] = []
  const close = (): void => {
    for (const file of files.splice(0)) closeSync(file)
  }
  try {
    for (const { path } of carried) {
      const file = openNameless()
      files.push(file)
      const content = contents.get(path) ?? new Uint8Array()
      for (let at = 0; at < content.length;) at += writeSync(file, content, at, content.length - at, at)
    }
  } catch (error) {
    close()
    throw error
  }
  const results: Carriers['results'] = (statuses, told) =>
    statuses.flatMap((status): Replaced[] => {
      if (status.kind !== 'replaced') return []
      const item = told[status.item]
      const file = item?.tag === 'replaced' ? files[item.fd - FIRST_REPLACED_FD] : undefined
      if (item?.tag !== 'replaced' || file === undefined) return []
      if (status.errno !== undefined) return [{ path: item.path, content: undefined, errno: status.errno }]
      return [{ path: item.path, content: readAll(file) }]
    })
  return { stdio: [...files], results, close }
}

function readAll(file: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(file).size)
  for (let at = 0; at < bytes.length;) {
    const got = readSync(file, bytes, at, bytes.length - at, at)
    if (got === 0) return bytes.subarray(0, at)
    at += got
  }
  return bytes
}

const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY

function openNameless(): number {
  try {
    return openSync('/dev/shm', O_TMPFILE | constants.O_EXCL | constants.O_RDWR, 0o600)
  } catch {
    const path = join(tmpdir(), `cordon-${process.pid}-${Math.random().toString(36).slice(2)}`)
    const file = openSync(path, 'wx+', 0o600)
    rmSync(path)
    return file
  }
}
