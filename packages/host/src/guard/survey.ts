import { dirname, join } from 'node:path'
import { below, type CanonicalPath, ClosedError, lookAt, type RelPath } from '@cordon/policy'
import { type BlindSpot, Collection, type GuardedPath } from './collection.ts'
import { guardAgainstBareRepository, isWholeGitDirectory, Repositories } from './git.ts'
import { indexAfter, type KnownGitlinks, type SeenIndex } from './git-indexes.ts'
import { type HomeLink, linksOfHome } from './home-links.ts'
import { NOT_SEARCHED, OWN_NAMES, RUN_LATER, RUN_LATER_AT_HOME } from './names.ts'
import { lookBelow, type Nested } from './nested.ts'
import { realDirectory } from './read.ts'
import { guardNamedInSettings } from './programs.ts'
import { entryOf, type Step, trailOf, upwards } from '@cordon/workspace'

/** Whose files are guarded: the workspace's, and Cordon's own in the user's place. */
export interface GuardOptions {
  readonly root: string
  /** Where the person stands. */
  readonly cwd: string
  readonly home: string
  /** Cordon's configuration, data and cache of this user, as they are named. */
  readonly own: readonly string[]
  /** Of those, what nothing confined reads either: approvals, and the keys of seals. */
  readonly secret?: readonly string[]
  /** In those, the programs that Cordon installed: no secrets. */
  readonly installed?: readonly string[]
  /** Files of the user that Cordon obeys: each may be a link to anywhere. */
  readonly ownFiles?: readonly string[]
  /** Git's configuration of the system and of this user: files that need not be there. */
  readonly gitConfigs: readonly string[]
  /** Whether somebody's work was seen below a directory that was no repository itself. A command may have made it one since (decision 0475). */
  readonly wasAround?: (dir: string) => boolean
  /** Remembers that. */
  readonly noteAround?: (dir: string) => void
  /** The directories below a place that were seen to hold somebody's work; and what remembers them. */
  readonly knownBelow?: (place: string) => readonly string[]
  readonly noteBelow?: (place: string, dirs: readonly string[]) => 'kept' | 'not-all'
  /** By git directory, which submodules runs that still go on found named when they began, each for itself (decision 0641). */
  readonly gitlinksOfOthers?: () => readonly KnownGitlinks[]
}

/** SPEC 4.10: which paths are guarded, as far as the files there say. Looked at once, when somebody asks. */
export class GuardSurvey {
  /** Where it really is. */
  readonly home: string
  readonly #options: GuardOptions
  readonly #places = new Map<string, Collection>()
  readonly #steps = new Map<string, readonly string[]>()
  readonly #nested = new Map<string, Nested>()
  /** How many directories may still be noted as such that have work below them. */
  readonly #notes: { left: number }
  #homeLinks: readonly HomeLink[] | undefined
  #gitlinksOfOthers: readonly KnownGitlinks[] | undefined

  constructor(options: GuardOptions, notes = { left: MOST_NOTED_AT_ONCE }) {
    this.#options = options
    this.#notes = notes
    this.home = trailOf('/', options.home).at(-1)?.path ?? options.home
  }

