import { eventOf } from '../audit/record.ts'
import type { Provider } from '../provider.ts'

const WINDOW_MS = 60_000
/** Recorded in a minute. Anybody who reaches the console can try, and must not fill the trail. */
const MOST = 10

/**
 * SPEC 7.6: who tried something and could not, each one, or how many more there were in that minute. Nobody is kept out for
 * it: that would let anybody keep everybody out.
 */
export class RefusedAttempts {
  readonly #provider: Provider
  readonly #name: string
  #since = 0
  #recorded = 0
  #unrecorded = 0

  /** `name`: of the event. */
  constructor(provider: Provider, name: string) {
    this.#provider = provider
    this.#name = name
    provider.everySoOften(() => this.#count('at the end of the minute'))
    provider.atEnd(() => this.#count('now'))
  }

  async note(detail: Readonly<Record<string, string>>, by: string = 'somebody'): Promise<void> {
    const at = this.#provider.clock()
    if (Math.abs(at - this.#since) > WINDOW_MS) {
      await this.#count('now')
      ;[this.#since, this.#recorded] = [at, 0]
    }
    if (++this.#recorded > MOST) return void this.#unrecorded++
    await this.#record(by, detail)
  }

  async #count(when: 'now' | 'at the end of the minute'): Promise<void> {
    const isOver = Math.abs(this.#provider.clock() - this.#since) > WINDOW_MS
    if (this.#unrecorded === 0 || (when !== 'now' && !isOver)) return
    const more = this.#unrecorded
    this.#unrecorded = 0
    await this.#record('somebody', { more })
  }

  async #record(by: string, detail: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#provider.audit.append(eventOf(this.#name, by, detail))
  }
}
