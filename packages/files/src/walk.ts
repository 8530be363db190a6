import { constants } from 'node:fs'
import { joinRel, type RelPath } from '@cordon/policy'
import { type Directory } from './directory.ts'
import { type EntryKind } from './entry.ts'
import { FileError, fileError } from './errors.ts'
import { type Held } from './handles.ts'
import { type Entry, listEntries } from './list.ts'
import { OpenFile } from './open-file.ts'

/** What a walk is told by its anchor: `shown` is what the caller calls a path. */
export interface WalkStart {
  readonly reach: () => Held
  readonly path: RelPath
  readonly shown: (path: RelPath) => RelPath
}

export interface WalkOptions {
  /** How many levels of directories are entered; each one holds a file descriptor. Default 64. */
  readonly maxDepth?: number
  /** Asked before a directory is opened; false leaves it closed and its content unlisted. */
  readonly enter?: (path: RelPath) => boolean
  /** Told of a directory that cannot be listed or lies too deep. Without it, that ends the walk. */
  readonly unreadable?: (error: FileError) => void
}

const MOST_LEVELS = 64

/** One entry met on a walk. `path` is undefined when its name is not UTF-8; then there are `bytes`. */
export class WalkEntry {
  readonly parent: RelPath
  readonly path: RelPath | undefined
  readonly bytes: NonSharedBuffer | undefined
  readonly kind: EntryKind
  /** 1 for what lies directly in the directory that is walked. */
  readonly depth: number
  readonly #directory: Directory
  readonly #shown: WalkStart['shown']

  constructor(level: Level, shown: WalkStart['shown'], entry: Entry, depth: number) {
    const { directory, path: parent } = level
    this.#directory = directory
    this.#shown = shown
    this.parent = parent
    this.path = entry.name === undefined ? undefined : joinRel(parent, entry.name)
    this.bytes = entry.bytes
    this.kind = entry.kind
    this.depth = depth
  }

  /** By the walk's own handle, so nothing is reached again. Only until the walk goes on. */
  open(): OpenFile {
    const { path } = this
    if (path === undefined) throw new Error('an entry whose name is not UTF-8 cannot be opened')
    try {
      const name = path.slice(path.lastIndexOf('/') + 1)
      return new OpenFile(this.#shown(path), this.#directory.openRegular(name, constants.O_RDONLY), 'read')
    } catch (error) {
      throw fileError(error, { operation: 'open', path: this.#shown(path) })
    }
  }
}

interface Level {
  readonly directory: Directory
  readonly path: RelPath
  readonly entries: Iterator<Entry>
}

/**
 * Everything below a directory, parents before children, lazily: one level of handles is held, and all of
 * them are closed when the caller stops. Links are reported and not followed; what vanishes or is
 * swapped for a link while the walk is under way is passed over.
 */
export function* walkDirectory(start: WalkStart, options: WalkOptions): Generator<WalkEntry> {
  const top = start.reach()
  const levels: Level[] = []
  try {
    levels.push(openLevel(top.directory, start.path, start))
    for (let level = levels.at(-1); level; level = levels.at(-1)) {
      const { value, done } = level.entries.next()
      if (done) {
        levels.pop()
        if (level.directory !== top.directory) level.directory.close()
        continue
      }
      const entry = new WalkEntry(level, start.shown, value, levels.length)
      yield entry
      if (entry.kind !== 'directory' || entry.path === undefined) continue
      if (options.enter && !options.enter(entry.path)) continue
      const below = descend(level.directory, entry.path, levels.length, start, options)
      if (below) levels.push(below)
    }
  } finally {
    for (const { directory } of levels) if (directory !== top.directory) directory.close()
    top.release()
  }
}

function descend(
  above: Directory,
  path: RelPath,
  depth: number,
  start: WalkStart,
  options: WalkOptions,
): Level | undefined {
  const subject = { operation: 'list', path: start.shown(path) } as const
  const { maxDepth = MOST_LEVELS, unreadable } = options
  try {
    if (depth >= maxDepth)
      throw new FileError('FILE_TOO_DEEP', subject, `is more than ${maxDepth} levels deep`)
    const directory = above.openDirectory(path.slice(path.lastIndexOf('/') + 1))
    try {
      return openLevel(directory, path, start)
    } catch (error) {
      directory.close()
      throw error
    }
  } catch (thrown) {
    const error = fileError(thrown, subject)
    if (!(error instanceof FileError)) throw error
    if (GONE.has(error.code)) return undefined
    if (!unreadable) throw error
    unreadable(error)
    return undefined
  }
}

const GONE: ReadonlySet<string> = new Set([
  'FILE_NOT_FOUND',
  'FILE_NOT_DIRECTORY',
  'FILE_IS_LINK',
  'FILE_CHANGED',
])

function openLevel(directory: Directory, path: RelPath, { shown }: WalkStart): Level {
  try {
    return { directory, path, entries: listEntries(directory).values() }
  } catch (error) {
    throw fileError(error, { operation: 'list', path: shown(path) })
  }
}
