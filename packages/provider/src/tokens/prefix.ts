import { CordonError, show } from '@cordon/policy'

/** SPEC 7.3: an absolute directory in its one spelling; what lies below it is found by comparing components. */
export type PathPrefix = string & { readonly __prefix: unique symbol }

class PrefixError extends CordonError {
  readonly code = 'PREFIX_INVALID'
  readonly prefix: string
  constructor(prefix: string, reason: string) {
    super(`the path prefix ${show(prefix)} ${reason}`)
    this.prefix = prefix
  }
}

export function parsePrefix(text: string): PathPrefix {
  const problem = problemOf(text)
  if (problem !== undefined) throw new PrefixError(text, problem)
  return text as PathPrefix
}

export const isPrefix = (text: unknown): text is PathPrefix =>
  typeof text === 'string' && problemOf(text) === undefined

/** Strict prefix and `/`: `/foo` covers `/foo` and `/foo/bar`, never `/foobar`, `/foo ` or `/foo"`. */
export const coversPath = (prefix: PathPrefix, path: string): boolean =>
  path === prefix || path.startsWith(prefix === '/' ? '/' : `${prefix}/`)

function problemOf(text: string): string | undefined {
  if (!text.startsWith('/')) return 'is not absolute'
  if (text === '/') return undefined
  if (Buffer.byteLength(text) > MOST_BYTES) return `is longer than ${MOST_BYTES} bytes`
  if (!text.isWellFormed() || REFUSED.test(text))
    return 'contains a control character, `$`, a backtick or a backslash'
  const components = text.slice(1).split('/')
  if (components.some((name) => CLIMBS.has(name)))
    return 'has an empty, `.` or `..` component, or ends in `/`'
  if (KERNELS.has(components[0] ?? '')) return 'is of the kernel, not of a disk'
  return undefined
}

/** A path's length in Linux, with its final NUL. */
const MOST_BYTES = 4095
/** SPEC 7.3: shell metacharacters; no shell is ever started, and no text of ours has to escape them. */
// oxlint-disable-next-line no-control-regex
const REFUSED = /[\u0000-\u001f\u007f$`\\]/
const CLIMBS: ReadonlySet<string> = new Set(['', '.', '..'])
const KERNELS: ReadonlySet<string> = new Set(['proc', 'sys', 'dev'])
