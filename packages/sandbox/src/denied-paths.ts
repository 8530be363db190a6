import { closeSync, lstatSync } from 'node:fs'
import { ChangedError, moveAside } from './aside.ts'
import { heldPath, holdAmbientDirectory, holdBelow, isNowhere, reaching } from './held-directory.ts'
import { clearGitState } from './git-state.ts'
import { directoryOf } from './plan/paths.ts'
import { type WatchedPath } from './plan/types.ts'
import { mayHoldNew, stateOnTheWay } from './unchanged.ts'

/** Something at a path where a rule allows nothing to be made (decision 0042). */
export interface DeniedPath {
  readonly path: string
  /** Undefined when it could not be moved, and `why` then says so; or when it was a link that was removed. */
  readonly movedTo: string | undefined
  readonly why?: string
  /** Where the link led that was removed: that is all there was of it. */
  readonly linkTo?: string
  /** It is a git directory, and not all of it was looked at: `why` says what keeps us from it. */
  readonly isUnsearched?: true
}

/** A rule is broken, and nobody has mended it. */
export const isStillThere = ({ movedTo, linkTo }: DeniedPath): boolean =>
  movedTo === undefined && linkTo === undefined

/** What came into being at paths that were not there. */
export interface NewPaths {
  readonly createdDenied: readonly DeniedPath[]
  /** SPEC 4.10: what was made, so that guarded paths are new, each once. It stays, and is told. */
  readonly appeared: readonly string[]
}

/**
 * SPEC 4.3 and 4.10: a path that did not exist could not be held by a mount, so after the process and all its children
 * have ended it is looked for. What a rule denies gets a name that no rule protects and no program expects. `since` is when
 * the process was started, in milliseconds, and `seenAt` when these paths were seen to be missing (0: nobody knows).
 */
export function lookForNew(watched: readonly WatchedPath[], since: number, seenAt = 0): NewPaths {
  const createdDenied: DeniedPath[] = []
  const appeared = new Set<string>() // a link that was made is found once for every path below it
  const mayHold = mayHoldNew(seenAt)
  for (const each of watched) {
    if (each.guard === 'no-links') {
      const { cleared, linked } = clearGitState(each, since)
      createdDenied.push(...cleared)
      for (const path of linked) appeared.add(path)
      continue
    }
    if (!mayHold(directoryOf(each.path), each.base) || !isThere(each.path)) continue // nearly always; what can be reached through a link is there
    if (each.was !== undefined && each.was === stateOnTheWay(each)) continue // the run that made it tells it, or moves it aside
    const found = lookPatiently(each)
    if (typeof found === 'string') appeared.add(found)
    else if (found) createdDenied.push(found)
  }
  return { createdDenied, appeared: [...appeared] }
}

/** A tree that changes under our eyes is looked at again, but not for ever. */
function lookPatiently(watched: WatchedPath): ReturnType<typeof lookAt> {
  for (let tries = 1; ; tries++)
    try {
      return lookAt(watched)
    } catch (error) {
      if (!(error instanceof ChangedError)) throw error
      if (tries === MOST_TRIES)
        return { path: watched.path, movedTo: undefined, why: 'it is being changed all the time' }
    }
}

const MOST_TRIES = 100

/**
 * Component by component, and each step in the directory that was held, also when another run in the same workspace
 * puts a link there just now. No path that is watched has a link on it, so one that is there is new: when the path can
 * be reached through it, the link is what was made.
 */
function lookAt({ base, path, guard }: WatchedPath): DeniedPath | string | undefined {
  const names = path.slice(base.length + 1).split('/')
  let dir: number | undefined
  let at = base
  try {
    dir = holdAmbientDirectory(base)
    for (const [i, name] of names.entries()) {
      const here: number = dir
      const held = heldPath(here)
      const stats = reaching(here, () => lstatSync(`${held}/${name}`, { throwIfNoEntry: false }))
      const rest = names.slice(i + 1)
      if (!stats) return undefined
      at = `${at}/${name}`
      if (rest.length === 0 || (stats.isSymbolicLink() && isThere(`${held}/${name}/${rest.join('/')}`)))
        return guard === 'told' ? at : reaching(here, () => moveAside(held, name, at, stats))
      const next: number = reaching(here, () => holdBelow(here, name))
      closeSync(here)
      dir = next
    }
    return undefined
  } catch (error) {
    if (error instanceof ChangedError) throw error
    if (isNowhere(path, error)) return undefined
    const why = (error as NodeJS.ErrnoException).code ?? String(error)
    return guard === 'told' ? at : { path, movedTo: undefined, why }
  } finally {
    if (dir !== undefined) closeSync(dir)
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    return !isNowhere(path, error)
  }
}
