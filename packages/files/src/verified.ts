import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  realpathSync,
  unlinkSync,
} from 'node:fs'
import { type Directory, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, type OpenedFile } from './directory.ts'
import { kindOf, sameFile } from './entry.ts'
import { errnoOf, Moved, WrongKind } from './errors.ts'

/**
 * SPEC 6.4 where there is no `/proc/self/fd`: open, then verify. Weaker than `exact`, and says so: a call
 * goes by path, and that the path leads to the held directory is checked before and after it. A swap in
 * between is *noticed* and fails the call, but a removal, rename or creation may by then have acted
 * on the other place; a swap and swap-back within one call is not noticed at all. What is *read* is
 * checked on the opened file itself.
 */
export class VerifiedDirectory implements Directory {
  readonly guarantee = 'verified'
  readonly #path: string
  /** Held so that the kernel cannot give this inode's number to another directory. */
  #fd: number
  readonly #found: BigIntStats

  private constructor(path: string) {
    this.#path = path
    const before = lstatSync(this.#self, { bigint: true })
    if (!before.isDirectory()) throw new WrongKind(kindOf(before), 'directory')
    this.#fd = openHeld(this.#self)
    this.#found = fstatSync(this.#fd, { bigint: true })
    try {
      this.#verify()
    } catch (error) {
      this.close()
      throw error
    }
  }

  static openAmbient(path: string): VerifiedDirectory {
    return new VerifiedDirectory(path === '/' ? '' : path)
  }

  at<T>(call: (base: string) => T): T {
    this.#verify()
    try {
      return call(this.#path)
    } finally {
      this.#verify()
    }
  }

  openDirectory(name: string): VerifiedDirectory {
    this.#verify()
    const child = new VerifiedDirectory(`${this.#path}/${name}`)
    return this.#verifiedOr(() => child.close(), child)
  }

  openRegular(name: string, flags: number): OpenedFile {
    this.#verify()
    const path = `${this.#path}/${name}`
    const before = lstatSync(path, { bigint: true })
    if (!before.isFile()) throw new WrongKind(kindOf(before), 'file')
    const fd = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK)
    const stats = fstatSync(fd, { bigint: true })
    if (!stats.isFile() || !sameFile(stats, before)) {
      closeSync(fd)
      throw new Moved()
    }
    return this.#verifiedOr(() => closeSync(fd), { fd, stats })
  }

  createRegular(name: string, flags: number, mode: number): number {
    this.#verify()
    const path = `${this.#path}/${name}`
    const fd = openSync(path, flags | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW, mode)
    const takeBack = (): void => {
      const mine = fstatSync(fd, { bigint: true })
      closeSync(fd)
      const there = lstatSync(path, { bigint: true, throwIfNoEntry: false })
      if (there && sameFile(there, mine)) unlinkSync(path)
    }
    return this.#verifiedOr(takeBack, fd)
  }

  whereabouts(): undefined {
    return undefined
  }

  close(): void {
    const fd = this.#fd
    this.#fd = -1
    if (fd >= 0) closeSync(fd)
  }

  get #self(): string {
    return this.#path === '' ? '/' : this.#path
  }

  #verifiedOr<T>(takeBack: () => void, result: T): T {
    try {
      this.#verify()
      return result
    } catch (error) {
      takeBack()
      throw error
    }
  }

  /** No link on the path, and the held directory at its end. */
  #verify(): void {
    if (this.#fd < 0) throw new Error('this directory handle is closed')
    try {
      const there = lstatSync(this.#self, { bigint: true })
      if (sameFile(there, this.#found) && realpathSync.native(this.#self) === this.#self) return
    } catch (error) {
      if (errnoOf(error) === undefined) throw error
    }
    throw new Moved()
  }
}

/** It was a directory a moment ago; if it is none now, somebody is swapping it. */
function openHeld(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    throw SWAPPED.has(errnoOf(error) ?? '') ? new Moved() : error
  }
}

const SWAPPED: ReadonlySet<string> = new Set(['ENOTDIR', 'ELOOP'])
