import { lstatSync, realpathSync } from 'node:fs'
import { type Anchor, FileError, type FileStat, openAmbientDiskAnchor } from '@cordon/files'
import {
  FsAccessError,
  InvalidPathError,
  type Location,
  locateEntry,
  locateObject,
  openAmbientRoot,
  parseRelPath,
  type RelPath,
  type Root,
  ROOT,
  show,
  UnresolvableError,
} from '@cordon/policy'
import { Refusal } from '../errors.ts'
import { coversPath, type PathPrefix } from '../tokens/prefix.ts'
import { OwnDirectory } from './own-directory.ts'

/** Where a request's path really is: found by following links, used without following any (SPEC 6.4). */
export interface Place {
  /** The canonical path: what is decided on, recorded and touched. */
  readonly path: string
  readonly anchor: Anchor
  readonly inside: RelPath
  /** As it was when it was found; undefined when nothing is there. */
  readonly stat: FileStat | undefined
}

/** `entry`: a link itself; `object`: what it leads to. */
export type Meaning = 'object' | 'entry'

interface Held {
  readonly root: Root
  readonly anchor: Anchor
  readonly identity: string
  /** Requests that work in it. */
  users: number
  /** Another directory has its name by now: the last one who works in it closes it. */
  isReplaced: boolean
}

const MOST_HELD = 64

/** The directories that delegations are for, held open; each is proven to be in its place before it is used. */
export class Places {
  readonly #held = new Map<PathPrefix, Held>()
  readonly #own: OwnDirectory

  constructor(dir: string) {
    this.#own = OwnDirectory.openAmbient(dir)
  }

  /** What one request finds stays open until it ends, however many others come meanwhile. */
  visit(): Visit {
    this.#own.lookAgain()
    let used: Held | undefined
    return {
      find: (prefix, path, meaning) => {
        try {
          const direct = meaning === 'object' && isWithoutLinks(path)
          const held = direct ? this.#at(prefix) : this.#hold(prefix)
          // A request has one prefix: source and destination are in the same directory, or it is refused.
          if (used && used !== held) throw exchanged(prefix)
          if (!used) held.users++
          used = held
          return direct ? placeOf(held, path, insideOf(prefix, path)) : find(held, prefix, path, meaning)
        } catch (error) {
          throw asRefusal(error, path)
        }
      },
      end: () => {
        if (used && --used.users === 0 && used.isReplaced) used.anchor.close()
        used = undefined
      },
    }
  }

  close(): void {
    for (const { anchor } of this.#held.values()) anchor.close()
    this.#held.clear()
  }

  /** A prefix that is a link, or lies below one, is decided by its real path: it is another directory. */
  #hold(prefix: PathPrefix): Held {
    if (lookAt(prefix, (path) => realpathSync.native(path)) !== prefix) throw linked(prefix)
    return this.#at(prefix)
  }

