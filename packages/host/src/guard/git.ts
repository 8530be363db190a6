import { basename, dirname, join } from 'node:path'
import { below, lookAt } from '@cordon/policy'
import type { IdLength } from '@cordon/sandbox'
import { entryOf } from '@cordon/workspace'
import type { Collection } from './collection.ts'
import { type GitSetting, parseGitConfig } from './git-config.ts'
import { type Checkout, lookAtIndex } from './git-indexes.ts'
import { named, readSettings, settingsIn } from './git-settings.ts'
import { GIT_ALTERNATES, GIT_NAMES, GIT_PROGRAMS, GIT_WAITING } from './names.ts'
import { filesNamedIn } from './commands.ts'
import { guardProgram } from './programs.ts'
import { entriesOf, readText, realDirectory } from './read.ts'

/** Where git finds what is the same for all repositories. */
export interface GitUser {
  readonly home: string
  /** The system's and the person's own configuration. */
  readonly configs: readonly string[]
}

/** A project may have directories that are called like those of a bare repository: nothing in it is taken away. */
type Whose = 'git' | 'perhaps'

/** More directories are not looked at, whatever the files say: whoever wrote them must not keep us busy. */
const MOST_LOOKS = 2000
const MOST_WORKTREES = 100
const MOST_KNOWN_FIRST = 100
const MOST_PROGRAMS = 1000
const MOST_TRIES = 16_000

/**
 * SPEC 4.10: every git directory that git would use for these directories, and those of their submodules. What could
 * fill the list comes last: a command can make submodules and worktrees, but not change what is guarded already.
 */
export class Repositories {
  readonly #found: Collection
  readonly #user: GitUser
  readonly #seen = new Set<string>()
  readonly #gitDirs = new Set<string>()
  readonly #unopened: string[] = []
  readonly #checkouts: Checkout[] = []
  readonly #tries = { left: MOST_TRIES }
  #looksLeft = MOST_LOOKS
  #ofUser: readonly GitSetting[] | undefined

  constructor(found: Collection, user: GitUser) {
    this.#found = found
    this.#user = user
  }

  /**
   * What an index names comes last of all: a command can write one. Returns that. Of what an index named before (`known`, the oldest
   * first) some come first: with a list of submodules where there was none, a command could use up the room.
   */
  guard(dirs: readonly string[], known: readonly string[]): readonly string[] {
    const linked: string[] = []
    this.#guardListed([...dirs, ...known.slice(0, MOST_KNOWN_FIRST)])
    this.#guardListed(known.slice(MOST_KNOWN_FIRST))
    for (let next = this.#gitlinks(); next.length > 0; next = this.#gitlinks()) {
      this.#guardListed(next)
      linked.push(...next)
    }
    return linked
  }

