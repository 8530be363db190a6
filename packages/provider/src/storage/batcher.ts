/**
 * Many callers, one piece of work: what arrives while a batch is under way goes into the next one. Alone, nobody
 * waits; under load, a transaction and its fsync are shared.
 */
export class Batcher<In, Out> {
  readonly #work: (items: readonly In[]) => Promise<readonly Out[]>
  #waiting: Waiting<In, Out>[] = []
  #running: Promise<void> | undefined
  #later: NodeJS.Timeout | undefined
  readonly #isAlone: () => boolean

  /**
   * `work` answers for every item, in order; if it throws, it failed for all of them. `isAlone`: nobody will come soon,
   * so that waiting for company is in vain.
   */
  constructor(work: (items: readonly In[]) => Promise<readonly Out[]>, isAlone: () => boolean = () => false) {
    this.#work = work
    this.#isAlone = isAlone
  }

  add(item: In): Promise<Out> {
    const out = this.#put(item)
    this.#start()
    return out
  }

  /** For what nobody waits for: it goes with the next that comes, or alone when none came for so long. */
  addLater(item: In, mostMs: number): Promise<Out> {
    const out = this.#put(item)
    if (!this.#running) this.#later ??= setTimeout(() => this.#start(), mostMs)
    return out
  }

  /** Resolves when nothing is waiting any more. */
  async idle(): Promise<void> {
    this.#start()
    while (this.#running) await this.#running
  }

  #put(item: In): Promise<Out> {
    return new Promise((resolve, reject) => this.#waiting.push({ item, resolve, reject }))
  }

  #start(): void {
    clearTimeout(this.#later)
    this.#later = undefined
    if (this.#waiting.length > 0) this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    // What the same turn of the event loop brings is one batch from the start.
    if (!this.#isAlone()) await new Promise(setImmediate)
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MOST_TOGETHER)
      try {
        const results = await this.#work(batch.map(({ item }) => item))
        for (const [i, { resolve }] of batch.entries()) resolve(results[i]!)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#running = undefined
  }
}

const MOST_TOGETHER = 256

interface Waiting<In, Out> {
  readonly item: In
  readonly resolve: (out: Out) => void
  readonly reject: (error: unknown) => void
}