  /** Of a prefix that was no link a moment ago, and lay below none: the one that is held, if it is still the same directory. */
  #at(prefix: PathPrefix): Held {
    const held = this.#held.get(prefix)
    const { dev, ino } = lookAt(prefix, (path) => lstatSync(path, { bigint: true }))
    const identity = `${dev}:${ino}`
    if (held?.identity === identity) return held
    this.#held.delete(prefix)
    if (held) held.isReplaced = true
    if (held?.users === 0) held.anchor.close()
    return this.#open(prefix, identity)
  }

  /** The directory that was just found, or none: what has its name by now may be a link that came since, or another one. */
  #open(prefix: PathPrefix, identity: string): Held {
    requireDisk(prefix)
    if (coversPath(this.#own.path, prefix))
      throw new Refusal('resource_out_of_scope', `${show(prefix)} is the provider’s own`)
    const root = openAmbientRoot(prefix)
    const real: string = root.path
    if (real !== prefix) throw linked(prefix)
    // Follows no link, in no component of the path.
    const anchor = openAmbientDiskAnchor(root.path, { closed: (each) => this.#own.holds(each) })
    if (anchor.stat(ROOT).identity !== identity) {
      anchor.close()
      throw exchanged(prefix)
    }
    const held = { root, anchor, identity, users: 0, isReplaced: false }
    this.#makeRoom()
    this.#held.set(prefix, held)
    return held
  }

  /** Delegating on makes as many prefixes as an agent likes: what somebody works in is not closed for them. */
  #makeRoom(): void {
    for (const [prefix, { anchor, users }] of this.#held) {
      if (this.#held.size < MOST_HELD) return
      if (users > 0) continue
      anchor.close()
      this.#held.delete(prefix)
    }
  }
}

export interface Visit {
  /** SPEC 7.3: symlink-safe resolution; throws what the answer will be. */
  find(prefix: PathPrefix, path: string, meaning: Meaning): Place
  end(): void
}

function find(held: Held, prefix: PathPrefix, path: string, meaning: Meaning): Place {
  const { root } = held
  const input = insideOf(prefix, path)
  const { absolute, inside }: Location =
    meaning === 'entry' && input !== ROOT
      ? locateEntry(root, undefined, input)
      : locateObject(root, undefined, input, 'read')
  return placeOf(held, absolute, inside)
}

function placeOf({ anchor }: Held, path: string, inside: RelPath): Place {
  requireDisk(path)
  return { path, anchor, inside, stat: statOf(anchor, inside) }
}

const insideOf = (prefix: PathPrefix, path: string): RelPath =>
  path === prefix ? ROOT : parseRelPath(path.slice(prefix === '/' ? 1 : prefix.length + 1))

/**
 * It is there, and no name on the way to it is a link: so none is on the way to the prefix, which it begins with, and what it
 * leads to need not be found by looking from there. One look instead of two, for most of what is read (decision 0535).
 */
function isWithoutLinks(path: string): boolean {
  try {
    return realpathSync.native(path) === path && !path.includes(REPLACEMENT)
  } catch {
    return false // why, is found out from the prefix on
  }
}

/** What a name that is not UTF-8 is shown with: it may stand for another name. */
const REPLACEMENT = '\ufffd'

export function statOf(anchor: Anchor, inside: RelPath): FileStat | undefined {
  try {
    return anchor.stat(inside)
  } catch (error) {
    if (
      error instanceof FileError &&
      (error.code === 'FILE_NOT_FOUND' || error.code === 'FILE_NOT_DIRECTORY')
    )
      return undefined
    throw error
  }
}

/** By name here; by the type of the filesystem in the anchor, wherever it is mounted. */
function requireDisk(path: string): void {
  if (!KERNELS.test(path)) return
  throw new Refusal('resource_out_of_scope', `${show(path)} is of the kernel, not of a disk`)
}

const KERNELS = /^\/(?:proc|sys|dev)(?:\/|$)/

const notPermitted = (path: string): Refusal =>
  new Refusal('not_permitted', `${show(path)} lies where the provider’s own user may not look`, { path })

function lookAt<T>(prefix: PathPrefix, look: (path: PathPrefix) => T): T {
  try {
    return look(prefix)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw notPermitted(prefix)
    throw new Refusal('not_found', `the delegation’s directory ${show(prefix)} does not exist`)
  }
}

const linked = (prefix: PathPrefix): Refusal =>
  new Refusal(
    'resource_out_of_scope',
    `the delegation’s directory ${show(prefix)} is, or lies below, a symbolic link`,
  )

const exchanged = (prefix: PathPrefix): Refusal =>
  new Refusal('changed', `the delegation’s directory ${show(prefix)} was exchanged meanwhile; ask again`)

/** What finding or touching a file can end with, as the provider's own answers. */
export function asRefusal(error: unknown, path: string): unknown {
  if (error instanceof InvalidPathError)
    return new Refusal('bad_request', `${show(path)}: no file can have this name (${error.reason})`, { path })
  if (error instanceof UnresolvableError && error.errno === 'EACCES') return notPermitted(path)
  if (error instanceof FsAccessError)
    return new Refusal('resource_out_of_scope', `${show(path)} is out of scope: ${error.message}`, { path })
  if (!(error instanceof FileError)) return error
  const about = (code: Refusal['code']): Refusal => new Refusal(code, error.message, { path })
  switch (error.code) {
    case 'FILE_NOT_FOUND':
      return about('not_found')
    case 'FILE_EXISTS':
      return about('already_exists')
    case 'FILE_NOT_EMPTY':
      return about('not_empty')
    case 'FILE_NOT_REGULAR':
    case 'FILE_NOT_DIRECTORY':
      return about('wrong_kind')
    case 'FILE_IS_LINK': // put there since it was found
    case 'FILE_NOT_ON_DISK':
      return about('resource_out_of_scope')
    case 'FILE_CHANGED':
      return about('changed')
    case 'FILE_NO_SPACE':
      return about('no_space')
    case 'FILE_NO_PERMISSION':
    case 'FILE_BUSY': // a mount point of the host
      return about('not_permitted')
    case 'FILE_TOO_LARGE':
      return about('too_large')
    case 'FILE_TOO_DEEP':
    case 'FILE_INVALID':
    case 'FILE_CROSS_DEVICE':
      return about('bad_request')
    case 'FILE_IO':
      return about('failed')
    case 'FILE_STOPPED':
      return about('timed_out')
  }
}
