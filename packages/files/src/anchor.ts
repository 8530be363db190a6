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
import { type RelPath, ROOT, splitEntry } from '@cordon/policy'
import {
  type BoundedList,
  type Bounds,
  listSome,
  read as readEntries,
  type TreeEntry,
  treeOf,
  type TreeOptions,
} from './bounded.ts'
import { type Directory, type Guarantee, type OpenedFile } from './directory.ts'
import { describeStats, type FileStat, type FileVersion } from './entry.ts'
import { errnoOf, FileError, fileError, type Operation, refuseIfStopped, type Stoppable } from './errors.ts'
import { type AnchorOptions, Handles, type Held } from './handles.ts'
import { type Content, type VersionedContent } from './hash.ts'
import { type Entry, listEntries } from './list.ts'
import { moveEntry, type MoveOptions } from './move.ts'
import { type ByteRange, OpenFile } from './open-file.ts'
import { durably, inspectTarget, orTakeBack, syncDirectory, type WriteOptions } from './publish.ts'
import { type Removal, type RemoveOptions, removeTree } from './remove.ts'
import { StagedFile } from './staged-file.ts'
import { sweepDirectory, Sweeper } from './sweep.ts'
import { newTempName } from './temp-name.ts'
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
  readonly #sweeper = new Sweeper()

  constructor(top: Directory, options: AnchorOptions = {}) {
    this.guarantee = top.guarantee
    this.#handles = new Handles(top, options)
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

  /** For big files: each piece counts until the next is asked for. */
  readPieces(path: RelPath, range?: ByteRange): AsyncGenerator<Uint8Array> {
    return this.#openAs(path, 'read', openForReading).pieces(range)
  }

  /** Of the whole content, streamed; a file that is written meanwhile is an error. */
  async hash(path: RelPath, options: Stoppable = {}): Promise<VersionedContent> {
    using file = this.#openAs(path, 'read', openForReading)
    return await file.content(async () => refuseIfStopped(options, { operation: 'read', path }))
  }

  /**
   * A file's content under another name, here or below another anchor, with its mode. Replaces nothing unless
   * asked; all or nothing. Says what was copied.
   */
  async copy(from: RelPath, to: RelPath, options: CopyOptions = {}): Promise<Content> {
    const target = options.anchor ?? this
    using source = this.#openAs(from, 'copy', openForReading)
    const subject = { operation: 'copy', path: this.#handles.shown(from) } as const
    if (options.source !== undefined && source.stat.version !== options.source)
      throw new FileError('FILE_CHANGED', subject, 'is not the version that was looked at')
    const expect = options.replace === 'file' ? options.replaces : 'missing'
    target.#handles.withParent(to, 'copy', (directory, name) =>
      // Before anything is copied; again, and for good, when it is given its name.
      inspectTarget({ directory, name }, expect, { operation: 'copy', path: to }),
    )
    await using staged = target.#stageFor(to, 'long')
    const { sha256, size } = await source.content(async (chunk) => {
      refuseIfStopped(options, { operation: 'copy', path: from })
      await staged.write(chunk)
    })
    await staged.commit(to, { mode: source.stat.mode, ...(expect === undefined ? {} : { expect }) })
    return { sha256, size }
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

  /** A file whose final name is not known yet; it waits in `directory`, under a name that tells this call, if it has one. */
  stage(directory: RelPath, call?: string): StagedFile {
    return this.#stageIn(directory, directory, 'long', call)
  }

  mkdir(path: RelPath, { mode = 0o777 }: { readonly mode?: number } = {}): void {
    this.#handles.withParent(path, 'make directory', (directory, name) => {
      directory.at((base) => mkdirSync(`${base}/${name}`, mode))
      orTakeBack(
        () => syncDirectory(directory),
        () => directory.at((base) => rmdirSync(`${base}/${name}`)),
      )
    })
  }

  /**
   * With its missing parents; says which it made, the outermost first. All or nothing: an error leaves none of them.
   * A directory that is there is fine; a link or a file there is an error.
   */
  mkdirp(path: RelPath, options: { readonly mode?: number } = {}): RelPath[] {
    try {
      this.#handles.withDirectory(path, 'make directory', () => undefined)
      return []
    } catch (error) {
      const entry = splitEntry(path)
      if (!(error instanceof FileError) || error.code !== 'FILE_NOT_FOUND' || !entry) throw error
      const above = this.mkdirp(entry.parent, options)
      try {
        return this.#mkdirUnlessThere(path, options) ? [...above, path] : above
      } catch (failure) {
        this.removeEmpty(above)
        throw failure
      }
    }
  }

  /** Takes back what `mkdirp` made, the innermost first. One that somebody uses by now stays. */
  removeEmpty(made: readonly RelPath[]): void {
    for (const path of made.toReversed()) {
      try {
        this.rmdir(path)
      } catch (error) {
        if (!(error instanceof FileError)) throw error
      }
    }
  }

  /** A link at `path` with this text, which is not looked at. */
  symlink(path: RelPath, target: string): void {
    this.#handles.withParent(path, 'link', (directory, name) =>
      directory.at((base) => symlinkSync(target, `${base}/${name}`)),
    )
  }

  /**
   * Removes the entry: of a link the link, of a FIFO the name. Not for directories. With `version`, only what was looked
   * at: it is compared by the same handle, right before it goes.
   */
  unlink(path: RelPath, { version }: { readonly version?: FileVersion } = {}): void {
    this.#remove(path, unlinkSync, version)
  }

  /** Only an empty directory. */
  rmdir(path: RelPath): void {
    this.#remove(path, rmdirSync)
  }

  /**
   * Removes a directory and everything below it; a link below is removed, not followed. Never throws for what the
   * filesystem refuses: `Removal` says what was removed and what ended it.
   */
  async removeTree(path: RelPath, options: RemoveOptions = {}): Promise<Removal> {
    const { held, name } = this.#handles.reachParent(path, 'remove')
    try {
      const removal = await removeTree(held.directory, name, path, options)
      if (options.dryRun !== true) syncDirectory(held.directory)
      return removal
    } catch (error) {
      throw fileError(error, this.#handles.subject('remove', path))
    } finally {
      held.release()
    }
  }

  /** Makes what was removed, moved or made directly in this directory safe from a power cut. */
  sync(path: RelPath): void {
    this.#handles.withDirectory(path, 'sync', syncDirectory)
  }

  /**
   * Moves an entry, here or to another anchor. Replaces nothing unless asked. A file or a link also moves to another
   * filesystem, by copy, publish and remove; a directory does not.
   */
  rename(from: RelPath, to: RelPath, options: MoveOptions & { readonly anchor?: Anchor } = {}): void {
    const target = options.anchor ?? this
    this.#handles.withParent(from, 'move', (source, name) =>
      target.#handles.withParent(to, 'move', (directory, newName) => {
        const old = { directory: source, name, path: this.#handles.shown(from) }
        moveEntry(old, { directory, name: newName, path: target.#handles.shown(to) }, options)
      }),
    )
  }

  /** Of the entry itself: a link is a link. */
  stat(path: RelPath): FileStat {
    return path === ROOT && !this.#handles.isFile
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
        this.#handles.subject('look at', path),
        'points to a name that is not UTF-8',
      )
    })
  }

  list(path: RelPath): Entry[] {
    return this.#handles.withDirectory(path, 'list', listEntries)
  }

  /** Lazily, in the order of the filesystem: who reads many can do so in pieces. Nothing is read after the caller stops. */
  *entries(path: RelPath): Generator<Entry> {
    const held = this.#handles.reachDirectory(path, 'list')
    try {
      yield* readEntries(held.directory)
    } catch (error) {
      throw fileError(error, this.#handles.subject('list', path))
    } finally {
      held.release()
    }
  }

  /** The first of them, within bounds: nothing beyond them is read. */
  listSome(path: RelPath, bounds: Bounds): BoundedList<Entry> {
    return this.#handles.withDirectory(path, 'list', (directory) => listSome(directory, bounds))
  }

  /** Everything below, within bounds, for display. */
  tree(path: RelPath, options: TreeOptions): BoundedList<TreeEntry> {
    return treeOf(() => this.#handles.reach(path, { operation: 'list', path }), path, options)
  }

  /** Lazily, parents before children; see `WalkOptions` for what is entered. */
  walk(path: RelPath = ROOT, options: WalkOptions = {}): Generator<WalkEntry> {
    const reach = (): Held => this.#handles.reachDirectory(path, 'list')
    return walkDirectory({ reach, path, shown: (each) => this.#handles.shown(each) }, options)
  }

  /** Removes what crashed writers and these calls left in this directory (decision 0012); says how many files that were. */
  sweepTemps(path: RelPath, ended?: ReadonlySet<string>): number {
    return this.#handles.withDirectory(path, 'sweep', (directory) => sweepDirectory(directory, ended))
  }

  /** Files and walks that are open stay usable; everything else is an error from now on. */
  close(): void {
    this.#handles.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #openAs(path: RelPath, operation: Operation, open: OpenIn): OpenFile {
    return new OpenFile(this.#handles.shown(path), this.#handles.withParent(path, operation, open), operation)
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

  #stageIn(directory: RelPath, path: RelPath, life: 'one call' | 'long', call?: string): StagedFile {
    const held = this.#handles.reach(directory, this.#handles.subject('write', path))
    try {
      this.#sweeper.sweepSometimes(directory, held.directory)
    } catch (error) {
      held.release()
      throw fileError(error, this.#handles.subject('write', path))
    }
    return new StagedFile(this.#handles, held, path, life, newTempName(call))
  }

  /** Durable when it returns: what was removed does not come back with the next start of the machine. */
  #remove(path: RelPath, call: (path: string) => void, version?: FileVersion): void {
    this.#handles.withParent(path, 'remove', (directory, name) =>
      durably([directory], () => {
        if (version !== undefined && statIn(directory, name).version !== version)
          throw new FileError(
            'FILE_CHANGED',
            this.#handles.subject('remove', path),
            'is not the version that was looked at',
          )
        directory.at((base) => call(`${base}/${name}`))
      }),
    )
  }

  /** Whether it was made here. */
  #mkdirUnlessThere(path: RelPath, options: { readonly mode?: number }): boolean {
    try {
      this.mkdir(path, options)
      return true
    } catch (error) {
      if (!(error instanceof FileError) || error.code !== 'FILE_EXISTS') throw error
      this.#handles.withDirectory(path, 'make directory', () => undefined) // made meanwhile, or something else
      return false
    }
  }
}

/** `replace: 'file'`: an existing regular file may be replaced. */
export interface CopyOptions extends MoveOptions, Stoppable {
  readonly anchor?: Anchor
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
