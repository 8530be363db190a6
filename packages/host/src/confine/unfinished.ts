import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isFields, show, showWhole } from '@cordon/policy'
import {
  type DeniedPath,
  isStillThere,
  lookForNew,
  type Loss,
  orphansEnded,
  type WatchedPath,
} from '@cordon/sandbox'
import type { KnownGitlinks } from '../guard/git-indexes.ts'
import { idOfPath, isRunning, makePrivateDirectory, thisProcess } from '@cordon/workspace'

/** A run that has to look for denied paths when it has ended (decision 0136). */
export interface RunRecord {
  /** Called when the run has looked for denied paths, with what it found; without that, when nothing was started. Only the first call counts. */
  readonly done: (found?: Found) => void
  /** Empty, unless there could be no record. */
  readonly lost: readonly Loss[]
}

interface Found {
  readonly createdDenied: readonly DeniedPath[]
}

/** What a record holds. */
interface Noted {
  /** When the run was started. */
  readonly since: number
  /** Without what is told alone. */
  readonly watched: readonly WatchedPath[]
  /** That, for other runs (decision 0641): below each base its paths from there, with two slashes between one and the next. */
  readonly told: Readonly<Record<string, string>>
  readonly gitlinks: KnownGitlinks
}

/**
 * Writes down, before anything is started, what will be looked for. The record is named after this process: when that
 * has ended and the record is there, it was killed, and the next command finishes its job: what is moved aside. Until then
 * runs that begin meanwhile read in it what this one found missing (decision 0641). Nothing is synced: it has to outlive this
 * process, and not the machine.
 */
export function recordRun(
  dir: string,
  watched: readonly WatchedPath[],
  gitlinks: KnownGitlinks = {},
): RunRecord {
  if (watched.length === 0 && Object.keys(gitlinks).length === 0) return { done: () => undefined, lost: [] }
  try {
    makePrivateDirectory(dir)
    const record = nextRecord(dir)
    const noted: Noted = { since: Date.now(), ...split(watched), gitlinks }
    writeFileSync(record, JSON.stringify(noted), { mode: 0o600, flag: 'wx' })
    let isDone = false
    const done = (found: Found = { createdDenied: [] }): void => {
      if (isDone) return
      isDone = true
      settle(record, noted, found)
    }
    return { done, lost: [] }
  } catch (error) {
    return { done: () => undefined, lost: [withoutRecord(dir, error)] }
  }
}

/**
 * The record of a worker, for one call after the other. Between two calls it is there and empty: whatever is made at a denied
 * path then was made by somebody else, and stays (decision 0200).
 */
export class KeptRecord {
  readonly #dir: string
  readonly #watched: Pick<Noted, 'watched' | 'told'>
  #gitlinks: KnownGitlinks = {}
  #open: { readonly path: string; readonly fd: number } | undefined
  #since = 0
  readonly #isEmpty: boolean
  #isInUse = false
  #isOver = false

  constructor(dir: string, watched: readonly WatchedPath[]) {
    this.#dir = dir
    this.#watched = split(watched)
    this.#isEmpty = watched.length === 0
  }

