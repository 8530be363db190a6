import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { InvalidPathError, UnresolvableError } from './errors.ts'
import { type CanonicalPath, type RelPath } from '../rules.ts'
import { ROOT } from './rel-path.ts'

/** SPEC 1.3: links followed by hand before giving up, as the kernel does. The one number for all who follow links. */
export const MOST_HOPS = 40

/**
 * SPEC 1.3 step 2: the absolute path with every link resolved, also for a target that does not exist:
 * then the missing rest is appended untouched. `root` must be canonical. The result may lie anywhere; it
 * is the caller who compares it with the root.
 */
export function canonicalize(root: CanonicalPath, path: RelPath): CanonicalPath {
  const joined = path === ROOT ? root : root === '/' ? `/${path}` : `${root}/${path}`
  try {
    const real = realpathSync.native(joined)
    if (real.includes(REPLACEMENT)) assertUtf8(path, joined)
    return real as CanonicalPath
  } catch (error) {
    if (error instanceof UnresolvableError) throw error
    if (!isMissing(error)) throw unresolvable(path, error)
    return followByHand(root, path)
  }
}

/** A directory that must exist, such as the workspace root itself. */
export function canonicalizeRoot(root: string): CanonicalPath {
  try {
    const real = realpathSync.native(root)
    if (real.includes(REPLACEMENT)) assertUtf8(root, root)
    return real as CanonicalPath
  } catch (error) {
    throw unresolvable(root, error)
  }
}

/**
 * The walk of realpath(3), but a missing component is kept instead of refused, so that a dangling link
 * is followed to where a `create` through it would land.
 */
function followByHand(root: CanonicalPath, path: RelPath): CanonicalPath {
  let here: string = root
  let hops = 0
  const todo = path.split('/').toReversed()
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === '' || part === '.') continue
    if (part === '..') {
      here = dirname(here)
      continue
    }
    const next = here === '/' ? `/${part}` : `${here}/${part}`
    const link = readLink(path, next)
    if (link === undefined) {
      here = next
      continue
    }
    if (++hops > MOST_HOPS)
      throw new UnresolvableError(path, `more than ${MOST_HOPS} links, or a loop of them`)
    if (link.startsWith('/')) here = '/'
    todo.push(...link.split('/').toReversed())
  }
  return here as CanonicalPath
}

/** The link's text, or undefined when it is no link or not there. */
function readLink(input: RelPath, path: string): string | undefined {
  try {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
    const bytes = readlinkSync(path, 'buffer')
    const text = bytes.toString('utf8')
    if (!Buffer.from(text).equals(bytes)) throw new UnresolvableError(input, NOT_UTF8)
    return text
  } catch (error) {
    if (isMissing(error)) return undefined // it vanished, or its parent is a file: nothing to follow
    throw unresolvable(input, error)
  }
}

const REPLACEMENT = '\ufffd'
const NOT_UTF8 = 'a name on the way is not valid UTF-8'

/** Decoding turns every bad byte into U+FFFD, so two files could share one name in the rules. */
function assertUtf8(input: string, path: string): void {
  const bytes = realpathSync.native(path, 'buffer')
  if (!Buffer.from(bytes.toString('utf8')).equals(bytes)) throw new UnresolvableError(input, NOT_UTF8)
}

const isMissing = (error: unknown): boolean => {
  const code = errorCode(error)
  return code === 'ENOENT' || code === 'ENOTDIR'
}

const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

function unresolvable(input: string, error: unknown): Error {
  if (error instanceof UnresolvableError) return error
  const code = errorCode(error)
  if (code === 'ENAMETOOLONG') return new InvalidPathError(input, 'a component is too long')
  if (code === 'ELOOP') return new UnresolvableError(input, `more than ${MOST_HOPS} links, or a loop of them`)
  return new UnresolvableError(input, code ?? String(error), code)
}
