import { join } from 'node:path'
import { below, type Guard } from '@cordon/policy'
import { type Step, trailOf } from '@cordon/workspace'
import type { SeenIndex } from './git-indexes.ts'
import { entriesOf } from './read.ts'

/** One path that confined processes must not change (SPEC 4.10). Absolute; no parent of it is a link. */
export interface GuardedPath {
  readonly path: string
  readonly guard: Guard
  /** Not guarded, though the directory around it is: here the rules grant what they granted without the guard. */
  readonly open?: true
  /** Nobody knows what is in it (decision 0510): a rule that names it does not override that. */
  readonly closed?: true
}

/** Something that was not looked at, so that what it names, or holds, may not be guarded. */
export interface BlindSpot {
  readonly path: string
  /** Goes on after the path: `is longer than 1 MiB, so …`. */
  readonly why: string
}

/** Past so many paths nothing more is looked at: what is around the rest is guarded as a whole, or told as a blind spot. */
const MOST = 4000

/** Cordon's own mark: no command has a reason to make one. */
const PINNED = '.cordon'

/** So many entries of a guarded directory are looked at for links. */
const MOST_ENTRIES = 2000

/** Than which others a guard is stricter, or as strict. */
const STRICTER: Readonly<Record<Guard, ReadonlySet<Guard>>> = {
  told: new Set(),
  'moved-aside': new Set(['told', 'moved-aside']),
  'no-links': new Set(['told', 'moved-aside', 'no-links']),
}

/** Guarded paths while they are looked for, each once. */
export class Collection {
  readonly #found = new Map<string, GuardedPath>()
  readonly #indexes: SeenIndex[] = []
  readonly #blind = new Map<string, BlindSpot>()
  readonly #closed = new Set<string>()
  readonly #searched = new Set<string>()
  readonly #absent = new Set<string>()
  #entriesLeft = MOST_ENTRIES

  get paths(): readonly GuardedPath[] {
    return [...this.#found.values()]
  }

  get blindSpots(): readonly BlindSpot[] {
    const [path, ...more] = this.#closed
    if (path === undefined) return [...this.#blind.values()]
    // In one line: a command can make thousands of them.
    const are = more.length === 0 ? 'is' : `and ${more.length} more are`
    return [
      ...this.#blind.values(),
      {
        path,
        why: `${are} closed to you (chmod u+rwx opens it), so all that is in there is held, and what it names elsewhere is not known`,
      },
    ]
  }

  /** What git's indexes said of submodules. */
  get indexes(): readonly SeenIndex[] {
    return this.#indexes
  }

  get isFull(): boolean {
    return this.#found.size >= MOST
  }

  /** The name, every link on the way to it, and what it leads to. Returns that; `wanted` may leave some of it out. */
  add(dir: string, name: string, guard: Guard, wanted?: (step: Step) => boolean): Step | undefined {
    const passed = new Set<string>()
    const steps = trailOf(dir, name, this.#absent, passed)
    for (const each of passed) this.pin(each)
    for (const { path } of wanted ? steps.filter(wanted) : steps) {
      if (path.includes('\ufffd') && !dir.includes('\ufffd'))
        this.miss(
          path,
          'has a name that is not valid UTF-8, for which there can be no rule, so it is not guarded',
        )
      const before = this.#found.get(path)
      // The stricter of two reasons counts.
      if (before && !before.open && STRICTER[before.guard].has(guard)) continue
      this.#found.set(path, { path, guard })
    }
    return steps.at(-1)
  }

  /** What a name stands for, without guarding it; undefined where that is no file. */
  fileAt(dir: string, name: string): string | undefined {
    const end = trailOf(dir, name, this.#absent).at(-1)
    return end?.is === 'file' ? end.path : undefined
  }

  /** The directory keeps its name, because nothing may come to be at one in it (decision 0520). */
  pin(dir: string): void {
    const path = join(dir, PINNED)
    if (!this.#found.has(path)) this.#found.set(path, { path, guard: 'moved-aside' })
  }

  /** What is closed to its owner is held as a whole, whatever is in it (decision 0510). */
  holdClosed(path: string): void {
    this.#found.set(path, { path, guard: 'told', closed: true })
    this.#closed.add(path)
  }

  /** The same; and of a directory also what links in it lead to, at any depth. */
  addTree(dir: string, name: string, guard: Guard): void {
    const end = this.add(dir, name, guard)
    if (end?.is === 'dir') this.followLinks(end.path)
  }

  /** What links in a guarded directory lead to, at any depth. */
  followLinks(dir: string): void {
    this.#entriesLeft = MOST_ENTRIES // for each: what a command fills one with does not hide another
    this.#followLinksIn(dir)
  }

  #followLinksIn(dir: string): void {
    if (this.#searched.has(dir)) return
    this.#searched.add(dir)
    const { entries, more } = entriesOf(dir, this.#entriesLeft)
    this.#entriesLeft -= entries.length
    if (more)
      this.miss(
        dir,
        'was not looked through: guarded directories have very many entries, so what links in it lead to is not guarded',
      )
    for (const entry of entries)
      if (entry.isDirectory()) this.#followLinksIn(join(dir, entry.name))
      else if (entry.isSymbolicLink()) {
        // A link to a directory around this one would guard everything there, so it is passed over.
        const end = this.add(dir, entry.name, 'told', ({ path }) => below(path, dir) === undefined)
        if (end?.is === 'dir' && below(end.path, dir) === undefined) this.#followLinksIn(end.path)
      }
  }

  open(path: string): void {
    if (!this.#found.has(path)) this.#found.set(path, { path, guard: 'told', open: true })
  }

  noteIndex(index: SeenIndex): void {
    this.#indexes.push(index)
  }

  miss(path: string, why: string): void {
    this.#blind.set(path, { path, why })
  }
}
