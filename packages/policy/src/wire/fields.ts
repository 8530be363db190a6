import { ParseError, type Problem } from '../errors.ts'
import { describe } from '../text.ts'

/** Enough to fix a file by; more would only make a hostile input expensive to report. */
const MOST_PROBLEMS = 100

/** Collects what is wrong with a piece of input, so that all of it is reported at once. */
export class Problems {
  readonly #found: Problem[] = []

  /** Returns undefined, so that a parser can note the problem and give up in one statement. */
  add(at: string, message: string): undefined {
    if (this.#found.length < MOST_PROBLEMS) this.#found.push({ at, message })
    return undefined
  }

  wrongType(at: string, expected: string, got: unknown): undefined {
    return this.add(at, `expected ${expected}, got ${describe(got)}`)
  }

  get isFull(): boolean {
    return this.#found.length >= MOST_PROBLEMS
  }

  get list(): readonly Problem[] {
    return this.#found
  }

  throwIfAny(what: string): void {
    if (this.#found.length > 0) throw new ParseError(what, this.#found)
  }
}

export type Fields = Readonly<Record<string, unknown>>

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Reads one object's fields. Absent and null are the same: other languages write null for none. */
export class FieldReader {
  readonly #fields: Fields
  readonly #at: string
  readonly #problems: Problems

  constructor(fields: Fields, at: string, problems: Problems) {
    this.#fields = fields
    this.#at = at
    this.#problems = problems
  }

  at(name: string): string {
    return this.#at === '' ? name : `${this.#at}.${name}`
  }

  raw(name: string): unknown {
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined
  }

  wrong(name: string, message: string): undefined {
    return this.#problems.add(this.at(name), message)
  }

  string(name: string): string | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'string') return value
    return this.#problems.wrongType(this.at(name), 'a string', value)
  }

  requiredString(name: string): string | undefined {
    if (this.raw(name) === undefined) return this.wrong(name, 'is required')
    return this.string(name)
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'boolean') return value
    return this.#problems.wrongType(this.at(name), 'true or false', value)
  }

  port(name: string): number | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65535) return value
    return this.#problems.wrongType(this.at(name), 'a port from 0 to 65535', value)
  }

  /** Absent is the empty list. Stops early on hostile input: the problems that fit are enough. */
  list<T>(name: string, item: (value: unknown, at: string) => T | undefined): T[] {
    const value = this.raw(name)
    if (value === undefined) return []
    if (!Array.isArray(value)) {
      this.#problems.wrongType(this.at(name), 'a list', value)
      return []
    }
    const items: T[] = []
    for (const [i, element] of (value as readonly unknown[]).entries()) {
      if (this.#problems.isFull) break
      const parsed = item(element, `${this.at(name)}[${i}]`)
      if (parsed !== undefined) items.push(parsed)
    }
    return items
  }
}
