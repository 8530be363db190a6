import { realpathSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import {
  below,
  type CanonicalPath,
  canonicalize,
  EscapeError,
  FsAccessError,
  joinRel,
  parseRelPath,
  type RelPath,
  ROOT,
  type Root,
  show,
  splitEntry,
} from '@cordon/policy'
import { CORDONS_OWN } from '../compile/resolve.ts'

/** Where mounts are made, and from where their names and paths are meant. */
export interface MountPlace {
  readonly root: Root
  /** Canonical, at or below the root. */
  readonly cwd: string
  readonly home: string
  /** Directories outside `.cordon/` that hold what Cordon itself keeps: approvals, locks, configuration. */
  readonly storage: readonly string[]
}

/** Why a name or a path cannot be used, in a few words. */
export class Unfit extends Error {}

/**
 * SPEC 3.3: NAME relative to the current directory, normalised, with its parent really inside the workspace: the result
 * is the place where the link lies (decision 0082). `gone` are links that the same command removes before.
 */
export function resolveName(place: MountPlace, name: string, gone: ReadonlySet<RelPath>): RelPath {
  const { root } = place
  const lexical = lexicalName(place, name)
  const entry = splitEntry(lexical)
  if (!entry) throw new Unfit('NAME is the workspace itself')
  const parent = passesThrough(lexical, gone) ? entry.parent : realParent(root, entry.parent)
  const real = joinRel(parent, entry.name)
  for (const part of real.split('/'))
    if (RESERVED.test(part)) throw new Unfit(`NAME ${show(real)} is Cordon's own: nothing is mounted there`)
  if (place.storage.some((dir) => below(dir, join(root.path, real), root.foldCase) !== undefined))
    throw new Unfit(`NAME ${show(real)} is where Cordon keeps its own files: nothing is mounted there`)
  return real
}

/** On some filesystems `.Cordon` is the same directory; refusing it everywhere costs nobody anything. */
const RESERVED = /^\.cordon(?:\.toml)?$/i

/** Before any I/O: absolute names and `..` beyond the workspace are refused as they are typed. */
export function lexicalName({ root, cwd }: MountPlace, name: string): RelPath {
  if (isAbsolute(name)) throw new Unfit('NAME must be relative to the current directory, not absolute')
  const here = below(root.path, cwd, root.foldCase) ?? ROOT
  try {
    return parseRelPath(here === ROOT ? name : `${here}/${name}`)
  } catch (error) {
    if (!(error instanceof FsAccessError)) throw error
    throw new Unfit(
      error instanceof EscapeError ? 'NAME escapes the workspace' : `NAME is not usable: ${error.message}`,
    )
  }
}

const passesThrough = (path: RelPath, gone: ReadonlySet<RelPath>): boolean =>
  [...gone].some((link) => link !== path && below(link, path) !== undefined)

function realParent({ path, foldCase }: Root, parent: RelPath): RelPath {
  let real: CanonicalPath
  try {
    real = canonicalize(path, parent)
  } catch (error) {
    if (error instanceof FsAccessError) throw new Unfit(error.message)
    throw error
  }
  const inside = below(path, real, foldCase)
  if (inside === undefined) throw new Unfit(`the directory ${show(parent)} leads out of the workspace`)
  return inside
}

export interface MountTarget {
  readonly target: CanonicalPath
  readonly kind: 'file' | 'directory'
}

/** SPEC 3.3: `~` expanded, relative to the current directory, every link resolved; it must exist and lie outside. */
export function resolveTarget({ root, cwd, home, storage }: MountPlace, path: string): MountTarget {
  if (path.includes('\0') || !path.isWellFormed()) throw new Unfit('PATH is not valid text')
  const target = realTarget(absolutePath(path, cwd, home), path)
  if (below(root.path, target, root.foldCase) !== undefined)
    throw new Unfit('the target lies inside the workspace; grant it with an ordinary rule')
  if (storage.some((dir) => below(dir, target) !== undefined)) throw new Unfit(`the target ${CORDONS_OWN}`)
  const stat = statSync(target)
  if (stat.isDirectory()) return { target, kind: 'directory' }
  if (stat.isFile()) return { target, kind: 'file' }
  throw new Unfit(`the target ${show(target)} is neither a file nor a directory`)
}

function absolutePath(path: string, cwd: string, home: string): string {
  if (path === '~') return home
  if (path.startsWith('~/')) return join(home, path.slice(2))
  return isAbsolute(path) ? path : `${cwd}/${path}` // not `resolve`: `link/..` is where the link leads
}

function realTarget(absolute: string, typed: string): CanonicalPath {
  let bytes: Buffer
  try {
    bytes = realpathSync.native(absolute, 'buffer')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      throw new Unfit(`the target ${show(absolute)} cannot be reached: ${WORDS[code] ?? code}`)
    const hint = /:[a-z]{1,3}$/i.test(typed) ? '; the only modes are :ro and :rw' : ''
    throw new Unfit(`the target ${show(absolute)} does not exist${hint}`)
  }
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return text as CanonicalPath
  throw new Unfit('the target has a name that is not valid UTF-8')
}

const WORDS: Readonly<Record<string, string>> = { EACCES: 'permission denied', ELOOP: 'a loop of links' }
