import { closeSync, constants, lstatSync, openSync, renameSync } from 'node:fs'
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
  watched.flatMap(({ rule, base, path }) => moveAside(rule, base, path) ?? [])

/**
 * Component by component, and the last step in the directory that was held: a link on the way leads elsewhere, and
 * elsewhere is not what the rule speaks of, also when another run in the same workspace makes it one just now.
 */
function moveAside(rule: FsRule, base: string, path: string): DeniedPath | undefined {
  const names = path.slice(base.length + 1).split('/')
  const name = names.pop()!
  let dir: number | undefined
  try {
    dir = openSync(base, DIRECTORY)
    for (const each of names) {
      const next = openSync(`/proc/self/fd/${dir}/${each}`, DIRECTORY)
      closeSync(dir)
      dir = next
    }
    return rename(rule, path, `/proc/self/fd/${dir}`, name)
  } catch (error) {
    if (GONE.has((error as NodeJS.ErrnoException).code)) return undefined
    return { rule, path, movedTo: undefined, why: String(error) }
  } finally {
    if (dir !== undefined) closeSync(dir)
  }
}

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const GONE = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'ELOOP'])

function rename(rule: FsRule, path: string, dir: string, name: string): DeniedPath | undefined {
  if (!lstatSync(`${dir}/${name}`, { throwIfNoEntry: false })) return undefined
  for (let n = 1; ; n++) {
    const aside = `${name}.denied-by-cordon-${n}`
    if (lstatSync(`${dir}/${aside}`, { throwIfNoEntry: false })) continue
    renameSync(`${dir}/${name}`, `${dir}/${aside}`)
    return { rule, path, movedTo: path.slice(0, -name.length) + aside }
  }
}
