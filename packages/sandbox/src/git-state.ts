import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  type Stats,
  statSync,
  unlinkSync,
} from 'node:fs'
import { basename, resolve } from 'node:path'
import { moveAside } from './aside.ts'
import type { DeniedPath } from './denied-paths.ts'
import { type IdLength, isSoundIndex } from './git-index.ts'
import { heldPath, holdEntry, holdReaching, isNowhere, reaching } from './held-directory.ts'
import { encloses } from './plan/paths.ts'
import type { WatchedPath } from './plan/types.ts'
import { keepsTimes } from './unchanged.ts'

/**
 * Decision 0545: git trusts what lies in its own directory, which a command may write. It deletes and writes through links, follows
 * symbolic refs to any name, and touches every path of an index. So what a command left there that leads elsewhere goes, and is told.
 * Whether a command left it is told by the time of change, which none can set. A link goes by its own alone, because an old one is
 * the person's; except one that was left alone where it was made, and moved from there with its directory. A file is judged by
 * what is in it, so it is also looked at when a directory around it changed, which may have been moved there with it. Nothing is
 * followed on the way.
 */
export function clearGitState(
  { base, path: gitDir, writable = [] }: Pick<WatchedPath, 'base' | 'path' | 'writable'>,
  since: number,
): ClearedState {
  const found: DeniedPath[] = []
  const linked: string[] = []
  const add = (path: string, why: string): void => void found.push({ path, movedTo: undefined, why })
  const unsearched = new Set<string>()
  let left = MOST_ENTRIES
  let countsLinks = false
  const isNew = ({ ctimeMs }: Stats): boolean => ctimeMs >= since - TICK_MS
  const maybeMoved = (isDirNew: boolean): boolean => isDirNew || !countsLinks // where nothing keeps times, all may be
  const look = (held: number, dir: string, isDirNew: boolean, depth = 0): void => {
    const entries = reaching(held, () => entriesOf(held))
    for (const entry of depth === 0 ? entries.toSorted(knownFirst) : entries) {
      if (left-- <= 0) return
      const name = `${dir}${entry.name.toString()}`
      const clear = entry.isDirectory() ? undefined : clearerOf(entry, name)
      if (entry.isDirectory() ? NOT_ENTERED.test(name) : !clear) continue
      const path = `${gitDir}/${name}`
      try {
        const stats = (): Stats => reaching(held, () => lstatSync(entryPath(held, entry.name)))
        if (!clear) {
          if (!MAY_HOLD_REFS.test(name) && countsLinks && isSettledLeaf(stats(), isNew)) continue
          if (depth === DEEPEST) unsearched.add(TOO_DEEP)
          else
            lookBelow(held, entry.name, (inner) =>
              look(inner, `${name}/`, isDirNew || isNew(fstatSync(inner)), depth + 1),
            )
        } else if (
          (isDirNew && entry.isFile()) ||
          (maybeMoved(isDirNew) && isMoved(entry, name)) ||
          isNew(stats())
        ) {
          const cleared = reaching(held, () =>
            clear({ held, name: entry.name, path, gitDir, writable, isNew }),
          )
          if (cleared === 'linked') linked.push(path)
          else if (cleared) found.push(cleared)
        }
      } catch (error) {
        if (!isNowhere(path, error)) add(path, codeOf(error))
      }
    }
  }
  try {
    using(holdReaching(base, gitDir), (held) => {
      countsLinks = keepsTimes(heldPath(held))
      look(held, '', false)
    })
  } catch (error) {
    if (!isNowhere(gitDir, error)) add(gitDir, codeOf(error))
  }
  if (left < 0) unsearched.add('it has too many entries')
  if (unsearched.size > 0)
    found.push({ path: gitDir, movedTo: undefined, why: [...unsearched].join(', '), isUnsearched: true })
  return { cleared: found, linked }
}

interface ClearedState {
  readonly cleared: readonly DeniedPath[]
  /** What names a new linked worktree: it stays, and is told (decision 0661). */
  readonly linked: readonly string[]
}

/** Of one directory tree. A command that fills it with more hides nothing: that is told. */
const MOST_ENTRIES = 200_000

/** Git has refs in directories, but nobody's are as deep. */
const DEEPEST = 60
const TOO_DEEP = 'directories in it are deeper than git makes them'

/** Where git looks by itself, before what only a command may have made: that is what takes up the room. */
const knownFirst = (a: Dirent<Buffer>, b: Dirent<Buffer>): number => rankOf(a) - rankOf(b)
const rankOf = (entry: Dirent<Buffer>): number =>
  !entry.isDirectory() ? 0 : KNOWN.has(entry.name.toString('latin1')) ? 1 : 2
