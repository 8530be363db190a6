import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs'
import { type Readable } from 'node:stream'
import { type CanonicalPath, type RelPath, ROOT, splitEntry } from '@cordon/policy'
import { type Directory, type Guarantee, type OpenedFile } from './directory.ts'
import { describeStats, type FileStat } from './entry.ts'
import { errnoOf, FileError, fileError, type Operation } from './errors.ts'
import { ExactDirectory, exactIsAvailable } from './exact.ts'
import { Handles } from './handles.ts'
import { type Entry, listEntries } from './list.ts'
import { moveEntry, type MoveOptions } from './move.ts'
import { type ByteRange, OpenFile } from './open-file.ts'
import { syncDirectory, type WriteOptions } from './publish.ts'
import { StagedFile } from './staged-file.ts'
import { sweepDirectory } from './sweep.ts'
import { VerifiedDirectory } from './verified.ts'
import { walkDirectory, type WalkEntry, type WalkOptions } from './walk.ts'

/**
 * SPEC 6.4: a directory held open, and file operations below it. Paths are walked from the handle one
 * component at a time and no link is followed, so what policy checked is what is touched. Make it with a
 * `Location`'s `anchor` and use it with its `inside`.
 */
export class Anchor implements Disposable {
  /** How strong the promise is on this machine; see `Guarantee`. */
  readonly guarantee: Guarantee
  readonly #handles: Handles
  readonly #swept = new Map<RelPath, number>()

  constructor(top: Directory) {
    this.guarantee = top.guarantee
    this.#handles = new Handles(top)
  }

  /** A regular file, for reading. */
  open(path: RelPath): OpenFile {
    return this.#openAs(path, 'open', openForReading)
  }