  /**
   * The directories first, then their submodules, then those of the submodules; then linked worktrees: each is a repository like the
   * one that it is linked to, with submodules of its own.
   */
  #guardListed(dirs: readonly string[]): void {
    for (let next = dirs; next.length > 0; next = this.#openGitDirs())
      for (let level = next; level.length > 0;)
        level = level.filter((dir) => this.#guardIfRoom(dir)).flatMap((dir) => this.#submodulesOf(dir))
  }

  /** Of the git directories that were found since the last time. Returns the worktrees that are linked to them. */
  #openGitDirs(): readonly string[] {
    const linked = this.#unopened.splice(0).flatMap((gitDir) => {
      this.#openModules(join(gitDir, 'modules'))
      return this.#guardWorktrees(gitDir)
    })
    return [...new Set(linked)]
  }

  #guardIfRoom(dir: string): boolean {
    const { isFull } = this.#found
    if (isFull) this.#found.leaveOut(dir)
    else this.#guardRepository(dir)
    return !isFull
  }

  #guardRepository(dir: string): void {
    const git = this.#found.add(dir, '.git', 'told', (step) => step.is !== 'dir')
    // Git takes the directory itself for a bare repository when there is no `.git` in it, or a damaged one.
    if (isGitDirectory(dir)) this.#guardGitDirectory(dir, dir, isWholeGitDirectory(dir) ? 'git' : 'perhaps')
    if (git?.is === 'dir') this.#guardGitDirectory(git.path, dir)
    if (git?.is === 'file') {
      const real = this.#directoryNamedIn(git.path, 'gitdir: ', dir)
      if (real !== undefined) this.#guardGitDirectory(real, dir)
    }
  }

  #guardGitDirectory(gitDir: string, worktree: string, whose: Whose = 'git'): void {
    this.#guardGitFiles(gitDir, whose)
    const common = this.#directoryNamedIn(join(gitDir, 'commondir'), '', gitDir) ?? gitDir
    if (common !== gitDir) this.#guardGitFiles(common)
    for (const each of [gitDir, common]) {
      if (!this.#gitDirs.has(each)) this.#unopened.push(each)
      this.#gitDirs.add(each)
    }
    const { home, configs } = this.#user
    this.#ofUser ??= readSettings(configs, home, this.#found)
    const own = [join(common, 'config'), join(gitDir, 'config.worktree')]
    const ofRepository = readSettings(own, home, this.#found)
    const settings = [...this.#ofUser, ...ofRepository]
    const idLength = idLengthOf(ofRepository)
    this.#checkouts.push({ gitDir, worktree, idLength })
    this.#guardNamed(settings, worktree)
    const elsewhere = settings.findLast(({ key }) => key === 'core.worktree')?.value
    if (elsewhere !== undefined) {
      const path = elsewhere.startsWith('/') ? elsewhere : `${gitDir}/${elsewhere}`
      const real = realDirectory(path)
      this.#guardNamed(settings, real ?? path)
      if (real !== undefined && real !== worktree) this.#checkouts.push({ gitDir, worktree: real, idLength })
    }
    // A push to here has them run in the git directory.
    this.#guardNamed(
      settings.filter(({ key }) => key === 'core.hookspath'),
      gitDir,
    )
  }

  /** What a command makes in a git directory that was there before does not come from `git init`, so it is moved aside. */
  #guardGitFiles(gitDir: string, whose: Whose = 'git'): void {
    for (const name of GIT_NAMES) this.#found.add(gitDir, name, 'moved-aside')
    this.#found.add(gitDir, 'commondir', whose === 'git' ? 'no-links' : 'moved-aside')
    for (const name of [...GIT_WAITING, GIT_ALTERNATES]) this.#found.add(gitDir, name, 'told')
    this.#found.addTree(gitDir, 'hooks', 'moved-aside')
    // Git takes what it finds here for a submodule's repository, hooks and all: nothing new may appear.
    this.#found.add(gitDir, 'modules', 'moved-aside')
  }

  /** What the configuration names is obeyed like itself: other hooks, and programs that lie in the repository. */
  #guardNamed(settings: readonly GitSetting[], worktree: string): void {
    for (const { key, value = '' } of settings)
      if (key === 'core.hookspath' || key === 'init.templatedir') this.#guardHooks(value, worktree)
    const words = settings.flatMap(({ key, value = '' }) =>
      GIT_PROGRAMS.test(key) ? filesNamedIn(value) : [],
    )
    for (const path of words
      .slice(0, MOST_PROGRAMS)
      .flatMap((word) => named(word, worktree, this.#user.home)))
      guardProgram(path, { dir: worktree, tries: this.#tries }, this.#found)
    if (words.length > MOST_PROGRAMS)
      this.#found.miss(
        worktree,
        'has a git configuration that names very many files, so not all of those are guarded',
      )
  }

  #guardHooks(value: string, worktree: string): void {
    for (const path of named(value === '' ? '.' : value, worktree, this.#user.home)) {
      const real = realDirectory(path)
      // What is the worktree, or around it, is not guarded as a whole: then nobody could work there.
      if (real !== undefined && below(real, worktree) !== undefined)
        for (const name of HOOKS) this.#found.add(real, name, 'told')
      else this.#found.addTree('/', HUSKY.test(path) ? dirname(path) : path, 'told')
    }
  }

  /** Where submodules are checked out, as the repository says: `path = libs/a` in `.gitmodules`. */
  #submodulesOf(dir: string): readonly string[] {
    if (this.#seen.has(dir)) return []
    this.#seen.add(dir)
    // Of a submodule, too: a command that empties it would take the guard off the submodules in it.
    this.#found.add(dir, '.gitmodules', 'told')
    const paths = settingsIn(join(dir, '.gitmodules'), this.#found).flatMap(({ key, value }) =>
      key.startsWith('submodule.') && key.endsWith('.path') && value ? [value] : [],
    )
    return this.#checkedOut(dir, paths)
  }

  /**
   * Decision 0590: what an index calls a submodule is one to git, whether `.gitmodules` lists it or not. Each is looked into by the
   * next `git status`, under its own configuration.
   */
  #gitlinks(): readonly string[] {
    return this.#checkouts.splice(0).flatMap((checkout) => {
      const index = lookAtIndex(checkout)
      this.#found.noteIndex(index)
      const { gitDir, worktree, gitlinks, unknown } = index
      if (unknown !== undefined)
        this.#found.miss(join(gitDir, 'index'), `${unknown}, so repositories that it names are not guarded`)
      return this.#checkedOut(worktree, gitlinks).filter((dir) => !this.#seen.has(dir))
    })
  }

  /**
   * Which directories these are, below that of the repository. One that is missing can be made: then its `.git` is told. In the place
   * of a link to elsewhere, too: so it stays what it is.
   */
  #checkedOut(dir: string, paths: readonly string[]): readonly string[] {
    return [...new Set(paths)].flatMap((path) => {
      if (this.#looksLeft-- <= 0 || this.#found.isFull) {
        this.#found.miss(dir, 'has very many submodules, so not all of them are guarded')
        return []
      }
      const real = realDirectory(join(dir, path))
      if (real !== undefined && real !== dir && below(dir, real) !== undefined) return [real]
      if (below(dir, join(dir, path)))
        this.#found.add(dir, `${path}/.git`, 'told', (step) => step.is !== 'dir')
      return []
    })
  }

  /** The name of a submodule may have slashes, so a directory here may be a repository, or hold some deeper down. */
  #openModules(dir: string): void {
    for (const name of directoriesIn(dir, MOST_LOOKS)) {
      if (this.#looksLeft-- <= 0 || this.#found.isFull) return // the rest stays as closed as the directory around it
      const path = join(dir, name)
      if (isGitDirectory(path)) {
        this.#found.open(path)
        this.#guardGitFiles(path)
        this.#openModules(join(path, 'modules'))
      } else this.#openModules(path)
    }
  }

  /** Worktrees that are linked to this repository. If there are very many, all of `worktrees` is guarded but the ones in use. */
  #guardWorktrees(gitDir: string): readonly string[] {
    const dir = join(gitDir, 'worktrees')
    const { entries, more } = entriesOf(dir, MOST_LOOKS)
    const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
    if (more) this.#found.miss(dir, 'has very many entries, so not all linked worktrees are guarded')
    const linked = names.flatMap((name) => this.#guardGitFileOf(join(dir, name)) ?? [])
    if (names.length <= MOST_WORKTREES && !this.#found.isFull) {
      for (const name of names) this.#guardWorktree(join(dir, name))
      return linked
    }
    this.#found.add(gitDir, 'worktrees', 'moved-aside')
    for (const used of this.#gitDirs)
      if (used !== dir && below(dir, used) !== undefined) this.#found.open(used)
    return linked
  }

  #guardWorktree(gitDir: string): void {
    for (const name of WORKTREE_NAMES) this.#found.add(gitDir, name, 'moved-aside')
    for (const name of GIT_WAITING) this.#found.add(gitDir, name, 'told')
  }

  /** The `.git` of a linked worktree is a file: with a directory in its place, that directory's configuration is obeyed. */
  #guardGitFileOf(gitDir: string): string | undefined {
    const file = this.#pathIn(join(gitDir, 'gitdir'), '', gitDir)
    if (file === undefined || basename(file) !== '.git') return undefined
    const dir = realDirectory(dirname(file))
    if (dir === undefined || this.#seen.has(dir)) return undefined
    if (this.#looksLeft-- <= 0 || this.#found.isFull) {
      this.#found.miss(dirname(gitDir), 'has very many worktrees, so not all of them are guarded')
      return undefined
    }
    this.#found.add(dir, '.git', 'told', (step) => step.is !== 'dir')
    return dir
  }

  #directoryNamedIn(file: string, before: string, from: string): string | undefined {
    const path = this.#pathIn(file, before, from)
    if (path === undefined) return undefined
    this.#found.add('/', path, 'told', (step) => step.is === 'link')
    return realDirectory(path)
  }

  /** Of a file that holds one path. */
  #pathIn(file: string, before: string, from: string): string | undefined {
    const read = readText(file)
    if ('unknown' in read) {
      this.#found.miss(file, `${read.unknown}, so what it names is not guarded`)
      return undefined
    }
    const path = read.text.replace(/[\r\n]+$/, '')
    if (path === '' || !path.startsWith(before)) return undefined
    const rest = path.slice(before.length)
    return rest.startsWith('/') ? rest : `${from}/${rest}` // the kernel goes through links before it goes up
  }
}