const KNOWN: ReadonlySet<string> = new Set([
  'worktrees',
  'refs',
  'logs',
  'info',
  'rebase-merge',
  'rebase-apply',
  'sequencer',
])

/** The kernel's clock for files is a tick behind. */
const TICK_MS = 20

/** Hooks, which are held; and submodules, which are looked at on their own. */
const NOT_ENTERED = /^(?:hooks|modules)$/

/** Directories with files that git follows. In all others only links lead elsewhere. */
const MAY_HOLD_REFS = /^(?:refs|worktrees)(?:\/|$)/

/** No link can be new in it, and no directory is in it: each would count as one of its links. */
const isSettledLeaf = (stats: Stats, isNew: (stats: Stats) => boolean): boolean =>
  stats.nlink === 2 && !isNew(stats)

/** By the guard: what is new there was moved aside already. */
const HELD: ReadonlySet<string> = new Set(['hooks', 'modules'])

interface Entry {
  readonly held: number
  readonly name: Buffer
  readonly path: string
  readonly gitDir: string
  readonly writable: readonly string[]
  readonly isNew: (stats: Stats) => boolean
}

type Clear = (entry: Entry) => DeniedPath | 'linked' | undefined

/** Git only reads these, and people keep them elsewhere: files. A link to a directory would be one more way there, by another name. */
const ONLY_READ: ReadonlySet<string> = new Set(['info/exclude', 'info/attributes'])

/** A link that is left alone keeps its time when a command moves the directory around it, to `worktrees` or among the logs of branches. */
const isMoved = (entry: Dirent<Buffer>, name: string): boolean =>
  entry.isSymbolicLink() && NAMES_ONLY_READ.test(name) && !ONLY_READ.has(name)
const NAMES_ONLY_READ = /(?:^|\/)(?:exclude|attributes)$/

/** Of the files in a git directory, or in that of a linked worktree, the first that fits. */
const FILES: readonly { readonly names: RegExp; readonly clear: Clear | undefined }[] = [
  // Names files, by any path, whose content the next commit copies into the repository (rerere).
  { names: /^(?:worktrees\/[^/]+\/)?MERGE_RR$/, clear: (entry) => movedAside(entry) },
  { names: /^(?:worktrees\/[^/]+\/)?(?:index|sharedindex\.[0-9a-f]+)$/, clear: clearIndex },
  // What a person wrote, never a ref: a message may begin with `ref:`.
  { names: /^(?:worktrees\/[^/]+\/)?(?:[A-Z_]+MSG|EDIT_DESCRIPTION|description)$/, clear: undefined },
  // Wherever it lies: the directory around it can be moved to `worktrees` later.
  { names: /(?:^|\/)gitdir$/, clear: (entry) => clearRef(entry) ?? clearWorktree(entry) },
  { names: /^(?:worktrees\/[^/]+\/)?(?:refs\/.+|[^/]+)$/s, clear: clearRef },
]

function clearerOf(entry: Dirent<Buffer>, name: string): Clear | undefined {
  if (entry.isSymbolicLink()) return HELD.has(name) ? undefined : clearLink
  return entry.isFile() ? FILES.find(({ names }) => names.test(name))?.clear : undefined
}

/** Git makes HEAD a link itself where core.preferSymlinkRefs is set, and did so always once. */
const IS_HEAD = /^(?:worktrees\/[^/]+\/)?HEAD$/
const BRANCH = /^refs\/heads(?:\/(?!\.{0,2}(?:\/|$))[^/]+)+$/

function clearLink({ held, name, path, gitDir }: Entry): DeniedPath | undefined {
  const linkTo = readlinkSync(entryPath(held, name))
  const within = path.slice(gitDir.length + 1)
  if (IS_HEAD.test(within) && BRANCH.test(linkTo)) return undefined
  if (ONLY_READ.has(within) && leadsToFile(entryPath(held, name))) return undefined
  unlinkSync(entryPath(held, name))
  return { path, movedTo: undefined, linkTo }
}

function leadsToFile(link: string | Buffer): boolean {
  try {
    return statSync(link).isFile()
  } catch {
    return false
  }
}

/** Git says then that everything is to be added; `git reset` makes it anew. */
function clearIndex(entry: Entry): DeniedPath | undefined {
  const read = readFile(entryPath(entry.held, entry.name), MOST_INDEX_BYTES)
  if (!read || (read.isWhole && isSoundIndex(read.bytes, idLengthOf(entry.gitDir)))) return undefined
  return movedAside(entry)
}

