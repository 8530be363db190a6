import { isTempName } from '@cordon/files'
import { show } from '@cordon/policy'
import { Refusal } from '../errors.ts'
import { coversPath, type PathPrefix } from '../tokens/prefix.ts'

/**
 * SPEC 7.3: absolute, in its one spelling, and the prefix itself or below it by whole components. What is compared here
 * is what is opened later; nothing is cleaned up in between.
 */
export function requireInScope(prefix: PathPrefix, path: string): void {
  if (!path.startsWith('/')) throw outOfScope(path, 'it is not absolute')
  if (
    path !== '/' &&
    path
      .slice(1)
      .split('/')
      .some((name) => ODD.has(name))
  )
    throw outOfScope(path, 'it has an empty, `.` or `..` component, or ends in `/`')
  if (!coversPath(prefix, path)) throw outOfScope(path, `the delegation is for ${show(prefix)}`)
}

/** SPEC 7.2: the prefix itself is what was delegated, not an entry to change. Told after the policy has answered. */
export function requireBelowPrefix(prefix: PathPrefix, path: string): void {
  if (path === prefix)
    throw new Refusal(
      'resource_out_of_scope',
      'the delegation’s own directory is not deleted, moved or replaced',
    )
}

const ODD: ReadonlySet<string> = new Set(['', '.', '..'])

const outOfScope = (path: string, why: string): Refusal =>
  new Refusal('resource_out_of_scope', `${show(path)} is out of scope: ${why}`, { path })

/** SPEC 7.3: the metacharacters, and every other control character. We start no shell, but whoever gets the path from us may. */
export function requireNoMetacharacters(path: string): void {
  const found = META.exec(path)?.[0]
  if (found === undefined && path.isWellFormed()) return
  throw new Refusal(
    'path_metacharacter',
    `${show(path)} contains ${found === undefined ? 'invalid Unicode' : show(found)}, which no path may have here`,
    { path },
  )
}

/**
 * SPEC 6.4: names of files that are half written are in no listing, so nobody can have one for a file of his own: it would be
 * there, and nobody would see it.
 */
export function requireNoTempName(path: string): void {
  const name = path.split('/').find(isTempName)
  if (name === undefined) return
  throw new Refusal(
    'bad_request',
    `${show(path)}: names like ${show(name)} are for files that the provider is still writing; take another`,
    { path },
  )
}

// oxlint-disable-next-line no-control-regex
const META = /[$`\\\u0000-\u001f\u007f]/
