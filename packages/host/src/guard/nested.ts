import { type Dirent, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isGitDirectory } from './git.ts'
import { OWN_NAMES, RUN_LATER } from './names.ts'
import { below, ClosedError, lookAt, refuseClosed } from '@cordon/policy'
import { realDirectory } from './read.ts'

/** What people work on below one place, each in a directory of its own (decision 0475). */
export interface Nested {
  /** Directories that git takes for a repository. */
  readonly repositories: readonly string[]
  /** Guarded names that are there, in these and in other directories. */
  readonly names: readonly NestedName[]
  /** Directories of which nobody knows what is in them: they are closed to their owner (decision 0510). */
  readonly closed: readonly string[]
  /** Whether there are more directories than are looked at. */
  readonly isTooLarge: boolean
  /** Whether there are directories whose names are not valid UTF-8: no rule can be for them. */
  readonly hasUnnameable: boolean
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
export function lookBelow(
  place: string,
  passedOver: ReadonlySet<string>,
  known: readonly string[] = [],
): Nested {
  const look = new Look(place, passedOver)
  look.at(known)
  let inside = look.through([place])
  while (inside.length > 0 && !look.isSpent) inside = look.through(inside)
  const { repositories, names, closed, isTooLarge, hasUnnameable } = look
  return { repositories, names, closed, isTooLarge, hasUnnameable }
}

const MOST_DIRECTORIES = 20_000
const MOST_ENTRIES = 400_000

class Look {
  readonly repositories: string[] = []
  readonly names: NestedName[] = []
  readonly closed: string[] = []
  hasUnnameable = false
  readonly #place: string
  readonly #passedOver: ReadonlySet<string>
  readonly #seen = new Set<string>()
  #isOneTooLarge = false
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

  /** The same, or one of them has too many entries. */
  get isTooLarge(): boolean {
    return this.isSpent || this.#isOneTooLarge
  }

  /** Down to repositories, what is near first. Returns the directories in those repositories. */
  through(dirs: readonly string[]): readonly string[] {
    const inside: string[] = []
    let level = dirs
    while (level.length > 0 && !this.isSpent)
      level = level.flatMap((dir) => {
        const { inner, isRepository } = this.#at(dir)
        if (!isRepository) return inner
        inside.push(...inner)
        return []
      })
    return inside
  }

  /**
   * What was seen here before, first of all: a command may have filled the place since, in order that it is not reached. Where a
   * link is on the way now, it leads to something else.
   */
  at(known: readonly string[]): void {
    for (const dir of known)
      if (below(this.#place, dir) !== undefined && realDirectory(dir) === dir) this.#at(dir)
  }

  #at(dir: string): { readonly inner: readonly string[]; readonly isRepository: boolean } {
    if (--this.#directoriesLeft < 0 || this.#entriesLeft < 0) return { inner: [], isRepository: false }
    const entries = this.#entriesIn(dir)
    if (!entries) {
      this.#isOneTooLarge = true // and costs the others nothing
      return { inner: [], isRepository: false }
    }
    this.#entriesLeft -= entries.length
    const has = (name: string): boolean => entries.some((entry) => entry.name === name)
    const isRepository = has('.git') || (['HEAD', 'config', 'objects'].some(has) && isGitDirectory(dir))
    if (dir !== this.#place && !this.#seen.has(dir)) {
      this.#seen.add(dir)
      if (isRepository) this.repositories.push(dir)
      for (const entry of entries)
        for (const name of OBEYED.get(entry.name) ?? []) this.names.push({ dir, name })
    }
    const directories = entries.filter((entry) => entry.isDirectory())
    if (directories.some(({ name }) => name.includes('\ufffd'))) this.hasUnnameable = true
    const inner = directories
      .filter(({ name }) => !PASSED_OVER.has(name) && !name.includes('\ufffd'))
      .map((entry) => join(dir, entry.name))
      .filter((path) => !this.#passedOver.has(path))
    // Nobody works among git's own objects, and there may be 256 directories of them.
    return {
      inner:
        basename(dir) === 'objects' && isGitDirectory(dirname(dir)) ? inner.filter(isNotOfObjects) : inner,
      isRepository,
    }
  }

  /**
   * Undefined where there are too many to read them all, as its size tells before. At once: what opens a directory entry by
   * entry is a module of Node more, at every start (decision 0390).
   */
  #entriesIn(dir: string): readonly Dirent[] | undefined {
    try {
      const stats = lookAt(`${dir}/.`) // a directory that may be listed and not entered is closed, too
      if (!stats?.isDirectory()) return []
      return stats.size > LARGEST ? undefined : entriesIn(dir)
    } catch (error) {
      if (!(error instanceof ClosedError)) throw error
      this.closed.push(error.closed)
      return []
    }
  }
}

/** What another user keeps us from listing has no entries: what we start is kept out as well. */
export function entriesIn(dir: string): readonly Dirent[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
  } catch (error) {
    refuseClosed(dir, error)
    return []
  }
}

const isNotOfObjects = (path: string): boolean => !/^(?:[0-9a-f]{2}|pack|info)$/.test(basename(path))

/** Of a directory with about half a million names. */
const LARGEST = 16 * 1024 * 1024

/** Guarded names by the first part of each: what a directory's own entries tell. */
const OBEYED = Map.groupBy([...OWN_NAMES, ...RUN_LATER], (name) => name.split('/', 1)[0]!)

/** Git's own files and what is guarded as a whole; and dependencies: nobody works there, and most directories are theirs. */
const PASSED_OVER: ReadonlySet<string> = new Set(['.git', 'node_modules', ...OWN_NAMES, ...RUN_LATER])
