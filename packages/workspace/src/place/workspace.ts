import { existsSync, statSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { replaceDurably, syncDirectory } from '@cordon/files'
import { type CanonicalPath, CordonError } from '@cordon/policy'
import { listIfThere, makePrivateDirectory } from '../directories.ts'
import { reason } from '../small-files.ts'
import { type LockHolder, withLock } from '../lock.ts'
import {
  findRoot,
  isMarked,
  MARKER,
  type MarksThatCount,
  realDirectory,
  WorkspaceError,
} from './find-root.ts'
import { refuseLedOut } from './led-out.ts'
import { idFile, randomId, readId, readIdFile, slugOf, type WorkspaceId } from './identity.ts'
import {
  locatePlace,
  type Occupant,
  placesOf,
  readRecord,
  recordFile,
  recordOf,
  recordPath,
} from './local-place.ts'
import { type Surroundings } from './surroundings.ts'

export interface Workspace {
  readonly root: CanonicalPath
  readonly id: WorkspaceId
  readonly slug: string
  /** `<root>/.cordon`: shared with whoever shares the directory. */
  readonly shared: string
  /** This user's own place for this directory (SPEC 6.1). May not exist yet; see `prepareLocal`. */
  readonly local: string
  /**
   * Where runs that have not ended are written down, those of all workspaces: what a command may not make can lie outside
   * its own, where another one would obey it.
   */
  readonly unfinished: string
  readonly home: string
  /** Marks around here that do not count, because this user did not make or use them. */
  readonly passedOver: readonly CanonicalPath[]
}

/** The workspace around a directory, or undefined. Writes nothing. Throws when a link led the person there. */
export function openWorkspace(
  from: string,
  around: Surroundings,
  count: MarksThatCount = 'own',
): Workspace | undefined {
  const known = new Map<CanonicalPath, Workspace>()
  const isOwn = (root: CanonicalPath): boolean => {
    const workspace = known.get(root) ?? recordedWorkspace(root, around)
    if (workspace) known.set(root, workspace)
    return workspace !== undefined
  }
  refuseLedOut(realDirectory(from), around, isOwn)
  const { root, passedOver } = findRoot(from, around, { isOwn, count })
  return root && { ...(known.get(root) ?? describeWorkspace(root, around)), passedOver }
}

/** The directory as a workspace, if this user has used it as one before. */
function recordedWorkspace(root: CanonicalPath, around: Surroundings): Workspace | undefined {
  try {
    const workspace = describeWorkspace(root, around)
    return readRecord(workspace.local)?.root === root ? workspace : undefined
  } catch (error) {
    if (error instanceof WorkspaceError) return undefined
    throw error
  }
}

const isRecorded = (root: CanonicalPath, around: Surroundings): boolean =>
  recordedWorkspace(root, around) !== undefined

/** Marks `dir` and gives it an id. Does nothing to a workspace that has one already. */
export async function initWorkspace(
  dir: string,
  around: Surroundings,
  holder: LockHolder,
): Promise<Workspace> {
  const root = realDirectory(dir)
  refuseLedOut(root, around, (known) => isRecorded(known, around))
  const places = placesOf(around)
  try {
    if (!isMarked(root, around)) await mkdir(join(root, MARKER), { recursive: true })
    makePrivateDirectory(places)
    // Two `cordon init` at once agree on one id.
    await withLock(listLock(places), { ...LIST_LOCK, holder }, () => writeIdOnce(root))
  } catch (error) {
    throw error instanceof CordonError ? error : new WorkspaceError(root, reason(error))
  }
  const made = describeWorkspace(root, around)
  await prepareLocal(made, holder) // what makes it count: for what is below it, and inside another workspace
  return made
}

/** Where a workspace's lock lives. One name, one file, for every process of this user. */
export const lockFile = (workspace: Pick<Workspace, 'local'>, name: string): string =>
  join(workspace.local, 'locks', `${name}.lock`)

/**
 * Makes the user-local place (mode 0700) and records whose it is. Called before anything is kept there; quick
 * when it was done before.
 */
export async function prepareLocal(workspace: Workspace, holder: LockHolder): Promise<void> {
  if (isPrepared(workspace)) return
  const places = join(workspace.local, '..')
  makePrivateDirectory(places)
  await withLock(listLock(places), { ...LIST_LOCK, holder }, async () => {
    // Another checkout with the same id may have come first since this one looked.
    if (locatePlace(places, workspace) !== workspace.local)
      throw new WorkspaceError(workspace.root, 'its user-local place was taken a moment ago; run this again')
    for (const dir of [workspace.local, ...PARTS.map((part) => join(workspace.local, part))])
      makePrivateDirectory(dir)
    await chmod(workspace.local, 0o700) // it may have been made by hand
    replaceDurably(recordFile(workspace.local), `${JSON.stringify(recordOf(workspace))}\n`, { mode: 0o600 })
    await recordPath(places, workspace)
    syncDirectory(places)
  })
}

/** The directories for which this user keeps something, as their records name them, and where it is kept. */
export const recordedPlaces = (
  around: Surroundings,
): readonly { readonly root: string; readonly local: string }[] =>
  listIfThere(placesOf(around)).flatMap((name) => {
    const local = join(placesOf(around), name)
    const record = readRecord(local)
    return record ? [{ root: record.root, local }] : []
  })

const LIST_LOCK = { what: 'the list of workspaces', wait: 10_000 }
const listLock = (places: string): string => join(places, '.lock')

const PARTS = ['locks', 'sessions']

function isPrepared(workspace: Workspace): boolean {
  const stat = statSync(join(workspace.local, 'locks'), { throwIfNoEntry: false })
  return stat !== undefined && isDeepStrictEqual(readRecord(workspace.local), recordOf(workspace))
}

/** A directory that nobody marked, used as a workspace all the same: its place is found by its path. */
export function unmarkedWorkspace(dir: string, around: Surroundings): Workspace {
  const root = realDirectory(dir)
  return { ...describeWorkspace(root, around), passedOver: marksThatDoNotCount(root, around) }
}

/** Whether this user keeps something of their own for a directory: a record, approvals or a configuration. */
export function isKept(dir: CanonicalPath, around: Surroundings): boolean {
  try {
    const { local } = describeWorkspace(dir, around)
    return KEPT.some((name) => existsSync(join(local, name)))
  } catch (error) {
    if (error instanceof WorkspaceError) return false
    throw error
  }
}

const KEPT = ['workspace.json', 'approvals.json', 'config.toml']

/** Of a directory without a workspace: the marks above it. */
export const marksThatDoNotCount = (dir: string, around: Surroundings): readonly CanonicalPath[] =>
  findRoot(dir, around, { isOwn: (root) => isRecorded(root, around), count: 'own' }).passedOver

function describeWorkspace(root: CanonicalPath, around: Surroundings): Workspace {
  const occupant: Occupant = { root, id: readId(root), slug: slugOf(root) }
  const places = placesOf(around)
  const shared = join(root, MARKER)
  const local = locatePlace(places, occupant)
  const unfinished = join(places, '.unfinished')
  return { ...occupant, shared, local, unfinished, home: around.home, passedOver: [] }
}

/** A broken id is renewed, as its error message says. */
async function writeIdOnce(root: CanonicalPath): Promise<void> {
  try {
    if (readIdFile(root) !== undefined) return
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error
  }
  replaceDurably(idFile(root), `${randomId()}\n`, { mode: 0o644 })
}
