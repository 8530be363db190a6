import type { RunMode, RunRule } from '@cordon/config'
import type { PatternTest } from '@cordon/tools'

export interface RunDecision {
  readonly mode: RunMode
  /** The rule that decided; undefined when the mode holds for every call, or no rule matched. */
  readonly rule?: RunRule
}

/** SPEC 6.5: the first rule whose argument matches decides, otherwise it is asked. Pure. */
export function decideRunMode(
  run: RunMode | readonly RunRule[],
  args: unknown,
  matches: PatternTest,
): RunDecision {
  if (typeof run === 'string') return { mode: run }
  const rule = run.find((each) => applies(each, valueAt(args, each.arg), matches))
  return rule ? { mode: rule.mode, rule } : { mode: 'ask' }
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
