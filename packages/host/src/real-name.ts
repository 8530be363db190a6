import { lstatSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { MOST_HOPS } from '@cordon/policy'
import { entryOf } from '@cordon/workspace'

/** How much is looked at for one call, in characters: the longer a name is, the longer the kernel takes to walk it, too. */
export class Looks {
  #left = MOST_CHARACTERS

  /** A look at what stands there. False: it is too much, and so is all after it. */
  take(name: string): boolean {
    return this.#spend(name.length + CHARACTERS_A_LOOK)
  }

  /** The comparison of a name with the patterns of secrets. */
  compare(name: string): boolean {
    return this.#spend(name.length * CHARACTERS_A_COMPARISON)
  }

  #spend(characters: number): boolean {
    this.#left -= characters
    return this.#left >= 0
  }
}

/** More than a hundred thousand ordinary names, a few thousand of the longest: some tenths of a second. */
const MOST_CHARACTERS = 16_000_000
const CHARACTERS_A_LOOK = 50
const CHARACTERS_A_COMPARISON = 8

/**
 * Where an absolute path really leads. Of what is not there: where it would be made, also through a link that leads to nothing.
 * `known` is a real directory, where a path below it begins. Undefined: that cannot be said, and whoever asks takes the worst.
 */
export function realName(path: string, looks: Looks = new Looks(), known = '/'): string | undefined {
  let at = known
  let absent = 0 // how many names of `at` are not there: below the first nothing is looked for
  let links = 0
  const todo = (known === '/' ? path : path.slice(known.length)).split('/').toReversed()
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      at = dirname(at)
      absent = Math.max(0, absent - 1)
      continue
    }
    const next = entryOf(at, part)
    if (absent === 0 && !looks.take(next)) return undefined
    const what = absent > 0 ? 'nothing' : standsAt(next, part)
    if (what === 'unknown') return undefined
    if (typeof what === 'string') {
      at = next
      absent += what === 'nothing' ? 1 : 0
      continue
    }
    if (++links > MOST_HOPS) return undefined
    if (what.leadsTo.startsWith('/')) at = '/'
    todo.push(...what.leadsTo.split('/').toReversed())
  }
  return at
}

type Standing = 'something' | 'nothing' | 'unknown' | { readonly leadsTo: string }

/** What this person may not look at is nothing for a tool of theirs either. */
function standsAt(path: string, name: string): Standing {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (!stats?.isSymbolicLink()) return stats ? 'something' : 'nothing'
    const leadsTo = readlinkSync(path)
    return leadsTo.includes(REPLACEMENT) ? 'unknown' : { leadsTo } // not UTF-8
  } catch (error) {
    // Nothing has a name that is too long by itself. A path that is too long may be reached from a directory on its way.
    const isLong = error instanceof Error && 'code' in error && error.code === 'ENAMETOOLONG'
    return isLong && Buffer.byteLength(name) <= LONGEST_NAME ? 'unknown' : 'nothing'
  }
}

const LONGEST_NAME = 255
const REPLACEMENT = '\ufffd'
