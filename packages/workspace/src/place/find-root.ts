import { lstatSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type CanonicalPath } from '@cordon/policy'
import { reason } from '../durable.ts'
import { WorkspaceError } from './errors.ts'
import { type Surroundings } from './surroundings.ts'

/** What marks a workspace (SPEC, "Words"). */
export const MARKER = '.cordon'

/** The nearest directory upwards that is marked as a workspace. Undefined when there is none. */
export function findRoot(from: string, around: Surroundings): CanonicalPath | undefined {
  for (let dir = realDirectory(from); ; dir = dirname(dir) as CanonicalPath) {
    if (isMarked(dir, around)) return dir
    if (dir === dirname(dir)) return undefined
  }
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
  const stat = lstatSync(join(dir, MARKER), { throwIfNoEntry: false })
  if (!stat) return false
  if (stat.isSymbolicLink())
    throw new WorkspaceError(dir, `${MARKER} is a symbolic link; it must be a directory of its own`)
  if (!stat.isDirectory()) return false
  if (!isTrustedOwner(stat.uid, around))
    throw new WorkspaceError(
      dir,
      `${MARKER} belongs to the user with id ${stat.uid}, who could make your tools run anything; ` +
        `take it over with chown, or set CORDON_TRUST_UID=${stat.uid}`,
    )
  return true
}

/** Root could do anything anyway; under sudo the person is who called it; and one more can be named. */
function isTrustedOwner(owner: number, { uid, env }: Surroundings): boolean {
  if (uid === undefined || owner === uid || owner === 0) return true
  return (uid === 0 && env['SUDO_UID'] === String(owner)) || env['CORDON_TRUST_UID'] === String(owner)
}
