import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isGitDirectory } from './git.ts'
import { OWN_NAMES, RUN_LATER } from './names.ts'
import { lookAt } from '@cordon/workspace'

/** What people work on below one place, each in a directory of its own (decision 0475). */
export interface Nested {
  /** Directories that git takes for a repository. */
  readonly repositories: readonly string[]
  /** Guarded names that are there, in these and in other directories. */
  readonly names: readonly NestedName[]
  /** What of the place was not looked at: directories deep in repositories, or also some that lie in none. */
  readonly unseen: 'nothing' | 'inside repositories' | 'beside repositories'
}

interface NestedName {
  readonly dir: string
  readonly name: string
}

/**
 * Looks below a place for what the host would obey there, and follows no link: where one leads is granted by itself, or not
 * at all. What lies in no repository comes first: repositories side by side are what a place is granted with by mistake,
 * and the files of one of them could use up all looks.
 */
export function lookBelow(place: string, passedOver: ReadonlySet<string>): Nested {
  const look = new Look(place, passedOver)
  let inside = look.through([place])
  let unseen: Nested['unseen'] = look.isSpent ? 'beside repositories' : 'nothing'
  while (inside.length > 0 && !look.isSpent) {
    inside = look.through(inside)
    if (look.isSpent) unseen = 'inside repositories'
  }
  return { repositories: look.repositories, names: look.names, unseen }
}

const MOST_DIRECTORIES = 5000
const MOST_ENTRIES = 200_000

class Look {
  readonly repositories: string[] = []
  readonly names: NestedName[] = []
  readonly #place: string
  readonly #passedOver: ReadonlySet<string>
  #directoriesLeft = MOST_DIRECTORIES
  #entriesLeft = MOST_ENTRIES

  constructor(place: string, passedOver: ReadonlySet<string>) {
    this.#place = place
    this.#passedOver = passedOver
  }

  /** Some directories were not looked at. */
  get isSpent(): boolean {
    return this.#directoriesLeft < 0 || this.#entriesLeft < 0
  }

  /** Down to repositories, what is near first. Returns the directories in those repositories. */
  through(dirs: readonly string[]): readonly string[] {
    const inside: string[] = []
    let level = dirs
    while (level.length > 0 && !this.isSpent)
      level = level.flatMap((dir) => {
        const { below, isRepository } = this.#at(dir)
        if (!isRepository) return below
        inside.push(...below)
        return []
      })
    return inside
  }

  #at(dir: string): { readonly below: readonly string[]; readonly isRepository: boolean } {
    if (--this.#directoriesLeft < 0 || this.#entriesLeft < 0) return { below: [], isRepository: false }
    const entries = entriesIn(dir)
    this.#entriesLeft -= entries?.length ?? Infinity
    if (!entries) return { below: [], isRepository: false }
    const has = (name: string): boolean => entries.some((entry) => entry.name === name)
    const isBare = has('HEAD') && isGitDirectory(dir)
    const isRepository = isBare || has('.git')
    if (dir !== this.#place) {
      if (isRepository) this.repositories.push(dir)
      for (const entry of entries)
        for (const name of OBEYED.get(entry.name) ?? []) this.names.push({ dir, name })
    }
    const below = entries
      .filter((entry) => entry.isDirectory() && !PASSED_OVER.has(entry.name))
      .map((entry) => join(dir, entry.name))
      .filter((path) => !this.#passedOver.has(path))
    return { below: isBare ? [] : below, isRepository }
  }
}

/**
 * Undefined where there are too many to read them all, as its size tells before. At once: what opens a directory entry by entry
 * is a module of Node more, at every start (decision 0390).
 */
function entriesIn(dir: string): readonly Dirent[] | undefined {
  const stats = lookAt(dir)
  if (!stats?.isDirectory()) return []
  if (stats.size > LARGEST) return undefined
  try {
    return readdirSync(dir, { withFileTypes: true })
  } catch {
    return [] // not for us
  }
}

/** Of a directory with about half a million names. */
const LARGEST = 16 * 1024 * 1024

/** Guarded names by the first part of each: what a directory's own entries tell. */
const OBEYED = Map.groupBy([...OWN_NAMES, ...RUN_LATER], (name) => name.split('/', 1)[0]!)

/** Git's own files and what is guarded as a whole; and dependencies: nobody works there, and most directories are theirs. */
const PASSED_OVER: ReadonlySet<string> = new Set(['.git', 'node_modules', ...OWN_NAMES, ...RUN_LATER])
