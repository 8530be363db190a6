/** Longer than any address that somebody could have subscribed to. */
const LONGEST = 8192
const MOST = 256

/**
 * What a client is told to look at again. It is told one thing at a time, and while it does not read, the same thing said
 * many times is said once: a server that says so without end costs no memory.
 */
export class News {
  readonly #waiting = new Map<string, () => Promise<void>>()
  #isTelling = false

  tell(about: string, send: () => Promise<void>): void {
    if (about.length > LONGEST || this.#waiting.size >= MOST) return
    this.#waiting.set(about, send)
    if (!this.#isTelling) void this.#tellAll()
  }

  async #tellAll(): Promise<void> {
    this.#isTelling = true
    for (const [about, send] of this.#waiting) {
      this.#waiting.delete(about)
      await send().catch(() => undefined) // who is gone need not be told
    }
    this.#isTelling = false
  }
}
