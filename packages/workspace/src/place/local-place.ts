import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { type CanonicalPath } from '@cordon/policy'
import { listIfThere, makePrivateDirectory } from '../directories.ts'
import { base32, idOfPath, type WorkspaceId } from './identity.ts'
import { type Surroundings, userDataDir } from './surroundings.ts'

/** `workspace.json` in the user-local place: which directory it belongs to. */
export interface PlaceRecord {
  readonly root: string
  readonly id: string
  /** Tells a renamed directory from a copy of it; null where the filesystem keeps no birth time. */
  readonly birth: string | null
}

/** Where all that this user keeps of workspaces is. */
export const placesOf = (around: Omit<Surroundings, 'uid'>): string => join(userDataDir(around), 'workspace')

export const recordFile = (place: string): string => join(place, 'workspace.json')

export interface Occupant {
  readonly root: CanonicalPath
  readonly id: WorkspaceId
  readonly slug: string
}

/**
 * SPEC 6.1 `<data>/cordon/workspace/<slug>-<id>/`. The id travels with every clone and copy, and whoever wrote
 * the repository chose it; so it finds candidates and proves nothing (docs/decisions/0061). A place
 * belongs to the directory its record names, or to that directory under its new name. Any other directory with
 * the same id gets a place of its own, and with it no approvals.
 */
export function locatePlace(places: string, { root, id, slug }: Occupant): string {
  const records = candidates(places, id)
  const birth = birthOf(root)
  const own =
    records.find(({ record }) => record.root === root) ??
    records.find(({ record }) => record.id === id && record.birth !== null && record.birth === birth) ??
    recordedAt(places, root, birth)
  if (own) return own.dir
  const plain = join(places, `${slug}-${id}`)
  // A directory without a record was prepared by hand (SPEC 3.2: hand-editing pre-seeds), for this name.
  if (!existsSync(recordFile(plain))) return plain
  // Recorded since the list was read, by another command in this very directory.
  if (readRecord(plain)?.root === root) return plain
  return `${plain}.${base32(createHash('sha256').update(root).digest().subarray(0, 6))}`
}

/**
 * The place that was recorded for this very directory, whatever its id is now: `.cordon/id` may have been written by
 * something confined, which must not get rid of what the person keeps there (SPEC 2.1).
 */
function recordedAt(
  places: string,
  root: CanonicalPath,
  birth: string | null,
): { readonly dir: string } | undefined {
  const dir = readName(pathFile(places, root))
  const record = dir === undefined ? undefined : readRecord(join(places, dir))
  return record?.root === root && record.birth !== null && record.birth === birth
    ? { dir: join(places, dir!) }
    : undefined
}

/** Called under the lock of the list, with the record. */
export async function recordPath(
  places: string,
  { root, local }: { root: CanonicalPath; local: string },
): Promise<void> {
  const file = pathFile(places, root)
  makePrivateDirectory(dirname(file))
  replaceDurably(file, `${basename(local)}\n`, { mode: 0o600 })
}

/** Two paths with one name here only take the name from each other: the record decides. */
const pathFile = (places: string, root: CanonicalPath): string => join(places, '.paths', idOfPath(root))

function readName(file: string): string | undefined {
  try {
    const name = readFileSync(file, 'utf8').trimEnd()
    return name === basename(name) && name !== '..' ? name : undefined
  } catch {
    return undefined // never recorded
  }
}

export const recordOf = ({ root, id }: Occupant): PlaceRecord => ({ root, id, birth: birthOf(root) })

export function readRecord(place: string): PlaceRecord | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(recordFile(place), 'utf8'))
    return isRecord(value) ? value : undefined
  } catch {
    return undefined // missing or damaged: it then belongs to nobody we know
  }
}

function candidates(places: string, id: WorkspaceId): { dir: string; record: PlaceRecord }[] {
  const suffix = new RegExp(`-${id}(?:\\.[a-z0-9]+)?$`)
  return listIfThere(places)
    .filter((name) => suffix.test(name))
    .flatMap((name) => {
      const dir = join(places, name)
      const record = readRecord(dir)
      return record ? [{ dir, record }] : []
    })
}

/** Inode numbers are used again after a deletion, but not with the same nanosecond of birth. */
function birthOf(root: string): string | null {
  const { ino, birthtimeNs, ctimeNs } = statSync(root, { bigint: true })
  // Node reports the change time where there is no birth time; that one moves, so it identifies nothing.
  return birthtimeNs === 0n || birthtimeNs === ctimeNs ? null : `${ino}:${birthtimeNs}`
}

const isRecord = (value: unknown): value is PlaceRecord =>
  typeof value === 'object' &&
  value !== null &&
  'root' in value &&
  typeof value.root === 'string' &&
  'id' in value &&
  typeof value.id === 'string' &&
  'birth' in value &&
  (value.birth === null || typeof value.birth === 'string')
