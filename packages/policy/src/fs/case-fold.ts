import { lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * One form for all spellings that a case-insensitive filesystem takes for the same name. Upper before
 * lower so that `ß`, `ẞ` and `ss` agree; NFD because such filesystems ignore normalisation too (decision 0022).
 */
export const fold = (text: string): string =>
  isAscii(text) ? text.toLowerCase() : text.normalize('NFD').toUpperCase().toLowerCase().normalize('NFD')

/** Most paths: there the one step is all of them. */
const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/**
 * SPEC 1.3: detected on the root, by asking for one of its entries in the other case. The entry is the
 * same file when the filesystem ignores case. An empty root is judged by its own name.
 */
export function ignoresCase(root: string): boolean {
  const known = sameFile(join(root, '.cordon'), join(root, '.CORDON'))
  if (known !== undefined) return known
  for (const name of entryNames(root)) {
    const answer = sameFile(join(root, name), join(root, swapCase(name)))
    if (name !== swapCase(name) && answer !== undefined) return answer
  }
  const own = basename(root)
  return own !== swapCase(own) && sameFile(root, join(dirname(root), swapCase(own))) === true
}

const swapCase = (text: string): string =>
  text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase()

/**
 * Undefined when nothing was learned: the first one does not exist, one cannot be looked at (a name in
 * the other case may be too long), or they are hard links, which anybody can make of two spellings.
 */
export function sameFile(path: string, other: string): boolean | undefined {
  try {
    const a = lstatSync(path, { throwIfNoEntry: false, bigint: true })
    if (!a) return undefined
    const b = lstatSync(other, { throwIfNoEntry: false, bigint: true })
    if (b === undefined || a.ino !== b.ino || a.dev !== b.dev) return false
    return a.isDirectory() || a.nlink === 1n ? true : undefined
  } catch {
    return undefined
  }
}

/** Few are enough, and a root that cannot be listed is judged by its own name. */
function entryNames(root: string): string[] {
  try {
    return readdirSync(root).slice(0, 16)
  } catch {
    return []
  }
}
