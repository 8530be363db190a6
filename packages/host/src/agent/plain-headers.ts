/** What the libraries of the providers use of `Headers`. Node's own comes with all of its `fetch` (decision 0312). */
export class PlainHeaders {
  readonly #values = new Map<string, string>()

  constructor(init: Iterable<readonly [string, string]> | Readonly<Record<string, string>> = []) {
    const pairs = Symbol.iterator in init ? init : Object.entries(init)
    for (const [name, value] of pairs) this.set(name, value)
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), value)
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase())
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase())
  }

  forEach(take: (value: string, name: string) => void): void {
    this.#values.forEach(take)
  }

  entries(): IterableIterator<[string, string]> {
    return this.#values.entries()
  }

  [Symbol.iterator](): IterableIterator<[string, string]> {
    return this.entries()
  }
}
