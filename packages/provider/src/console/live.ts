import type { LiveAnswer } from './answers.ts'
import type { ConsoleContext } from './context.ts'
import { listWaiting } from '../step-up/approvals.ts'

const LOOK_MS = 1000

/**
 * What waits, how long the trail is and whether an app was changed, told to every open page. Approvals are opened and decided by any provider of the database, so somebody
 * has to look; while a page is open, once a second, for all of them together.
 */
export class Live {
  readonly #context: ConsoleContext
  readonly #listeners = new Set<(now: LiveAnswer) => void>()
  #timer: NodeJS.Timeout | undefined
  #last: string | undefined
  #now: LiveAnswer = { waiting: [], last_record: 0, generation: 0 }

  constructor(context: ConsoleContext) {
    this.#context = context
  }

  /** Told at once how it is, and then of every change; returns how to stop. */
  async follow(listener: (now: LiveAnswer) => void): Promise<() => void> {
    await this.look()
    listener(this.#now)
    this.#listeners.add(listener)
    this.#timer ??= setInterval(() => {
      this.look().catch(() => undefined) // looked again a second later
    }, LOOK_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  /** Also after a decision of this provider, so that nobody waits for the next second. */
  async look(): Promise<void> {
    const { provider } = this.#context
    const waiting = (await listWaiting(provider.database, provider.clock())).map(({ id }) => id)
    const { queries } = provider.database
    const [head, meta] = await Promise.all([
      queries.selectFrom('audit_head').select('seq').executeTakeFirst(),
      queries.selectFrom('meta').select('value').where('name', '=', 'generation').executeTakeFirst(),
    ])
    const now = { waiting, last_record: head?.seq ?? 0, generation: meta?.value ?? 0 }
    const seen = JSON.stringify(now)
    if (seen === this.#last) return
    this.#last = seen
    this.#now = now
    for (const listener of this.#listeners) listener(this.#now)
  }
}
