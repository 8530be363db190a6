import { type EnvRule } from '../rules.ts'

export type EnvDecision =
  | { readonly kind: 'allowed'; readonly rule: EnvRule }
  | { readonly kind: 'refused'; readonly rule: EnvRule }
  | { readonly kind: 'unmatched' }

/** SPEC 1.6 as a lookup: the exact name, else the longest prefix; one try for each length that a prefix has. */
export class EnvIndex {
  readonly rules: readonly EnvRule[]
  readonly #exact = new Map<string, EnvRule>()
  readonly #prefixes = new Map<string, EnvRule>()
  /** Longest first. */
  readonly #lengths: readonly number[]

  constructor(rules: readonly EnvRule[]) {
    this.rules = rules
    for (const rule of rules) {
      if (!rule.name.endsWith('*')) {
        this.#exact.set(rule.name, rule)
        continue
      }
      this.#prefixes.set(rule.name.slice(0, -1), rule)
    }
    const lengths = new Set([...this.#prefixes.keys()].map((literal) => literal.length))
    this.#lengths = [...lengths].toSorted((a, b) => b - a)
  }

  evaluate(name: string): EnvDecision {
    const rule = this.#exact.get(name) ?? this.#longestPrefix(name)
    if (!rule) return { kind: 'unmatched' }
    return { kind: rule.read ? 'allowed' : 'refused', rule }
  }

  /** All candidates are prefixes of one name, so the longest in characters is the longest in bytes. */
  #longestPrefix(name: string): EnvRule | undefined {
    for (const length of this.#lengths) {
      const rule = length <= name.length ? this.#prefixes.get(name.slice(0, length)) : undefined
      if (rule) return rule
    }
    return undefined
  }
}

/** SPEC 4.2 and 4.6: what every program needs and no secret lives in. Passed on without a rule; a rule can withhold it (decision 0004). */
export const MINIMAL_ENV: readonly string[] = ['PATH', 'HOME', 'USER', 'LANG', 'LC_*', 'TERM', 'TZ']

const MINIMAL = new EnvIndex(MINIMAL_ENV.map((name) => ({ name, read: true })))

export const isMinimalEnv = (name: string): boolean => MINIMAL.evaluate(name).kind === 'allowed'
