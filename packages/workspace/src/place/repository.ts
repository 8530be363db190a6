import { join } from 'node:path'
import { below, type CanonicalPath, lookAt } from '@cordon/policy'
import { upwards } from './find-root.ts'
import { strangerIn } from './owners.ts'
import { type Surroundings } from './surroundings.ts'
import { trailOf } from './trail.ts'

/**
 * SPEC, "Words": the git repositories around a directory that nobody marked, the nearest first. Never the home, nor what is
 * above it; never one that another user could write.
 */
export function repositoriesAround(dir: CanonicalPath, around: Surroundings): readonly CanonicalPath[] {
  const home = trailOf('/', around.home).at(-1)?.path ?? around.home
  const isAround = (path: string): boolean =>
    below(path, home) !== undefined || below(path, around.home) !== undefined
  return upwards(dir).filter((each) => !isAround(each) && isOwnRepository(each, around))
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
