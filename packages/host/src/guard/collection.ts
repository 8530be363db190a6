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

/** Past so many paths, only a few of each: what a command fills one directory with does not hide another. */
const MANY = 3 * MOST
const FEW_ENTRIES = 50

/** Past so many, none: the kernel has room for 100,000 mounts. */
const MOST_WITH_LINKS = 10 * MOST

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
  readonly #leftOut = new Set<string>()
  readonly #unsearched = new Set<string>()
  readonly #searched = new Set<string>()
  readonly #absent = new Set<string>()
  #entriesLeft = MOST_ENTRIES

  get paths(): readonly GuardedPath[] {
    return [...this.#found.values()]
  }

  get blindSpots(): readonly BlindSpot[] {
    return [
      ...this.#blind.values(),
      ...inOneLine(
        this.#closed,
        'closed to you (chmod u+rwx opens it), so all that is in there is held, and what it names elsewhere is not known',
      ),
      ...inOneLine(
        this.#unsearched,
        'not looked through to the end: guarded directories have very many entries, so what links in there lead to is not guarded',
      ),
      ...inOneLine(
        this.#leftOut,
        `left out, because ${MOST} paths are guarded already, so git’s configuration and hooks there are not`,
      ),
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

  /** What a name stands for, without guarding it. */
  endOf(dir: string, name: string): Step | undefined {
    return trailOf(dir, name, this.#absent).at(-1)
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

  get leavesOut(): boolean {
    return this.#leftOut.size > 0
  }

  /** A repository for which there is no room. */
  leaveOut(dir: string): void {
    this.#leftOut.add(dir)
  }

  /** The name, and of a directory also what links in it lead to, at any depth. */
  addTree(dir: string, name: string, guard: Guard): void {
    const end = this.add(dir, name, guard)
    if (end?.is === 'dir') this.followLinks(end.path)
  }

  /** What links in a guarded directory lead to, at any depth. */
  followLinks(dir: string): void {
    const { size } = this.#found
    this.#entriesLeft = size < MANY ? MOST_ENTRIES : size < MOST_WITH_LINKS ? FEW_ENTRIES : 0
    this.#followLinksIn(dir)
  }

  #followLinksIn(dir: string): void {
    if (this.#searched.has(dir)) return
    this.#searched.add(dir)
    const { entries, more } = entriesOf(dir, this.#entriesLeft)
    this.#entriesLeft -= entries.length
    if (more) this.#unsearched.add(dir)
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
    this.#blind.set(`${path}\n${why}`, { path, why }) // for several reasons, each is said
  }
}

/** A command can make thousands of them. */
function inOneLine(paths: ReadonlySet<string>, why: string): readonly BlindSpot[] {
  const [path, ...more] = paths
  if (path === undefined) return []
  return [{ path, why: `${more.length === 0 ? 'is' : `and ${more.length} more are`} ${why}` }]
}
