import { randomUUID } from 'node:crypto'
import type { Provider } from '../provider.ts'

const WINDOW_MS = 60_000
/** Recorded in a minute. Anybody who reaches the console can try, and must not fill the trail. */
const MOST = 10

/** SPEC 7.6: who tried to sign in and could not, each one, or how many there were. Nobody is kept out for it: that would let
 * anybody keep everybody out. */
export class RefusedSignIns {
  readonly #provider: Provider
  #since = 0
  #recorded = 0
  #unrecorded = 0

  constructor(provider: Provider) {
    this.#provider = provider
  }

  /** `passkey`: what was sent as its id. */
  async note(passkey: string): Promise<void> {
    const at = this.#provider.clock()
    if (Math.abs(at - this.#since) > WINDOW_MS) [this.#since, this.#recorded] = [at, 0]
    if (++this.#recorded > MOST) return void this.#unrecorded++
    const more = this.#unrecorded
    this.#unrecorded = 0
    await this.#provider.audit.append({
      kind: 'event',
      op: randomUUID(),
      at,
      name: 'sign-in refused',
      by: 'somebody',
      detail: { passkey: passkey.slice(0, 64), ...(more > 0 ? { before_it: more } : {}) },
    })
  }
}
