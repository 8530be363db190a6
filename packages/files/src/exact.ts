import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs'
import { type Directory, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_PATH, type OpenedFile } from './directory.ts'
import { kindOf, sameFile } from './entry.ts'
import { errnoOf, WrongKind } from './errors.ts'

/**
 * SPEC 6.4 on Linux. The directory is a handle, and `/proc/self/fd/<handle>/<name>` is the kernel's own
 * way to say "this name in exactly that directory", whatever its path has become. It is what `openat`
 * does, which Node does not offer (decision 0010).
 */
export class ExactDirectory implements Directory {
  readonly guarantee = 'exact'
  #fd: number
  readonly #path: string

  private constructor(fd: number) {
    this.#fd = fd
    this.#path = `/proc/self/fd/${fd}`
  }

  /** Walks from `/` so that a link put into the canonical path since it was made is an error, too. */
  static openAmbient(path: string): ExactDirectory {
    let here = new ExactDirectory(openSync('/', O_PATH | O_DIRECTORY))
    for (const name of path.split('/')) {
      if (name === '') continue
      const above = here
      try {
        here = above.openDirectory(name)
      } finally {
        above.close()
      }
    }
    return here
  }

  at<T>(call: (base: string) => T): T {
    return call(this.#base)
  }

  openDirectory(name: string): ExactDirectory {
    const path = `${this.#base}/${name}`
    try {
      return new ExactDirectory(openSync(path, O_PATH | O_DIRECTORY | O_NOFOLLOW))
    } catch (error) {
      // The kernel says ENOTDIR for a link as well; only the message depends on what is found here.
      if (errnoOf(error) !== 'ENOTDIR') throw error
      throw new WrongKind(kindOf(lstatSync(path, { bigint: true })), 'directory')
    }
  }

  /**
   * O_PATH opens nothing: no FIFO's writer wakes up and no device does anything. Only when the handle
   * proves to be a regular file is that same file, not its name, opened.
   */
  openRegular(name: string, flags: number): OpenedFile {
    const found = openSync(`${this.#base}/${name}`, O_PATH | O_NOFOLLOW)
    try {
      const stats = fstatSync(found, { bigint: true })
      if (!stats.isFile()) throw new WrongKind(kindOf(stats), 'file')
      return { fd: openSync(`/proc/self/fd/${found}`, flags | O_NONBLOCK), stats }
    } finally {
      closeSync(found)
    }
  }

  createRegular(name: string, flags: number, mode: number): number {
    return openSync(`${this.#base}/${name}`, flags | constants.O_CREAT | constants.O_EXCL | O_NOFOLLOW, mode)
  }

  whereabouts(): string | undefined {
    try {
      return readlinkSync(this.#base)
    } catch {
      return undefined // deeper than PATH_MAX
    }
  }

  close(): void {
    const fd = this.#fd
    this.#fd = -1
    if (fd >= 0) closeSync(fd)
  }

  /** A closed handle's number may belong to another file by now, so it must never be used again. */
  get #base(): string {
    if (this.#fd < 0) throw new Error('this directory handle is closed')
    return this.#path
  }
}

let known: boolean | undefined

/** Whether `exact` holds here: proven once by use, because `/proc` may be missing or be somebody else's. */
export const exactIsAvailable = (): boolean => (known ??= process.platform === 'linux' && probe())

function probe(): boolean {
  try {
    const fd = openSync('/', O_PATH | O_DIRECTORY | O_NOFOLLOW)
    try {
      const seen = statSync(`/proc/self/fd/${fd}/.`, { bigint: true })
      return sameFile(seen, fstatSync(fd, { bigint: true })) && !isReadable(fd)
    } finally {
      closeSync(fd)
    }
  } catch {
    return false
  }
}

/** A handle made with O_PATH answers EBADF; any other answer means that the flag means something else. */
function isReadable(fd: number): boolean {
  try {
    readSync(fd, Buffer.alloc(1))
    return true
  } catch (error) {
    return errnoOf(error) !== 'EBADF'
  }
}
