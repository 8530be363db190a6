import { join } from 'node:path'
import { below, type CanonicalPath } from '@cordon/policy'
import { upwards } from './find-root.ts'
import { strangerIn } from './owners.ts'
import { type Surroundings } from './surroundings.ts'
import { lookAt, trailOf } from './trail.ts'

/**
 * SPEC, "Words": the git repository around a directory that nobody marked. Of repositories inside each other the outermost:
 * an inner one may be the work of a command, which would take the next one away from where it was (docs/decisions/0222),
 * and a submodule does not work without the one around it. Never the home, nor what is above it; never one that another
 * user could write.
 */
export function repositoryAround(dir: CanonicalPath, around: Surroundings): CanonicalPath | undefined {
  const home = trailOf('/', around.home).at(-1)?.path ?? around.home
  const isAround = (path: string): boolean =>
    below(path, home) !== undefined || below(path, around.home) !== undefined
  return upwards(dir).findLast((each) => !isAround(each) && isOwnRepository(each, around))
}

function isOwnRepository(dir: CanonicalPath, around: Surroundings): boolean {
  const git = lookAt(join(dir, '.git'))
  if (!git || git.isSymbolicLink()) return false
  const stats = lookAt(dir)
  return [stats, git].every(
    (each) =>
      each !== undefined &&
      strangerIn(each, around) === undefined &&
      // What is root's belongs to the machine, unless it is root who works there.
      (each.uid !== 0 || around.uid === 0 || around.uid === undefined),
  )
}
