import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type CanonicalPath, CordonError, lookAt, show } from '@cordon/policy'
import { reason } from '../small-files.ts'
import { isTrustedUser } from './owners.ts'
import { type Surroundings } from './surroundings.ts'

/** What marks a workspace (SPEC, "Words"). */
export const MARKER = '.cordon'

/** A `.cordon` that must not be used as it is: a link, another user's, a broken id. */
export class WorkspaceError extends CordonError {
  readonly code = 'WORKSPACE'
  readonly path: string
  constructor(path: string, problem: string) {
    super(`cannot use the workspace at ${show(path)}: ${problem}`)
    this.path = path
  }
}

/** The directory that counts as the workspace, if one does, and marks on the way up that do not count. */
export interface FoundRoot {
  readonly root: CanonicalPath | undefined
  readonly passedOver: readonly CanonicalPath[]
}

/** Which marks count: those that this user made or used, or any, where somebody only looks at what is there. */
export type MarksThatCount = 'own' | 'any'

/**
 * The nearest directory upwards that is marked as a workspace. A confined command could have made the mark: inside another
 * workspace, to take the next command away from the rules around it; above a directory, to give it what lies around. So a
 * mark that this user has not made or used (`isOwn`) counts only for its own directory, and not inside another workspace
 * (SPEC 2.1, docs/decisions/0145, 0128).
 */
export function findRoot(
  from: string,
  around: Surroundings,
  { isOwn, count }: { isOwn: (root: CanonicalPath) => boolean; count: MarksThatCount },
): FoundRoot {
  const passedOver: CanonicalPath[] = []
  const start = realDirectory(from)
  for (const dir of upwards(start)) {
    if (passedOver.length === 0 ? !isMarked(dir, around) : !hasMark(dir, around)) continue
    if (isOwn(dir)) return { root: dir, passedOver }
    const isInner = upwards(dirname(dir) as CanonicalPath).some((above) => hasMark(above, around))
    if (!isInner && (dir === start || count === 'any')) return { root: dir, passedOver }
    passedOver.push(dir)
  }
  return { root: undefined, passedOver }
}

/** A directory, the one above it, and so on to the root. */
export function upwards(dir: CanonicalPath): CanonicalPath[] {
  const above = dirname(dir) as CanonicalPath
  return above === dir ? [dir] : [dir, ...upwards(above)]
}

/** The same as `isMarked`, where a mark that cannot be used is none: it is not the one that was looked for. */
export function hasMark(dir: string, around: Surroundings): boolean {
  const stat = lookAt(join(dir, MARKER))
  return stat !== undefined && stat.isDirectory() && isTrustedUser(stat.uid, around)
}

export function realDirectory(path: string): CanonicalPath {
  try {
    return realpathSync.native(path) as CanonicalPath
  } catch (error) {
    throw new WorkspaceError(path, reason(error))
  }
}

/**
 * A workspace's configuration names programs to run. So the marker must be a real directory here, not a link
 * that borrows another workspace's, and it must not be one that another user put above us, as in `/tmp`.
 */
export function isMarked(dir: string, around: Surroundings): boolean {
  const stat = lookAt(join(dir, MARKER))
  if (!stat) return false
  if (stat.isSymbolicLink())
    throw new WorkspaceError(dir, `${MARKER} is a symbolic link; it must be a directory of its own`)
  if (!stat.isDirectory()) return false
  if (!isTrustedUser(stat.uid, around))
    throw new WorkspaceError(
      dir,
      `${MARKER} belongs to the user with id ${stat.uid}, who could make your tools run anything; ` +
        `use a directory of your own${around.uid === 0 ? ', or take it over with chown' : ''}; ` + // only root can
        `if you trust that user with everything of yours: CORDON_TRUST_UID=${stat.uid}`,
    )
  return true
}
