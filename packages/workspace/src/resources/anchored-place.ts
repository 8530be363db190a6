import { dirname, join } from 'node:path'
import { type Anchor, FileError, openAmbientAnchor, type OpenFile } from '@cordon/files'
import { below, type CanonicalPath, type RelPath, show } from '@cordon/policy'
import { systemReason } from '../small-files.ts'
import { AttachError } from './errors.ts'

/**
 * SPEC 1.3, 6.4: what was named, and all below it, by canonical paths that are walked from a held handle. No link is followed, not
 * even one that was put there after the path was looked at, so what is read is what has that path. Throws AttachError.
 */
export class AnchoredPlace implements Disposable {
  readonly path: string
  readonly #input: string
  readonly #base: string
  readonly #anchor: Anchor

  /** In the workspace its root is held, so that the ignore files above are read by the same handle. */
  constructor(path: string, input: string, root: string) {
    this.path = path
    this.#input = input
    this.#base = below(root, path) === undefined ? dirname(path) : root
    this.#anchor = this.#told(() => openAmbientAnchor(this.#base as CanonicalPath))
  }

  kind(): 'file' | 'directory' {
    const { kind } = this.#told(() => this.#anchor.stat(this.#inside(this.path)))
    if (kind === 'file' || kind === 'directory') return kind
    throw kind === 'link'
      ? new AttachError(this.#input, `${show(this.path)}: ${WORDS.FILE_IS_LINK}`)
      : new AttachError(this.#input, 'it is neither a file nor a directory')
  }

  open(path: string): OpenFile {
    return this.#told(() => this.#anchor.open(this.#inside(path)))
  }

  list(dir: string): ReturnType<Anchor['list']> {
    return this.#told(() => this.#anchor.list(this.#inside(dir)))
  }

  /** The content of a small file; undefined where there is none. `about` begins the message of what else is wrong with it. */
  readIfThere(path: string, limit: number, about: string): Buffer | undefined {
    try {
      return this.#anchor.readFile(this.#inside(path), { limit })
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      if (error.code === 'FILE_NOT_FOUND') return undefined
      throw new AttachError(this.#input, `${about}: ${wordsOf(error)}`)
    }
  }

  [Symbol.dispose](): void {
    this.#anchor.close()
  }

  #inside(path: string): RelPath {
    const inside = below(this.#base, path)
    if (inside === undefined) throw new Error(`${path} is not below ${this.#base}`)
    return inside
  }

  #told<T>(act: () => T): T {
    try {
      return act()
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      const at = error.at.startsWith('/') ? error.at : join(this.#base, error.at)
      // What was named needs no name, unless it has become something else since then.
      const where = at === this.path && error.errno !== undefined ? '' : `${show(at)}: `
      throw new AttachError(this.#input, where + wordsOf(error))
    }
  }
}

const WORDS = {
  FILE_IS_LINK: 'it is a symbolic link',
  FILE_NOT_REGULAR: 'it is not a regular file',
  FILE_NOT_DIRECTORY: 'it is not a directory',
  FILE_TOO_LARGE: 'it is too large',
  FILE_CHANGED: 'it was moved or replaced meanwhile',
} as const

const wordsOf = ({ code, errno }: FileError): string =>
  errno === undefined ? ((WORDS as Partial<Record<string, string>>)[code] ?? code) : systemReason(errno)