const MOST_INDEX_BYTES = 2 ** 28

/**
 * Git writes what a symbolic ref names, also `commondir`. Such a ref is removed and not moved aside: below `refs` it would be one
 * by any name, and where it led is all that it is.
 */
function clearRef({ held, name, path }: Entry): DeniedPath | undefined {
  const read = readFile(entryPath(held, name), MOST_REF_BYTES, SCRATCH)
  if (!read || read.bytes.toString('latin1', 0, 4) !== 'ref:') return undefined
  const text = read.bytes.toString()
  if (read.isWhole && SYMBOLIC_REF.test(text)) return undefined
  unlinkSync(entryPath(held, name))
  return { path, movedTo: undefined, linkTo: text.slice(4).trim().slice(0, MOST_SHOWN) }
}

const MOST_REF_BYTES = 4096
const SCRATCH = Buffer.alloc(MOST_REF_BYTES)
const MOST_SHOWN = 200
const SYMBOLIC_REF = /^ref: refs(?:\/(?!\.{1,2}(?:\/|\s*$))[^/\s]+)+\s*$/

/**
 * Decision 0661: what a `worktrees/<name>/gitdir` names has this repository. A command says so of nothing that it could not write. By
 * the text alone: so it is read where it counts, and a link that is made there later leads it nowhere. An old one is the person's.
 */
function clearWorktree(entry: Entry): DeniedPath | 'linked' | undefined {
  const file = entryPath(entry.held, entry.name)
  if (!entry.isNew(lstatSync(file))) return undefined
  const read = readFile(file, MOST_SETTING_BYTES)
  if (!read?.isWhole) return undefined // longer ones are not read where it counts
  const named = read.bytes.toString().replace(/[\r\n]+$/, '')
  const git = resolve(entry.gitDir, 'worktrees/x', named)
  if (basename(git) !== '.git') return undefined // a branch can have that name
  return entry.writable.some((place) => encloses(place, git)) ? 'linked' : movedAside(entry)
}

/** An empty one says nothing. */
function movedAside({ held, name, path }: Entry): DeniedPath | undefined {
  const stats = lstatSync(entryPath(held, name))
  return stats.size === 0 ? undefined : moveAside(heldPath(held), name.toString(), path, stats)
}

/** What git takes for the length of an id. The configuration is held; that of a linked worktree lies where `commondir` says. */
function idLengthOf(gitDir: string): IdLength {
  const common = readSetting(`${gitDir}/commondir`)?.trim()
  const config = readSetting(common === undefined ? `${gitDir}/config` : `${resolve(gitDir, common)}/config`)
  return /(?:^|\])\s*objectformat\s*=\s*"?sha256/im.test(config ?? '') ? 32 : 20
}

function readSetting(path: string): string | undefined {
  try {
    return readFile(path, MOST_SETTING_BYTES, undefined, 0)?.bytes.toString()
  } catch {
    return undefined
  }
}

const MOST_SETTING_BYTES = 2 ** 20

interface Read {
  readonly bytes: Buffer
  readonly isWhole: boolean
}

/** Undefined for what is no regular file; waits for nobody. A link is followed only where it is the person's. */
function readFile(
  path: string | Buffer,
  most: number,
  into?: Buffer,
  noFollow = constants.O_NOFOLLOW,
): Read | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | noFollow)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) return undefined
    const wanted = Math.min(stats.size, most)
    const buffer = into ?? Buffer.allocUnsafe(wanted)
    const length = readSync(file, buffer, 0, wanted, 0)
    return { bytes: buffer.subarray(0, length), isWhole: length === stats.size }
  } finally {
    closeSync(file)
  }
}

/** Names as bytes: one that is not valid UTF-8 would lead nowhere. */
const entriesOf = (held: number): readonly Dirent<Buffer>[] =>
  readdirSync(heldPath(held), { withFileTypes: true, encoding: 'buffer' })

/** As text where that is the same: it takes half the time, and there may be many refs. */
function entryPath(held: number, name: Buffer): string | Buffer {
  const text = name.toString()
  return text.includes('\ufffd')
    ? Buffer.concat([Buffer.from(`${heldPath(held)}/`), name])
    : `${heldPath(held)}/${text}`
}

function lookBelow(held: number, name: Buffer, act: (inner: number) => void): void {
  using(
    reaching(held, () => holdEntry(held, name)),
    act,
  )
}

function using(held: number, act: (held: number) => void): void {
  try {
    act(held)
  } finally {
    closeSync(held)
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)
