import { lstatSync, renameSync } from 'node:fs'
import { type FsRule } from '@cordon/policy'
import { type WatchedPath } from './plan/types.ts'

/** Something at a path where a rule allows nothing to be made. */
export interface DeniedPath {
  readonly rule: FsRule
  readonly path: string
  /** Undefined when it could not be moved; `why` then says so. */
  readonly movedTo: string | undefined
  readonly why?: string
}

/**
 * SPEC 4.3: a path that did not exist could not be held by a mount, so after the process and all its children have
 * ended it is looked for, and what is there gets a name that no rule protects and no program expects.
 */
export const moveDeniedAside = (watched: readonly WatchedPath[]): readonly DeniedPath[] =>
  watched.flatMap(({ rule, base, path }) => (exists(base, path) ? [moveAside(rule, path)] : []))

/** Component by component: a link on the way leads elsewhere, and elsewhere is not what the rule speaks of. */
function exists(base: string, path: string): boolean {
  for (let end = path.indexOf('/', base.length + 1); end > 0; end = path.indexOf('/', end + 1))
    if (!lstatSync(path.slice(0, end), { throwIfNoEntry: false })?.isDirectory()) return false
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function moveAside(rule: FsRule, path: string): DeniedPath {
  for (let n = 1; ; n++) {
    const movedTo = `${path}.denied-by-cordon-${n}`
    if (lstatSync(movedTo, { throwIfNoEntry: false })) continue
    try {
      renameSync(path, movedTo)
      return { rule, path, movedTo }
    } catch (error) {
      return { rule, path, movedTo: undefined, why: String(error) }
    }
  }
}
