import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { MOST_HOPS } from '@cordon/policy'
import { entryOf } from '@cordon/workspace'

/**
 * How paths were found on the disk: every name on the way to each of them, from the root of this host on, and what stood
 * there: a directory, a file, a link and where it points, or nothing. While all of this is as it was, whoever follows
 * the same paths comes to the same places (decision 0252). Which directory stands there is not compared: `Sameness` does.
 */
export class Ways {
  readonly #names: ReadonlyMap<string, string>

  private constructor(names: ReadonlyMap<string, string>) {
    this.#names = names
  }

  /** Follows each path as the kernel would. What is missing is followed as far as something is there. */
  static follow(paths: Iterable<string>): Ways {
    const names = new Map<string, string>()
    for (const path of paths) follow(path, names)
    return new Ways(names)
  }

  /** Whether every name still stands for what it stood for. */
  areSame(): boolean {
    for (const [path, was] of this.#names) if (standsAt(path) !== was) return false
    return true
  }
}

function follow(path: string, names: Map<string, string>): void {
  let at = '/'
  let links = 0
  const todo = path.split('/').toReversed()
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      at = dirname(at)
      continue
    }
    const next = entryOf(at, part)
    const what = names.get(next) ?? standsAt(next)
    names.set(next, what)
    if (what.startsWith(LINK)) {
      if (++links > MOST_HOPS) return
      const target = what.slice(LINK.length)
      if (target.startsWith('/')) at = '/'
      todo.push(...target.split('/').toReversed())
    } else {
      if (what !== DIRECTORY) return
      at = next
    }
  }
}

const DIRECTORY = 'dir'
const LINK = 'link '

function standsAt(path: string): string {
  try {
    const stats: Stats | undefined = lstatSync(path, { throwIfNoEntry: false })
    if (!stats) return 'missing'
    if (stats.isDirectory()) return DIRECTORY
    return stats.isSymbolicLink() ? LINK + readlinkSync(path, 'latin1') : 'file'
  } catch (error) {
    return `cannot be looked at: ${error instanceof Error && 'code' in error ? String(error.code) : ''}`
  }
}
