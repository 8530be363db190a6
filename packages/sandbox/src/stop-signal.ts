/**
 * As much of an `AbortSignal` as is asked of one here. Making one of Node's own loads a module of Node's, which would be a part
 * of every `cordon tool run` (decision 0435).
 */
export interface StopSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** One that is its own controller. Each listener is called once, as there is one end. */
export class Stopper implements StopSignal {
  readonly #listeners = new Set<() => void>()
  #aborted = false

  get aborted(): boolean {
    return this.#aborted
  }

  abort(): void {
    this.#aborted = true
    const told = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of told) listener()
  }

  addEventListener(_: 'abort', listener: () => void): void {
    if (!this.#aborted) this.#listeners.add(listener)
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }
}
