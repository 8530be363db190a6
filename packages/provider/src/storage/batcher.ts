/**
 * Many callers, one piece of work: what arrives while a batch is under way goes into the next one. Alone, nobody
 * waits; under load, a transaction and its fsync are shared.
 */
export class Batcher<In, Out> {
  readonly #work: (items: readonly In[]) => Promise<readonly Out[]>
  readonly #most: number
  #waiting: Waiting<In, Out>[] = []
  #running: Promise<void> | undefined

  /** `work` answers for every item, in order; if it throws, it failed for all of them. */
  constructor(work: (items: readonly In[]) => Promise<readonly Out[]>, most = 256) {
    this.#work = work
    this.#most = most
  }

  add(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when nothing is waiting any more. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #run(): Promise<void> {
    // What the same turn of the event loop brings is one batch from the start.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most)
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

interface Waiting<In, Out> {
  readonly item: In
  readonly resolve: (out: Out) => void
  readonly reject: (error: unknown) => void
}
