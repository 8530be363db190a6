import type { Problem } from '@cordon/policy'

/** A regular expression on a text, in time linear in both. */
export type PatternTest = (pattern: string, text: string) => boolean

/** What every keyword is checked with. */
export interface Checker {
  readonly matches: PatternTest
  /** All that is wrong with a value at a place; empty when it fits. */
  readonly check: (schema: unknown, value: unknown, at: string) => readonly Problem[]
}

/** Equal values have equal texts: the order of keys does not matter to JSON. */
export const canonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
