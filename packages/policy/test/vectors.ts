import { readFileSync } from 'node:fs'
import { CordonError } from '@cordon/policy'

/** What every vector has; the rest depends on the file (docs/tool-protocol.md, decision 0025). */
interface Vector {
  readonly section: string
  readonly name: string
}

export const readVectors = <T>(file: string): (Vector & T)[] =>
  JSON.parse(readFileSync(new URL(`../vectors/${file}.json`, import.meta.url), 'utf8')) as (Vector & T)[]

/** The result as a vector writes it: the value, or the code of the typed error. Anything else is a bug. */
export function outcome<T>(ask: () => T): T | { error: string } {
  try {
    return ask()
  } catch (error) {
    if (error instanceof CordonError) return { error: error.code }
    throw error
  }
}

/** A decision as a vector writes it: the rule by its place in the list. */
export function summarize<R>(
  rules: readonly R[],
  decision: { readonly kind: string; readonly rule?: R },
): { kind: string; rule?: number } {
  const { kind, rule } = decision
  return rule === undefined ? { kind } : { kind, rule: rules.indexOf(rule) }
}
