import { joinRel, type RelPath, ROOT, splitEntry } from '@cordon/policy'
import { type Directory } from './directory.ts'
import { FileError, fileError, type Operation, type Subject } from './errors.ts'

/** Enough for the directories a tool is busy in; each one held costs a file descriptor. */
const MOST_CACHED = 16

/** No `RelPath` has such a component. A string that was only cast to one must not get out by it. */
const CLIMBS: ReadonlySet<string> = new Set(['', '.', '..'])

/** What is only done to files; of the anchor, which is a directory, that is what there is to say. */
const ON_FILES: ReadonlySet<Operation> = new Set(['open', 'read', 'write', 'append to'])

/** A directory that several users share; the last one to release it closes it. */
export class Held {
  readonly directory: Directory
  #users = 1
  constructor(directory: Directory) {
    this.directory = directory
  }

  retain(): this {
    this.#users++
    return this
  }

  release(): void {
    if (--this.#users === 0) this.directory.close()
  }
}

export interface AnchorOptions {
  /** What the caller calls the anchor, for messages: `fork/a` is the file `a` of the mount `fork`. */
  readonly shownAs?: RelPath
  /** The anchor is this one file of the directory that is held: `.` names it, and there is nothing else. */
  readonly only?: string
}

/**
 * From paths to held directories, one component at a time, following no link. The directories used last
 * stay open, and each is used again only after the kernel has said that it still is where it was
 * reached (decision 0011), so a kept handle proves the same as a fresh walk.
 */
export class Handles {
  readonly #top: Held
  /** Where the anchor was when it was opened. If it moves, nothing kept is in place any more. */
  readonly #home: string | undefined
  readonly #cached = new Map<RelPath, Held>()
  readonly #shownAs: RelPath
  readonly #only: string | undefined
  #open = true

  constructor(top: Directory, { shownAs = ROOT, only }: AnchorOptions) {
    this.#top = new Held(top)
    this.#shownAs = shownAs
    this.#only = only
    const home = top.whereabouts()
    this.#home = home === '/' ? '' : home
  }

  get isFile(): boolean {
    return this.#only !== undefined
  }

  /** What an operation is about, for messages. */
  subject(operation: Operation, path: RelPath): Subject {
    return { operation, path: this.shown(path) }
  }

  shown(path: RelPath): RelPath {
    return joinRel(this.#shownAs, path)
  }

  /** Runs `act` on the directory that holds the entry; whatever it throws is given its path. */
  withParent<T>(path: RelPath, operation: Operation, act: (directory: Directory, name: string) => T): T {
    const { held, name } = this.reachParent(path, operation)
    try {
      return act(held.directory, name)
    } catch (error) {
      throw fileError(error, this.subject(operation, path))
    } finally {
      held.release()
    }
  }

  /** The same for a directory itself, which may be the anchor. */
  withDirectory<T>(path: RelPath, operation: Operation, act: (directory: Directory) => T): T {
    const subject = this.subject(operation, path)
    const held = this.reachDirectory(path, operation)
    try {
      return act(held.directory)
    } catch (error) {
      throw fileError(error, subject)
    } finally {
      held.release()
    }
  }

  /** As `reach`, for a caller that wants the directory itself and not an entry in it. */
  reachDirectory(path: RelPath, operation: Operation): Held {
    const subject = this.subject(operation, path)
    if (this.#only !== undefined) throw this.#notDirectory(subject)
    return this.reach(path, subject)
  }

  /** The caller releases what it gets. */
  reach(path: RelPath, subject: Subject): Held {
    if (!this.#open) throw new Error('this anchor is closed')
    if (path === ROOT) return this.#top.retain()
    const cached = this.#cached.get(path)
    if (cached) {
      this.#cached.delete(path)
      if (this.#isInPlace(cached, path)) {
        this.#cached.set(path, cached) // last again: the first one is the one to go
        return cached.retain()
      }
      cached.release()
    }
    return this.#step(path, subject)
  }

  /** As `reach`, with the entry's own name. */
  reachParent(path: RelPath, operation: Operation): { held: Held; name: string } {
    const { parent, name } = this.entry(path, operation)
    return { held: this.reach(parent, this.subject(operation, path)), name }
  }

  /** The directory and the name in it; the anchor itself is an entry of no directory here. */
  entry(path: RelPath, operation: Operation): { parent: RelPath; name: string } {
    const entry = splitEntry(path)
    if (this.#only !== undefined) {
      if (entry) throw this.#notDirectory(this.subject(operation, path))
      return { parent: ROOT, name: this.#only }
    }
    if (entry && !CLIMBS.has(entry.name)) return entry
    const subject = this.subject(operation, path)
    if (entry) throw new FileError('FILE_INVALID', subject, 'is not a normal path')
    if (ON_FILES.has(operation))
      throw new FileError('FILE_NOT_REGULAR', subject, 'is not a regular file (directory)')
    throw new FileError('FILE_INVALID', subject, 'is the directory that everything here lies in')
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    for (const held of this.#cached.values()) held.release()
    this.#cached.clear()
    this.#top.release()
  }

  #notDirectory(subject: Subject): FileError {
    return new FileError('FILE_NOT_DIRECTORY', { ...subject, at: this.#shownAs }, 'is not a directory')
  }

  #step(path: RelPath, subject: Subject): Held {
    const { parent, name } = this.entry(path, subject.operation)
    const above = this.reach(parent, subject)
    try {
      const held = new Held(above.directory.openDirectory(name))
      this.#keep(path, held)
      return held
    } catch (error) {
      throw fileError(error, { ...subject, at: this.shown(path) })
    } finally {
      above.release()
    }
  }

  #keep(path: RelPath, held: Held): void {
    if (this.#home === undefined) return // nobody could say later whether it is in place
    this.#cached.set(path, held.retain())
    if (this.#cached.size <= MOST_CACHED) return
    for (const [oldest, unused] of this.#cached) {
      this.#cached.delete(oldest)
      unused.release()
      return
    }
  }

  /**
   * The handle was reached without following a link, so it is on a mount of ours, and there one place has
   * one path: the one that policy checked. Doubtful spellings are never in place: U+FFFD may stand for any
   * bytes, and the kernel marks a removed directory by appending ` (deleted)`.
   */
  #isInPlace(held: Held, path: RelPath): boolean {
    const now = held.directory.whereabouts()
    if (now !== `${this.#home}/${path}`) return false
    return !now.includes('\ufffd') && !now.endsWith(' (deleted)')
  }
}
