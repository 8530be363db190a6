import { opendirSync } from 'node:fs'
import { type RelPath, joinRel } from '@cordon/policy'
import { type Directory } from './directory.ts'
import { type EntryKind, kindOf } from './entry.ts'
import { FileError, fileError } from './errors.ts'
import { type Held } from './handles.ts'
import { type Entry } from './list.ts'

/** How much of a listing is wanted. */
export interface Bounds {
  readonly entries: number
  /** Of the names as JSON, with 64 bytes for what is said about each. */
  readonly bytes: number
}

export interface BoundedList<T> {
  readonly entries: readonly T[]
  /** There is more than the bounds allow. */
  readonly truncated: boolean
}

/** SPEC 7.3: reads no more of the directory than it returns, so that 200,000 names cost no more than the first. */
export function listSome(directory: Directory, bounds: Bounds): BoundedList<Entry> {
  return new Budget(bounds).list(directory, (entry) => textOf(entry))
}

export interface TreeOptions extends Bounds {
  /** How many levels are listed: 1 is what lies directly in the directory. */
  readonly depth: number
}

export interface TreeEntry {
  /** Undefined when a name on the way is not UTF-8. */
  readonly path: RelPath | undefined
  readonly bytes: NonSharedBuffer | undefined
  readonly kind: EntryKind
  readonly depth: number
  /** Of a directory: its content is not listed, because it lies too deep or cannot be read. */
  readonly closed: boolean
}

/** Parents before children, by name. No link is followed; what vanishes meanwhile is passed over. */
export function treeOf(reach: () => Held, start: RelPath, options: TreeOptions): BoundedList<TreeEntry> {
  const top = reach()
  try {
    const tree = new Tree(options)
    tree.enter(top.directory, start, 1)
    return { entries: tree.entries, truncated: tree.budget.truncated }
  } catch (error) {
    throw fileError(error, { operation: 'list', path: start })
  } finally {
    top.release()
  }
}

/** As deep as handles are held, whatever is asked for. */
const MOST_DEPTH = 64

class Tree {
  readonly entries: TreeEntry[] = []
  readonly budget: Budget
  readonly #depth: number

  constructor(options: TreeOptions) {
    this.budget = new Budget(options)
    this.#depth = Math.min(options.depth, MOST_DEPTH)
  }

  enter(directory: Directory, at: RelPath, depth: number): void {
    const { entries } = this.budget.list(directory, (entry) => pathOf(at, entry) ?? textOf(entry))
    const named = entries.map((entry) => ({ entry, text: textOf(entry) }))
    for (const { entry } of named.sort((a, b) => (a.text < b.text ? -1 : 1)))
      this.#add(directory, at, entry, depth)
  }

  #add(directory: Directory, at: RelPath, entry: Entry, depth: number): void {
    const path = pathOf(at, entry)
    const place = this.entries.length
    const shown = { path, bytes: entry.bytes, kind: entry.kind, depth, closed: false }
    this.entries.push(shown)
    if (entry.kind !== 'directory') return
    const entered = path !== undefined && depth < this.#depth && this.#below(directory, path, entry, depth)
    if (!entered) this.entries[place] = { ...shown, closed: true }
  }

  #below(directory: Directory, path: RelPath, entry: Entry, depth: number): boolean {
    try {
      const below = directory.openDirectory(entry.name ?? '')
      try {
        this.enter(below, path, depth + 1)
      } finally {
        below.close()
      }
      return true
    } catch (thrown) {
      const error = fileError(thrown, { operation: 'list', path })
      if (!(error instanceof FileError)) throw error
      return false
    }
  }
}

/** What is left of the bounds, shared by all directories of one listing. */
class Budget {
  truncated = false
  #entries: number
  #bytes: number

  constructor({ entries, bytes }: Bounds) {
    this.#entries = entries
    this.#bytes = bytes
  }

  list(directory: Directory, text: (entry: Entry) => string): BoundedList<Entry> {
    const entries: Entry[] = []
    for (const entry of read(directory)) {
      if (!this.#take(text(entry))) break
      entries.push(entry)
    }
    return { entries, truncated: this.truncated }
  }

  #take(text: string): boolean {
    this.#entries--
    this.#bytes -= Buffer.byteLength(JSON.stringify(text)) + 64
    if (this.#entries < 0 || this.#bytes < 0) this.truncated = true
    return !this.truncated
  }
}

/** Lazily; the handle is closed when the caller stops. */
export function* read(directory: Directory): Generator<Entry> {
  const options = { encoding: 'buffer' as BufferEncoding, bufferSize: 64 }
  const handle = directory.at((base) => opendirSync(`${base}/.`, options))
  try {
    for (let entry = handle.readSync(); entry; entry = handle.readSync()) {
      const bytes = entry.name as unknown as NonSharedBuffer // what the encoding asks for; the types do not know
      const name = bytes.toString('utf8')
      yield Buffer.from(name).equals(bytes)
        ? { name: name as RelPath, kind: kindOf(entry) }
        : { bytes, kind: kindOf(entry) }
    }
  } finally {
    handle.closeSync()
  }
}

const pathOf = (at: RelPath, { name }: Entry): RelPath | undefined =>
  name === undefined ? undefined : joinRel(at, name)

const textOf = ({ name, bytes }: Entry): string => name ?? bytes.toString('latin1')
