import type { RunMode, RunRule } from '@cordon/config'
import { below, parseRelPath, type Root, ROOT } from '@cordon/policy'
import type { PatternTest } from '@cordon/tools'

export interface RunDecision {
  readonly mode: RunMode
  /** The rule that decided; undefined when the mode holds for every call, or no rule matched. */
  readonly rule?: RunRule
}

/** The names of each path that a call touches; undefined: they are not known. */
export type CallPaths = (args: unknown) => readonly PathNames[] | undefined

/** One path: as it was written, and where its links lead. */
export type PathNames = readonly string[]

/** SPEC 6.5: the first rule that matches decides, otherwise it is asked. */
export function decideRunMode(
  run: RunMode | readonly RunRule[],
  args: unknown,
  matches: PatternTest,
  pathsOf: CallPaths = () => undefined,
): RunDecision {
  if (typeof run === 'string') return { mode: run }
  const paths = run.some(({ path }) => path !== undefined) ? pathsOf(args) : undefined
  const rule = run.find((each) =>
    each.path === undefined
      ? each.arg !== undefined && applies(each, valueAt(args, each.arg), matches)
      : isAbout(each.path, each.mode, paths),
  )
  return rule ? { mode: rule.mode, rule } : { mode: 'ask' }
}

/**
 * Decision 0370: what loosens wants every path of the call, under each of its names; what tightens is content with one, also
 * with a directory that holds the rule's path. Of a call whose paths are not known, only the second can be said.
 */
function isAbout(path: string, mode: RunMode, paths: readonly PathNames[] | undefined): boolean {
  const top = parseRelPath(path)
  const covers = (outer: string, inner: string, foldCase: Root['foldCase'] = 'exact'): boolean =>
    outer === ROOT || below(outer, inner, foldCase) !== undefined
  if (mode === 'unattended')
    return paths !== undefined && paths.length > 0 && paths.flat().every((name) => covers(top, name))
  return (
    paths === undefined ||
    paths.length === 0 ||
    // `.ENV` may be the same file.
    paths.flat().some((name) => covers(top, name, 'folded') || covers(name, top, 'folded'))
  )
}

/** An argument that is absent, or no text where text is compared, matches nothing: then it is asked. */
function applies({ prefix, equals, pattern }: RunRule, value: unknown, matches: PatternTest): boolean {
  if (equals !== undefined) return value === equals
  if (typeof value !== 'string') return false
  if (prefix !== undefined) return startsWithPath(value, prefix)
  return pattern !== undefined && matches(pattern, value)
}

/**
 * `src/` must not cover `src/../.env`: a text with `..` in it matches no prefix. What the call may really touch is still
 * the policy's business; this only decides whether a person is asked.
 */
const startsWithPath = (value: string, prefix: string): boolean =>
  value.startsWith(prefix) && !value.split('/').includes('..')

/** RFC 6901. Undefined: there is nothing there. */
function valueAt(args: unknown, pointer: string): unknown {
  let value = args
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}
