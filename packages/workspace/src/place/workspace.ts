import { statSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type CanonicalPath, CordonError } from '@cordon/policy'
import { reason, syncDirectory, writeDurable } from '../durable.ts'
import { type Holder, withLock } from '../lock.ts'
import { WorkspaceError } from './errors.ts'
import { findRoot, isMarked, MARKER, realDirectory } from './find-root.ts'
import { idFile, randomId, readId, readIdFile, slugOf, type WorkspaceId } from './identity.ts'
import { locatePlace, type Occupant, readRecord, recordFile, recordOf } from './local-place.ts'
import { type Surroundings, userDataDir } from './surroundings.ts'

export interface Workspace {
  readonly root: CanonicalPath
  readonly id: WorkspaceId
  readonly slug: string
  /** `<root>/.cordon`: shared with whoever shares the directory. */
  readonly shared: string
  /** This user's own place for this directory (SPEC 6.1). May not exist yet; see `prepareLocal`. */
  readonly local: string
  readonly home: string
}

/** The workspace around a directory, or undefined. Writes nothing. */
export function openWorkspace(from: string, around: Surroundings): Workspace | undefined {
  const root = findRoot(from, around)
  return root === undefined ? undefined : describeWorkspace(root, around)
}

/** Marks `dir` and gives it an id. Does nothing to a workspace that has one already. */
export async function initWorkspace(dir: string, around: Surroundings, holder: Holder): Promise<Workspace> {
  const root = realDirectory(dir)
  const places = placesOf(around)
  try {
    if (!isMarked(root, around)) await mkdir(join(root, MARKER), { recursive: true })
    await mkdir(places, { recursive: true, mode: 0o700 })
    // Two `cordon init` at once agree on one id.
    await withLock(listLock(places), { ...LIST_LOCK, holder }, () => writeIdOnce(root))
  } catch (error) {
    throw error instanceof CordonError ? error : new WorkspaceError(root, reason(error))
  }
  return describeWorkspace(root, around)
}

/** Where a workspace's lock lives. One name, one file, for every process of this user. */
export const lockFile = (workspace: Pick<Workspace, 'local'>, name: string): string =>
  join(workspace.local, 'locks', `${name}.lock`)

/**
 * Makes the user-local place (mode 0700) and records whose it is. Called before anything is kept there; quick
 * when it was done before.
 */
export async function prepareLocal(workspace: Workspace, holder: Holder): Promise<void> {
  if (isPrepared(workspace)) return
  const places = join(workspace.local, '..')
  await mkdir(places, { recursive: true, mode: 0o700 })
  await withLock(listLock(places), { ...LIST_LOCK, holder }, async () => {
    // Another checkout with the same id may have come first since this one looked.
    if (locatePlace(places, workspace) !== workspace.local)
      throw new WorkspaceError(workspace.root, 'its user-local place was taken a moment ago; run this again')
    for (const dir of [workspace.local, ...PARTS.map((part) => join(workspace.local, part))])
      await mkdir(dir, { recursive: true, mode: 0o700 })
    await chmod(workspace.local, 0o700) // it may have been made by hand
    await writeDurable(recordFile(workspace.local), `${JSON.stringify(recordOf(workspace))}\n`, 0o600)
    await syncDirectory(places)
  })
}

const LIST_LOCK = { what: 'the list of workspaces', wait: 10_000 }
const listLock = (places: string): string => join(places, '.lock')
const placesOf = (around: Surroundings): string => join(userDataDir(around), 'workspace')

const PARTS = ['locks', 'sessions']

function isPrepared(workspace: Workspace): boolean {
  const stat = statSync(join(workspace.local, 'locks'), { throwIfNoEntry: false })
  return stat !== undefined && isDeepStrictEqual(readRecord(workspace.local), recordOf(workspace))
}

/** A directory that nobody marked, used as a workspace all the same: its place is found by its path. */
export const unmarkedWorkspace = (dir: string, around: Surroundings): Workspace =>
  describeWorkspace(realDirectory(dir), around)

function describeWorkspace(root: CanonicalPath, around: Surroundings): Workspace {
  const occupant: Occupant = { root, id: readId(root), slug: slugOf(root) }
  const places = placesOf(around)
  const shared = join(root, MARKER)
  return { ...occupant, shared, local: locatePlace(places, occupant), home: around.home }
}

/** A broken id is renewed, as its error message says. */
async function writeIdOnce(root: CanonicalPath): Promise<void> {
  try {
    if (readIdFile(root) !== undefined) return
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error
  }
  await writeDurable(idFile(root), `${randomId()}\n`, 0o644)
}