  /** For one call, as `recordRun` for one run. */
  begin(gitlinks: KnownGitlinks = {}): RunRecord {
    if (this.#isEmpty && Object.keys(gitlinks).length === 0) return { done: () => undefined, lost: [] }
    try {
      // Who cleared up that directory meanwhile took the file away from under its name.
      if (this.#open && fstatSync(this.#open.fd).nlink === 0) this.#close()
      this.#open ??= this.#create()
      this.#since = Date.now()
      this.#gitlinks = gitlinks
      writeSync(this.#open.fd, JSON.stringify(this.#noted), 0)
      this.#isInUse = true
      return { done: (found = { createdDenied: [] }) => this.#settle(found), lost: [] }
    } catch (error) {
      return { done: () => undefined, lost: [withoutRecord(this.#dir, error)] }
    }
  }

  /** The worker is gone. A call that it left behind is still to be looked after. */
  end(): void {
    this.#isOver = true
    if (this.#isInUse || !this.#open) return
    unlinkIfThere(this.#open.path)
    this.#close()
  }

  get #noted(): Noted {
    return { since: this.#since, ...this.#watched, gitlinks: this.#gitlinks }
  }

  #create(): { readonly path: string; readonly fd: number } {
    makePrivateDirectory(this.#dir)
    const path = nextRecord(this.#dir)
    return { path, fd: openSync(path, 'wx', 0o600) }
  }

  /** What could not be moved stays written down: this file is then left to the next command. */
  #settle(found: Found): void {
    if (!this.#isInUse || !this.#open) return
    this.#isInUse = false
    if (leftOf(this.#watched.watched, found).length === 0) {
      ftruncateSync(this.#open.fd)
      return this.#isOver ? this.end() : undefined
    }
    settle(this.#open.path, this.#noted, found)
    this.#close()
  }

  #close(): void {
    if (this.#open) closeSync(this.#open.fd)
    this.#open = undefined
  }
}

/** Names of what is told are many, and the same for most runs: as one text they are written and read at once. */
function split(all: readonly WatchedPath[]): Pick<Noted, 'watched' | 'told'> {
  const watched: WatchedPath[] = []
  const told: Record<string, string> = {}
  for (const each of all)
    if (each.guard !== 'told') watched.push(each)
    else if (isBelow(each.base, each.path)) {
      const before = told[each.base]
      const name = each.path.slice(each.base.length + 1)
      told[each.base] = before === undefined ? name : `${before}//${name}`
    }
  return { watched, told }
}

const nextRecord = (dir: string): string => join(dir, `${thisProcess()}-${++records}.json`)

/** Of this process: a library may have many at once. */
let records = 0

/**
 * What could not be moved stays in a record, one for all runs that left the same: the next command tries again. Where that cannot be
 * written (a command can use up all room), the record stays as it is: it says more, and nothing is forgotten.
 */
function settle(record: string, { since, watched }: Noted, found: Found): void {
  const left = leftOf(watched, found)
  if (left.length > 0) {
    const kept = join(dirname(record), `left-${idOfPath(left.map(({ path }) => path).join('\0'))}-1.json`)
    // What the first of them made is older than what the last one did.
    const before = readRecord(kept)
    const first = before.watched.length > 0 ? Math.min(before.since, since) : since
    const noted = { since: first, watched: left, told: {}, gitlinks: {} } satisfies Noted
    if (!replace(kept, `${record}.new`, JSON.stringify(noted)) || kept === record) return
  }
  unlinkIfThere(record)
}

function replace(file: string, by: string, text: string): boolean {
  try {
    writeFileSync(by, text, { mode: 0o600 })
    renameSync(by, file)
    return true
  } catch {
    rmSync(by, { recursive: true, force: true })
    return false
  }
}

/** `rmSync` looks first, and loads what it needs for directories: a part of every start. */
function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

const leftOf = (watched: readonly WatchedPath[], { createdDenied }: Found): readonly WatchedPath[] =>
  watched.filter(({ path }) => createdDenied.some((denied) => isStillThere(denied) && denied.path === path))

const withoutRecord = (dir: string, error: unknown): Loss => ({
  guarantee: 'guard',
  declared: false,
  loss: 'if cordon is killed, nobody looks for what was made at denied paths',
  why: `no record can be kept in ${show(dir)}: ${error instanceof Error ? error.message : String(error)}`,
  fix: 'make that directory writable',
})

/**
 * Finishes the job of every run that was killed, and says what it found, for people. Whether a run in another pid
 * namespace still goes on cannot be told; its denied paths are moved aside as well. Two commands that do this at once do
 * no harm: what one has moved, the other does not find.
 */
export function finishKilledRuns(dir: string): readonly string[] {
  const killed = recordsIn(dir).filter(({ goesOn }) => !goesOn())
  if (killed.length > 0) orphansEnded() // what was killed with its host may still be at work for a moment
  return killed.flatMap(({ file }) => finish(file))
}

/**
 * Whether a link is the work of a command that still runs, and is denied it. No path that is watched had a link on it when
 * the command started, or when the other one did from whose record it has the path (decision 0641). Its record goes only after
 * the link was moved aside. So a link that was seen before this was asked, and is still there afterwards, is of no such
 * command if the answer is no.
 */
export const isMadeMeanwhile = (dir: string, link: string): boolean =>
  recordsIn(dir).some(
    ({ file, goesOn }) =>
      goesOn() &&
      readRecord(file).watched.some(
        ({ base, path, guard }) =>
          guard === 'moved-aside' && isBelow(base, link) && (path === link || isBelow(link, path)),
      ),
  )

/**
 * Decision 0641: what runs in this workspace that still go on found when they began. Read it before looking at the disk: a run makes
 * nothing before its record is there.
 */
export function foundByOthers(dir: string): FoundByOthers {
  const others = recordsIn(dir).flatMap(({ file, goesOn }) => (goesOn() ? [readRecord(file)] : []))
  const watched = new Map<string, WatchedPath>()
  for (const { watched: denied, told } of others)
    for (const each of [...denied, ...toldIn(told)])
      if (each.guard !== 'no-links' && (watched.get(each.path)?.declared ?? true))
        watched.set(each.path, each)
  return { watched: [...watched.values()], gitlinks: others.map(({ gitlinks }) => gitlinks) }
}

interface FoundByOthers {
  /** As missing, each once. */
  readonly watched: readonly WatchedPath[]
  /** Of each run. */
  readonly gitlinks: readonly KnownGitlinks[]
}

const toldIn = (told: Noted['told']): readonly WatchedPath[] =>
  Object.entries(told).flatMap(([base, names]) =>
    names.split('//').map((name) => ({ base, path: `${base}/${name}`, guard: 'told' as const })),
  )

const isBelow = (dir: string, path: string): boolean => path.startsWith(`${dir}/`)

interface RecordFile {
  readonly file: string
  readonly goesOn: () => boolean
}

const recordsIn = (dir: string): readonly RecordFile[] =>
  namesIn(dir).flatMap((name) => {
    const owner = RECORD.exec(name)?.[1]
    return owner === undefined ? [] : [{ file: join(dir, name), goesOn: () => isRunning(owner) }]
  })

const RECORD = /^(.+)-\d+\.json$/

function finish(record: string): readonly string[] {
  const noted = readRecord(record)
  const found = lookForNew(noted.watched, noted.since)
  settle(record, noted, found)
  return found.createdDenied.map((denied) =>
    describeDenied(denied, 'while a command ran that was killed or could not move it'),
  )
}

/** After a kill it is not known whether the command made it, or somebody on the host meanwhile. */
export function describeDenied(
  { path, movedTo, linkTo, isUnsearched, why = '' }: DeniedPath,
  when = 'while the command ran',
): string {
  if (isUnsearched)
    return `${showWhole(path)} was not looked through to its end: ${show(why)}; links that were made in it ${when} may lead git elsewhere: remove what is not git's, and run cordon again before git`
  const made = `${showWhole(path)} was made ${when}`
  if (linkTo !== undefined)
    return `${made}, a link to ${showWhole(linkTo)}; git deletes and writes through links in its own directory, so it is gone`
  const now =
    movedTo === undefined
      ? `, and cannot be moved aside: ${show(why)}`
      : `; it is now ${showWhole(movedTo)}: look at it, then it may be removed`
  return `${made}, although a rule denies it${now}`
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir)
  } catch {
    return [] // no run ever had something to record
  }
}

/** Half a record is of a run that was killed before it started anything. */
function readRecord(file: string): Noted {
  try {
    const { since, watched, told, gitlinks } = JSON.parse(readFileSync(file, 'utf8')) as Partial<
      Record<keyof Noted, unknown>
    >
    if (typeof since === 'number' && Array.isArray(watched))
      return {
        since,
        watched: watched.filter(isWatched),
        told: fieldsThat(told, (names) => typeof names === 'string'),
        gitlinks: fieldsThat(gitlinks, areNames),
      }
  } catch {
    // as below
  }
  return { since: 0, watched: [], told: {}, gitlinks: {} }
}

/** A record of an earlier version has none. */
const fieldsThat = <T>(value: unknown, isOne: (field: unknown) => field is T): Readonly<Record<string, T>> =>
  isFields(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, field]) => (isOne(field) ? [[key, field]] : [])),
      )
    : {}

const areNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

const isWatched = (value: unknown): value is WatchedPath =>
  typeof value === 'object' &&
  value !== null &&
  'base' in value &&
  typeof value.base === 'string' &&
  'path' in value &&
  typeof value.path === 'string' &&
  isBelow(value.base, value.path) &&
  'guard' in value &&
  (value.guard === 'moved-aside' || value.guard === 'no-links') &&
  (!('writable' in value) || areNames(value.writable))
