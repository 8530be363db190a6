import { EscapeError, InvalidPathError, OutsideError } from './errors.ts'
import { type RelPath } from '../rules.ts'
import { describe } from '../text.ts'
import { fold } from './case-fold.ts'

/** Linux's PATH_MAX. A longer path cannot be opened, so it is refused before any work is spent on it. */
const LONGEST_PATH = 4096

export const ROOT: RelPath = '.' as RelPath

/**
 * SPEC 1.3 step 1, before any I/O: refuses what cannot be a path below the root, collapses `.` and `..`
 * lexically, and returns the normal form that rules and targets share.
 */
export function parseRelPath(input: unknown): RelPath {
  if (typeof input !== 'string') throw new InvalidPathError(describe(input), 'it is not a string')
  if (input === '') throw new InvalidPathError(input, 'it is empty')
  if (input.length > LONGEST_PATH)
    throw new InvalidPathError(input, `it is longer than ${LONGEST_PATH} characters`)
  if (input.includes('\0')) throw new InvalidPathError(input, 'it contains a NUL byte')
  // Node writes a lone surrogate as U+FFFD: the name checked would not be the name opened.
  if (!input.isWellFormed()) throw new InvalidPathError(input, 'it is not valid Unicode')
  if (input.charCodeAt(0) === SLASH) throw new OutsideError(input)
  return isNormal(input) ? (input as RelPath) : collapse(input)
}

function collapse(input: string): RelPath {
  const kept: string[] = []
  for (const part of input.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') kept.push(part)
    else if (kept.pop() === undefined) throw new EscapeError(input, 'input')
  }
  return kept.length === 0 ? ROOT : (kept.join('/') as RelPath)
}

const SLASH = 47

/** True for most input, and saves the split: no empty, `.` or `..` component, no trailing slash. */
const isNormal = (path: string): boolean => !ODD_COMPONENT.test(path)
const ODD_COMPONENT = /(?:^|\/)\.{0,2}(?:\/|$)/

export const joinRel = (base: RelPath, rest: RelPath): RelPath =>
  base === ROOT ? rest : rest === ROOT ? base : (`${base}/${rest}` as RelPath)

/** The entry's parent and name; undefined for the root, which is an entry of no directory here. */
export function splitEntry(path: RelPath): { parent: RelPath; name: RelPath } | undefined {
  if (path === ROOT) return undefined
  const slash = path.lastIndexOf('/')
  if (slash < 0) return { parent: ROOT, name: path }
  return { parent: path.slice(0, slash) as RelPath, name: path.slice(slash + 1) as RelPath }
}

/**
 * Where `path` lies below the absolute `base`, component-aware: `/a/bc` is not below `/a/b`.
 * Undefined when it is not below it. Both must be canonical.
 */
export function below(base: string, path: string, foldCase: FoldCase = 'exact'): RelPath | undefined {
  if (path === base) return ROOT
  if (base === '/') return path.slice(1) as RelPath
  if (path.length > base.length && path.charCodeAt(base.length) === SLASH && path.startsWith(base))
    return path.slice(base.length + 1) as RelPath
  return foldCase === 'folded' ? belowFolded(base, path) : undefined
}

/** Whether the filesystem takes `a` and `A` for one name (SPEC 1.3). */
export type FoldCase = 'exact' | 'folded'

function belowFolded(base: string, path: string): RelPath | undefined {
  const parts = path.split('/')
  const depth = base.split('/').length
  if (fold(parts.slice(0, depth).join('/')) !== fold(base)) return undefined
  return parts.length === depth ? ROOT : (parts.slice(depth).join('/') as RelPath)
}