/** Of the repository's ids: SHA-1, unless it says otherwise. */
const idLengthOf = (settings: readonly GitSetting[]): IdLength =>
  settings.findLast(({ key }) => key === 'extensions.objectformat')?.value === 'sha256' ? 32 : 20

/** Where husky keeps what git is told to run, in a directory of any name; it runs what lies beside it. */
const HUSKY = /\/_\/*$/

/** What git runs of a directory of hooks. */
const HOOKS =
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change'.split(
    ' ',
  )

const WORKTREE_NAMES = ['config.worktree', 'commondir', 'gitdir']

/** With these three a directory is a repository to git: it obeys the `config` and the `hooks` beside them. */
const MAKE_A_REPOSITORY = ['HEAD', 'objects', 'refs']

/** Also one of which a command took a part away, for the next one to put back: its configuration, which is guarded, still says so. */
export const isGitDirectory = (dir: string): boolean =>
  MAKE_A_REPOSITORY.filter((name) => lookAt(entryOf(dir, name)) !== undefined).length > 1 ||
  saysRepository(entryOf(dir, 'config'))

function saysRepository(config: string): boolean {
  if (lookAt(config)?.isDirectory() !== false) return false
  const read = readText(config)
  return 'unknown' in read || parseGitConfig(read.text).some(({ key }) => OF_A_REPOSITORY.has(key))
}

const OF_A_REPOSITORY: ReadonlySet<string> = new Set(['core.repositoryformatversion', 'core.bare'])

/** What git itself takes for a repository. */
export const isWholeGitDirectory = (dir: string): boolean => missingOfRepository(dir) === undefined

const missingOfRepository = (dir: string): string | undefined =>
  MAKE_A_REPOSITORY.find((name) => lookAt(entryOf(dir, name)) === undefined)

/**
 * Keeps a command from making the directory a bare repository: it is enough to guard the first thing that git looks for and does
 * not find. Where there is a `HEAD`, a `commondir` can stand for the rest.
 */
export function guardAgainstBareRepository(dir: string, found: Collection): void {
  const missing = missingOfRepository(dir)
  if (missing === undefined) return
  found.add(dir, missing, 'moved-aside')
  if (missing !== 'HEAD') found.add(dir, 'commondir', 'moved-aside')
}

const directoriesIn = (dir: string, most: number): readonly string[] =>
  entriesOf(dir, most).entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
