/** SPEC 7.3: so much of a listing, at most; what does not fit is said to be missing. */
export const MOST_OUTPUT_BYTES: number = 1024 * 1024

/** Items as long as their JSON fits. */
export class Capped<T> {
  readonly items: T[] = []
  truncated = false
  #left: number

  constructor(most: number = MOST_OUTPUT_BYTES - 1024) {
    this.#left = most // the rest is for what is around the list
  }

  /** Whether there was room for it. */
  add(item: T): boolean {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1
    if (this.truncated || size > this.#left) {
      this.truncated = true
      return false
    }
    this.#left -= size
    this.items.push(item)
    return true
  }
}
