import { closeSync, fstatSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { O_PATH } from '@cordon/files'
import { CordonError, quote, show } from '@cordon/policy'
import { errorCode, reason } from './small-files.ts'

/** Who takes a lock, for the message others get to see. `command` without arguments: they can hold secrets. */
export interface LockHolder {
  readonly pid: number
  readonly command: string
}

export interface LockOptions {
  /** What the lock protects, as it reads in a message: `conversation 01j…`. */
  readonly what: string
  readonly holder: LockHolder
  /** Milliseconds to wait for another holder; 0 asks once. */
  readonly wait: number
  readonly signal?: AbortSignal | undefined
}

/**
 * A lock between processes, held by the kernel (docs/decisions/0060): SQLite takes a POSIX record lock on
 * the file, so it ends with the process however that ends, and nothing is guessed from times or pids.
 *
 * The lock file must never be opened by other means in this process: closing any descriptor of it would drop
 * the lock. It stays empty, and on release it stays where it is.
 */
export class HeldLock {
  readonly file: string
  readonly #database: DatabaseSync
  readonly #inode: bigint
  readonly #what: string

  constructor(file: string, database: DatabaseSync, inode: bigint, what: string) {
    this.file = file
    this.#database = database
    this.#inode = inode
    this.#what = what
  }

  /** Somebody may have deleted the lock file, and a second holder may have made a new one. Doubt is a no. */
  assertHeld(): void {
    if (this.#database.isOpen && inodeOf(this.file) === this.#inode) return
    throw new LockLostError(this.#what, this.file)
  }

  release(): void {
    if (!this.#database.isOpen) return
    // Before the lock goes, or it could be the next holder's note that is removed.
    if (inodeOf(this.file) === this.#inode) rmSync(noteOf(this.file), { force: true })
    this.#database.close()
  }

  /** Releases a lock whose subject is gone, and its file with it: whoever waits notices that, and looks again. */
  retire(): void {
    if (!this.#database.isOpen) return
    if (inodeOf(this.file) === this.#inode) {
      rmSync(noteOf(this.file), { force: true })
      rmSync(this.file)
    }
    this.#database.close()
  }
}

export async function acquireLock(file: string, options: LockOptions): Promise<HeldLock> {
  const deadline = performance.now() + options.wait
  for (let pause = 2; ; pause = Math.min(pause * 2, 50)) {
    options.signal?.throwIfAborted()
    const held = tryLock(file, options)
    if (held) return held
    const left = deadline - performance.now()
    if (left <= 0) throw new LockHeldError(options.what, readNote(file))
    await sleep(Math.min(pause, left), undefined, { signal: options.signal })
  }
}

export async function withLock<T>(
  file: string,
  options: LockOptions,
  work: (lock: HeldLock) => T | Promise<T>,
): Promise<T> {
  const lock = await acquireLock(file, options)
  try {
    return await work(lock)
  } finally {
    lock.release()
  }
}

/** Undefined when another holder has it, in this process or in another one. */
export function tryLock(file: string, options: Pick<LockOptions, 'what' | 'holder'>): HeldLock | undefined {
  for (let attempt = 0; attempt < 3; attempt++) {
    const held = lockOnce(file, options)
    if (held !== 'again') return held === 'busy' ? undefined : held
  }
  return undefined
}

/**
 * Locked is not enough: it must be the file everybody else will open. So its inode is compared from before
 * the open to after the lock. Not there before, or another one now: made or replaced meanwhile, again.
 */
function lockOnce(file: string, options: Pick<LockOptions, 'what' | 'holder'>): HeldLock | 'busy' | 'again' {
  const before = pin(file)
  let database: DatabaseSync | undefined
  try {
    database = new (loadSqlite().DatabaseSync)(file)
    // Without the first, SQLite writes a journal beside an empty file, which a full disk refuses and a kill leaves.
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
    const inode = inodeOf(file)
    if (inode === undefined || before.inode !== inode) return 'again'
    writeNote(file, options.holder)
    const held = new HeldLock(file, database, inode, options.what)
    database = undefined
    return held
  } catch (error) {
    if (isBusy(error)) return 'busy'
    if (inodeOf(file) !== before.inode) return 'again' // SQLite noticed, too: it fails when its file is deleted
    throw new LockUnavailableError(options.what, file, reason(error))
  } finally {
    database?.close()
    before.release()
  }
}

interface Pinned {
  readonly inode: bigint | undefined
  readonly release: () => void
}

/**
 * Which file has the name now. While it is pinned no other gets its number, so that what has the number later is this
 * file. Closing a handle made with O_PATH drops no lock; elsewhere than on Linux there is none, and numbers are believed.
 */
function pin(file: string): Pinned {
  if (process.platform !== 'linux') return { inode: inodeOf(file), release: () => {} }
  try {
    const fd = openSync(file, O_PATH)
    return { inode: fstatSync(fd, { bigint: true }).ino, release: () => closeSync(fd) }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'ENOTDIR') throw error
    return { inode: undefined, release: () => {} }
  }
}

/** When it is needed: most commands read without a lock, and should not pay for a database engine. */
const loadSqlite = (): typeof import('node:sqlite') =>
  createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite')

const SQLITE_BUSY = 5

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY

function inodeOf(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino
}

/** What the holder wrote about itself. A hint for people: never a reason to take or to break a lock. */
export interface LockNote extends LockHolder {
  readonly since: string
}

const noteOf = (file: string): string => `${file}.holder`

function writeNote(file: string, holder: LockHolder): void {
  const note: LockNote = { ...holder, since: new Date().toISOString() }
  try {
    writeFileSync(noteOf(file), JSON.stringify(note), { mode: 0o600 })
  } catch (error) {
    if (errorCode(error) !== 'ENOSPC') throw error // a full disk must not keep anybody from deleting things
  }
}

function readNote(file: string): LockNote | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(noteOf(file), 'utf8'))
    return isNote(note) ? note : undefined
  } catch {
    return undefined // not written yet, or half
  }
}

const isNote = (note: unknown): note is LockNote =>
  typeof note === 'object' &&
  note !== null &&
  'pid' in note &&
  typeof note.pid === 'number' &&
  'command' in note &&
  typeof note.command === 'string' &&
  'since' in note &&
  typeof note.since === 'string'

export class LockHeldError extends CordonError {
  readonly code = 'LOCK_HELD'
  readonly holder: LockNote | undefined
  constructor(what: string, holder: LockNote | undefined) {
    const who = holder
      ? `${quote(holder.command)} (pid ${holder.pid}) since ${show(holder.since)}`
      : 'another process'
    super(`${what} is in use by ${who}; try again when it has finished`)
    this.holder = holder
  }
}

class LockLostError extends CordonError {
  readonly code = 'LOCK_LOST'
  readonly file: string
  constructor(what: string, file: string) {
    super(`the lock of ${what} was lost: ${show(file)} was deleted or replaced while it was held`)
    this.file = file
  }
}

class LockUnavailableError extends CordonError {
  readonly code = 'LOCK_UNAVAILABLE'
  readonly file: string
  constructor(what: string, file: string, why: string) {
    super(`cannot lock ${what} with ${show(file)}: ${why}`)
    this.file = file
  }
}