  /** For a log: every write goes to the end. Made if it is missing; not atomic, the caller recovers. */
  openAppend(path: RelPath, { mode = 0o666 }: { readonly mode?: number } = {}): OpenFile {
    const flags = constants.O_RDWR | constants.O_APPEND
    return this.#openAs(path, 'append to', (directory, name) => {
      try {
        return directory.openRegular(name, flags)
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error
        createEmpty(directory, name, mode)
        return directory.openRegular(name, flags)
      }
    })
  }

  /** Whole, in memory; larger than `limit` bytes is an error before anything is read. */
  readFile(path: RelPath, { limit }: { readonly limit?: number } = {}): NonSharedBuffer {
    return this.#reading(path, (file) => file.readAll(limit))
  }

  readRange(path: RelPath, range: ByteRange): NonSharedBuffer {
    return this.#reading(path, (file) => file.readRange(range))
  }

  readStream(path: RelPath, range?: ByteRange): Readable {
    return this.#openAs(path, 'read', openForReading).stream(range)
  }

  /** All or nothing, and durable when it returns: temporary file, fsync, rename, fsync of the directory. */
  writeFile(path: RelPath, data: string | Uint8Array, options: WriteOptions = {}): void {
    const staged = this.#stageFor(path, 'one call')
    staged.writeNow(typeof data === 'string' ? Buffer.from(data) : data)
    staged.commitNow(path, options)
  }

  /** As `writeFile`, and an error if anything has that name already: of two, exactly one succeeds. */
  createExclusive(path: RelPath, data: string | Uint8Array, options: { readonly mode?: number } = {}): void {
    this.writeFile(path, data, { ...options, expect: 'missing' })
  }

  /** For big files: takes the next chunk only when the last one is written. All or nothing. */
  async writeStream(
    path: RelPath,
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: WriteOptions = {},
  ): Promise<void> {
    const staged = this.#stageFor(path, 'long')
    try {
      for await (const chunk of source) await staged.write(chunk)
      await staged.commit(path, options)
    } finally {
      await staged.abort()
    }
  }

  /** A file whose final name is not known yet; it waits in `directory`. */
  stage(directory: RelPath): StagedFile {
    return this.#stageIn(directory, directory, 'long')
  }

  mkdir(path: RelPath, { mode = 0o777 }: { readonly mode?: number } = {}): void {
    this.#handles.withParent(path, 'make directory', (directory, name) => {
      directory.at((base) => mkdirSync(`${base}/${name}`, mode))
      syncDirectory(directory)
    })
  }

  /** With its missing parents. A directory that is there is fine; a link or a file there is an error. */
  mkdirp(path: RelPath, options: { readonly mode?: number } = {}): void {
    try {
      this.#handles.withDirectory(path, 'make directory', () => undefined)
    } catch (error) {
      const entry = splitEntry(path)
      if (!(error instanceof FileError) || error.code !== 'FILE_NOT_FOUND' || !entry) throw error
      this.mkdirp(entry.parent, options)
      this.#mkdirUnlessThere(path, options)
    }
  }

  /** A link at `path` with this text, which is not looked at. */
  symlink(path: RelPath, target: string): void {
    this.#handles.withParent(path, 'link', (directory, name) =>
      directory.at((base) => symlinkSync(target, `${base}/${name}`)),
    )
  }

  /** Removes the entry: of a link the link, of a FIFO the name. Not for directories. */
  unlink(path: RelPath): void {
    this.#handles.withParent(path, 'remove', (directory, name) =>
      directory.at((base) => unlinkSync(`${base}/${name}`)),
    )
  }

  /** Only an empty directory. */
  rmdir(path: RelPath): void {
    this.#handles.withParent(path, 'remove', (directory, name) =>
      directory.at((base) => rmdirSync(`${base}/${name}`)),
    )
  }

  /** Moves an entry, here or to another anchor on the same filesystem. Replaces nothing unless asked. */
  rename(from: RelPath, to: RelPath, options: MoveOptions & { readonly anchor?: Anchor } = {}): void {
    const target = options.anchor ?? this
    this.#handles.withParent(from, 'move', (source, name) =>
      target.#handles.withParent(to, 'move', (directory, newName) => {
        const old = { directory: source, name, path: from }
        moveEntry(old, { directory, name: newName, path: to }, options)
      }),
    )
  }

  /** Of the entry itself: a link is a link. */
  stat(path: RelPath): FileStat {
    return path === ROOT
      ? this.#handles.withDirectory(path, 'look at', (directory) => statIn(directory, '.'))
      : this.#handles.withParent(path, 'look at', statIn)
  }

  /** The text of a link, for display and for mounts. Never used to reach anything. */
  readlink(path: RelPath): string {
    return this.#handles.withParent(path, 'look at', (directory, name) => {
      const bytes = directory.at((base) => readlinkSync(`${base}/${name}`, 'buffer'))
      const text = bytes.toString('utf8')
      if (Buffer.from(text).equals(bytes)) return text
      throw new FileError(
        'FILE_INVALID',
        { operation: 'look at', path },
        'points to a name that is not UTF-8',
      )
    })
  }

  list(path: RelPath): Entry[] {
    return this.#handles.withDirectory(path, 'list', listEntries)
  }

  /** Lazily, parents before children; see `WalkOptions` for what is entered. */
  walk(path: RelPath = ROOT, options: WalkOptions = {}): Generator<WalkEntry> {
    return walkDirectory(() => this.#handles.reach(path, { operation: 'list', path }), path, options)
  }

  /** Removes what crashed writers left in this directory (decision 0012); says how many files that were. */
  sweepTemps(path: RelPath): number {
    return this.#handles.withDirectory(path, 'sweep', sweepDirectory)
  }

  /** Files and walks that are open stay usable; everything else is an error from now on. */
  close(): void {
    this.#handles.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #openAs(path: RelPath, operation: Operation, open: OpenIn): OpenFile {
    return new OpenFile(path, this.#handles.withParent(path, operation, open), operation)
  }

  #reading<T>(path: RelPath, read: (file: OpenFile) => T): T {
    const file = this.#openAs(path, 'read', openForReading)
    try {
      return read(file)
    } finally {
      file.close()
    }
  }

  #stageFor(path: RelPath, life: 'one call' | 'long'): StagedFile {
    return this.#stageIn(this.#handles.entry(path, 'write').parent, path, life)
  }

  #stageIn(directory: RelPath, path: RelPath, life: 'one call' | 'long'): StagedFile {
    const held = this.#handles.reach(directory, { operation: 'write', path })
    try {
      this.#sweepSometimes(directory, held.directory)
    } catch (error) {
      held.release()
      throw fileError(error, { operation: 'write', path })
    }
    return new StagedFile(this.#handles, held, path, life)
  }

  /** SPEC 6.4: the next write cleans up. Listing costs, so not more than once a minute in one directory. */
  #sweepSometimes(path: RelPath, directory: Directory): void {
    const now = performance.now()
    const last = this.#swept.get(path)
    if (last !== undefined && now - last < SWEEP_EVERY_MS) return
    if (this.#swept.size >= MOST_SWEPT) this.#swept.clear()
    this.#swept.set(path, now)
    try {
      sweepDirectory(directory)
    } catch (error) {
      // A directory we may write but not list is no reason to fail the write.
      if (errnoOf(error) === undefined) throw error
    }
  }

  #mkdirUnlessThere(path: RelPath, options: { readonly mode?: number }): void {
    try {
      this.mkdir(path, options)
    } catch (error) {
      if (!(error instanceof FileError) || error.code !== 'FILE_EXISTS') throw error
      this.#handles.withDirectory(path, 'make directory', () => undefined) // made meanwhile, or something else
    }
  }
}

/** Uses the process's authority once, to reach the directory; everything after goes by the handle. */
export function openAmbientAnchor(path: CanonicalPath): Anchor {
  try {
    return new Anchor(
      exactIsAvailable() ? ExactDirectory.openAmbient(path) : VerifiedDirectory.openAmbient(path),
    )
  } catch (error) {
    throw fileError(error, { operation: 'open', path })
  }
}

const statIn = (directory: Directory, name: string): FileStat =>
  describeStats(directory.at((base) => lstatSync(`${base}/${name}`, { bigint: true })))

type OpenIn = (directory: Directory, name: string) => OpenedFile

const openForReading: OpenIn = (directory, name) => directory.openRegular(name, constants.O_RDONLY)

function createEmpty(directory: Directory, name: string, mode: number): void {
  try {
    closeSync(directory.createRegular(name, constants.O_WRONLY, mode))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error // somebody else made it: as good
  }
}

const SWEEP_EVERY_MS = 60_000
const MOST_SWEPT = 1024