  /** The same, with nothing of what was seen before: in a session people go on working. */
  anew(): GuardSurvey {
    return new GuardSurvey(this.#options, this.#notes)
  }

  /** Of the workspace's root, the directories down to the current one, and the repositories around that. */
  workspace(): readonly GuardedPath[] {
    const { root, cwd } = this.#options
    return this.#once(`workspace of ${root}`, (found) => {
      const down = directoriesDown(root, cwd)
      for (const dir of down) {
        for (const name of OWN_NAMES) found.add(dir, name, 'told')
        found.add(dir, '.git', 'told', (step) => step.is !== 'dir')
        guardAgainstBareRepository(dir, found)
      }
      // Where the nearest is damaged, git takes the next one above.
      const repositories = down.slice(1).toReversed().filter(isRepository)
      this.#guardPlaces([root, ...repositories], found)
      const isPlain = !isRepository(root)
      if (isPlain || this.#options.wasAround?.(root) === true) {
        const nested = this.#guardNested(root, NONE, found)
        if (isPlain) this.#noteAround(root, nested, found)
      }
      this.#guardFromAbove(root, found)
    })
  }

  /**
   * Where links of the home that the host obeys there lead to in these places: dotfiles that people keep in a repository. Of a home
   * without such links its names are read, and those of the directories among them.
   */
  ledFromHome(places: readonly string[]): readonly GuardedPath[] {
    this.#homeLinks ??= linksOfHome(this.home)
    const isIn = ({ path }: Step): boolean => places.some((place) => below(place, path) !== undefined)
    const found = new Collection()
    for (const { dir, name, steps } of this.#homeLinks)
      if (steps.some(isIn)) found.add(dir, name, 'told', isIn)
    return found.paths
  }

  /** Also of the directories on the way: any of them may be the next workspace. */
  #noteAround(root: string, { repositories, names }: Nested, found: Collection): void {
    const { wasAround, noteAround } = this.#options
    if (!wasAround || !noteAround || repositories.length + names.length === 0) return
    const around = [...repositories.map((dir) => dirname(dir)), ...names.map(({ dir }) => dirname(dir))]
    const ways = new Set(around.flatMap((dir) => directoriesDown(root, dir)))
    const news = [...ways].slice(0, MOST_NOTED).filter((dir) => !wasAround(dir))
    const noted = news.slice(0, this.#notes.left)
    this.#notes.left -= noted.length
    for (const dir of noted) noteAround(dir)
    if (ways.size > MOST_NOTED || noted.length < news.length || !wasAround(root))
      found.miss(
        root,
        'has repositories in it, which cannot be remembered for all of its directories: who makes one of them a repository takes the guard off what is in it',
      )
  }

  /** What is around the workspace guards it, too: repositories, and names of which it is the beginning. */
  #guardFromAbove(root: string, found: Collection): void {
    const above = upwards(root as CanonicalPath).slice(1)
    for (const dir of above.slice(0, LONGEST_NAME - 1)) {
      const here = `${below(dir, root)}/`
      for (const name of RUN_LATER) if (name.startsWith(here)) guardName(dir, name, found)
    }
    const repositories = above.filter(isRepository)
    this.#guardRepositories(repositories, found)
    guardNamedInSettings(repositories, this.home, found)
    if (found.paths.some(({ path, open }) => !open && below(path, root) !== undefined))
      found.miss(root, 'is itself what the host obeys or runs by itself later, so it is not guarded')
  }

  /**
   * Below a writable place outside the workspace: of the place itself, of the repositories and projects in it, and of what is
   * around it: a part of a repository may be what its configuration names as hooks, and `.claude` has guarded names in it.
   */
  outside(dir: string): readonly GuardedPath[] {
    if (!lookAt(dir)?.isDirectory()) return [] // a mount of one file, which its rule names
    const own = this.ofPlace(dir)
    const nested = this.#once(`below ${dir}`, (found) => {
      const passedOver = new Set([this.#options.root, ...own.map(({ path }) => path)])
      const seen = this.#guardNested(dir, passedOver, found)
      if (!isRepository(dir)) this.#noteAround(dir, seen, found)
    })
    const above = upwards(dir as CanonicalPath).slice(1)
    const around = new Set([...above.slice(0, LONGEST_NAME - 1), ...above.filter(isRepository)])
    return [...own, ...nested, ...[...around].flatMap((each) => this.ofPlace(each))]
  }

  /** Whether a place outside is too large to be looked through, so that repositories in it may not be guarded. */
  isTooLarge(dir: string): boolean {
    this.outside(dir)
    const nested = this.#nested.get(dir)
    if (!nested) return false
    const isLeftOut = this.#places.get(`below ${dir}`)?.leavesOut === true
    return nested.isTooLarge || nested.names.length > MOST_NAMES || isLeftOut
  }

  /** Of a place outside the workspace itself. */
  ofPlace(dir: string): readonly GuardedPath[] {
    return this.#once(dir, (found) => {
      for (const name of OWN_NAMES) found.add(dir, name, 'told')
      guardAgainstBareRepository(dir, found)
      this.#guardPlaces([dir], found)
    })
  }

  /** What a home alone has, whatever part of it a writable place is. */
  atHome(): readonly GuardedPath[] {
    return this.#once('only at home', (found) => {
      for (const name of RUN_LATER_AT_HOME) found.add(this.home, name, 'told')
    })
  }

  /** Whether some of that lies below a directory, by its name: nothing is looked at. */
  mayHoldAtHome(dir: string): boolean {
    return RUN_LATER_AT_HOME.some((name) => below(dir, entryOf(this.home, name)) !== undefined)
  }

  /** What `sandbox.guard` adds, from the workspace's root. */
  more(paths: readonly RelPath[]): readonly GuardedPath[] {
    const found = new Collection()
    for (const path of paths) found.add(this.#options.root, path, 'told')
    return found.paths
  }

  /** Cordon's own places of this user: where they really are. */
  own(): readonly string[] {
    const { own, ownFiles = [] } = this.#options
    return [...new Set([...own, ...ownFiles].flatMap((path) => this.#everyStep(path)))]
  }

  /** Of those, where approvals and keys are kept. */
  secret(): readonly string[] {
    return (this.#options.secret ?? []).flatMap((path) => this.#everyStep(path).at(-1) ?? [])
  }

  /** In those, where programs are that Cordon installed. */
  installed(): readonly string[] {
    return (this.#options.installed ?? []).flatMap((path) => this.#everyStep(path).at(-1) ?? [])
  }

  /** Of those, the directories that Cordon itself would make. */
  ownDirectories(): readonly string[] {
    return this.#options.own.flatMap((path) => this.#everyStep(path).at(-1) ?? [])
  }

  /** What was not looked at, of all that somebody asked for. */
  get blindSpots(): readonly BlindSpot[] {
    return [...this.#places.values()].flatMap((found) => found.blindSpots)
  }

  /**
   * Decision 0590: repositories that an index names now and did not name at the start, so that nobody guarded them; and an index of
   * which that is not known.
   */
  newGitlinks(): { readonly appeared: readonly string[]; readonly changed: readonly string[] } {
    const appeared = new Set<string>()
    const changed = new Set<string>()
    for (const before of [...this.#places.values()].flatMap((found) => found.indexes))
      try {
        const now = indexAfter(before)
        if (now?.unknown !== undefined) changed.add(entryOf(now.gitDir, 'index'))
        const known = new Set(this.#knownToAll(before))
        for (const link of now?.gitlinks ?? []) {
          if (known.has(link)) continue
          const git = join(before.worktree, link, '.git')
          if (link.includes('\ufffd')) changed.add(entryOf(before.gitDir, 'index')) // no name by which it could be looked for
          else if (lookAt(git)) appeared.add(git)
        }
      } catch (error) {
        if (!(error instanceof ClosedError)) throw error
        changed.add(entryOf(before.gitDir, 'index')) // closed by the command, so nobody knows
      }
    return { appeared: [...appeared], changed: [...changed] }
  }

  /** Of every index that was looked at, what counts as named before the start; for the record of a run. */
  gitlinks(): KnownGitlinks {
    const seen = [...this.#places.values()].flatMap((found) => found.indexes)
    const understood = seen.filter(({ unknown }) => unknown === undefined)
    return Object.fromEntries(understood.map((index) => [index.gitDir, this.#knownToAll(index)]))
  }

  /** Decision 0641: what another run has just named there is as new to this one. */
  #knownToAll({ gitDir, gitlinks }: SeenIndex): readonly string[] {
    if (gitlinks.length === 0) return gitlinks
    const others = (this.#gitlinksOfOthers ?? []).flatMap((all) => {
      const known = all[gitDir]
      return known ? [new Set(known)] : []
    })
    return gitlinks.filter((link) => others.every((known) => known.has(link)))
  }

  /** Links in what is guarded come last: a command can make thousands, and what the list has no room for is not guarded. */
  #guardPlaces(dirs: readonly string[], found: Collection): void {
    const guarded = dirs.flatMap((dir) =>
      RUN_LATER.map((name) => ({ name, end: found.add(dir, name, 'told') })),
    )
    this.#guardRepositories(dirs, found)
    guardNamedInSettings(dirs, this.home, found)
    for (const { name, end } of guarded)
      if (end?.is === 'dir' && !NOT_SEARCHED.has(name)) found.followLinks(end.path)
  }

  /**
   * Decision 0590: a repository that an index named stays guarded when it does not name it any more. A command can write one, and what
   * it takes out of it the person puts back.
   */
  #guardRepositories(dirs: readonly string[], found: Collection): void {
    const { home, gitConfigs } = this.#options
    const repositories = dirs.filter(isRepository)
    const known = repositories.flatMap((dir) => this.#knownBelow(dir))
    const user = { home, configs: gitConfigs }
    const named = new Repositories(found, user).guard(dirs, [...new Set(known)]).filter(isRepository)
    if (named.length > 0)
      for (const dir of repositories)
        this.#noteBelow(
          dir,
          named.filter((each) => below(dir, each) !== undefined),
          found,
        )
  }

  #knownBelow(dir: string): readonly string[] {
    const known = this.#options.knownBelow?.(dir) ?? []
    return known.filter((each) => below(dir, each) !== undefined && realDirectory(each) === each)
  }

  #noteBelow(place: string, dirs: readonly string[], found: Collection): void {
    if (this.#options.noteBelow?.(place, dirs) === 'not-all')
      found.miss(
        place,
        'has more repositories and projects than can be remembered: who fills it with others, or takes them out of an index, takes the guard off some of them',
      )
  }

  /** SPEC 4.10, decision 0475: what is there is held in all of them; what is new in a repository is told as in the place itself. */
  #guardNested(place: string, passedOver: ReadonlySet<string>, found: Collection): Nested {
    const nested = lookBelow(place, passedOver, this.#options.knownBelow?.(place))
    this.#nested.set(place, nested)
    this.#noteBelow(place, [...nested.repositories, ...nested.names.map(({ dir }) => dir)], found)
    if (nested.closed.includes(place)) throw new ClosedError(place, place)
    for (const dir of nested.closed) found.holdClosed(dir)
    if (nested.hasUnnameable)
      found.miss(
        place,
        'has directories whose names are not valid UTF-8, so repositories in them are not guarded',
      )
    // Before the names, which a command can make in any number: what the list has no room for is not guarded.
    this.#guardRepositories(nested.repositories, found)
    for (const { dir, name } of nested.names.slice(0, MOST_NAMES)) guardName(dir, name, found)
    if (nested.names.length > MOST_NAMES)
      found.miss(
        place,
        'has very many files in it that the host obeys or runs by itself, so not all of them are guarded',
      )
    const untold = nested.repositories.filter((dir) => {
      if (found.isFull) return true
      for (const name of [...OWN_NAMES, ...RUN_LATER]) guardName(dir, name, found)
      return false
    })
    if (untold.length > 0)
      found.miss(place, 'has very many repositories, so what is new in some of them is not told')
    if (nested.isTooLarge)
      found.miss(
        place,
        'has more directories than are looked through, so repositories in it may not be guarded',
      )
    return nested
  }

  #everyStep(path: string): readonly string[] {
    const steps = this.#steps.get(path) ?? trailOf('/', path).map((step) => step.path)
    this.#steps.set(path, steps)
    return steps
  }

  #once(key: string, look: (found: Collection) => void): readonly GuardedPath[] {
    const before = this.#places.get(key)
    if (before) return before.paths
    this.#gitlinksOfOthers ??= this.#options.gitlinksOfOthers?.() // before any index is looked at
    const found = new Collection()
    look(found)
    this.#places.set(key, found)
    return found.paths
  }
}

const isRepository = (dir: string): boolean =>
  lookAt(entryOf(dir, '.git')) !== undefined || isWholeGitDirectory(dir)

const NONE: ReadonlySet<string> = new Set()
const MOST_NOTED = 5000

/** Each is a file in the user's place. What is left over is noted by the next start. */
const MOST_NOTED_AT_ONCE = 500

/** Of guarded names below a place, beside the list of repositories: each is a mount. */
const MOST_NAMES = 4000

/** In parts of a path: a place may be all of a guarded name but its last part. */
const LONGEST_NAME = Math.max(...RUN_LATER.map((name) => name.split('/').length))

function guardName(dir: string, name: string, found: Collection): void {
  if (NOT_SEARCHED.has(name)) found.add(dir, name, 'told')
  else found.addTree(dir, name, 'told')
}

/** From the root to where the person stands, both included. */
function directoriesDown(root: string, cwd: string): readonly string[] {
  if (cwd === root || below(root, cwd) === undefined) return [root]
  return [...directoriesDown(root, dirname(cwd)), cwd]
}
