import { type EnvRule } from '../rules.ts'

export type EnvDecision =
  | { readonly kind: 'allowed'; readonly rule: EnvRule }
  | { readonly kind: 'refused'; readonly rule: EnvRule }
  | { readonly kind: 'unmatched' }

/** SPEC 1.6 as a lookup: the exact name, else the longest prefix; costs the length of the name. */
export class EnvIndex {
  readonly rules: readonly EnvRule[]
  readonly #exact = new Map<string, EnvRule>()
  readonly #prefixes = new Map<string, EnvRule>()
  readonly #longest: number

  constructor(rules: readonly EnvRule[]) {
    this.rules = rules
    let longest = -1
    for (const rule of rules) {
      if (!rule.name.endsWith('*')) {
        this.#exact.set(rule.name, rule)
        continue
      }
      const literal = rule.name.slice(0, -1)
      this.#prefixes.set(literal, rule)
      longest = Math.max(longest, literal.length)
    }
    this.#longest = longest
  }

  evaluate(name: string): EnvDecision {
    const rule = this.#exact.get(name) ?? this.#longestPrefix(name)
    if (!rule) return { kind: 'unmatched' }
    return { kind: rule.read ? 'allowed' : 'refused', rule }
  }

  /** All candidates are prefixes of one name, so the longest in characters is the longest in bytes. */
  #longestPrefix(name: string): EnvRule | undefined {
    for (let length = Math.min(name.length, this.#longest); length >= 0; length--) {
      const rule = this.#prefixes.get(name.slice(0, length))
      if (rule) return rule
    }
    return undefined
  }
}
