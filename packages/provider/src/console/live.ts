import { NO_DATABASE } from '../health.ts'
import { listLive } from '../step-up/approvals.ts'
import type { LiveAnswer } from './answers.ts'
import type { ConsoleContext } from './context.ts'

const LOOK_MS = 1000
/** Whether a record can be written is found out by writing: not at every look. */
const LOOKS_PER_TRIAL = 5

/**
 * What waits, how long the trail is, whether an app was changed and whether it is healthy, told to every open page.
 * Approvals are opened and decided by any provider of the database, so somebody has to look; while a page is open, once a
 * second, for all of them together.
 */
export class Live {
  readonly #context: ConsoleContext
  readonly #listeners = new Set<(now: LiveAnswer) => void>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #looks = 0
  #last: string | undefined
  #now: LiveAnswer = { waiting: [], approved: [], last_record: 0, generation: 0, trouble: null }

  constructor(context: ConsoleContext) {
    this.#context = context
  }

  /** Told at once how it is, and then of every change; returns how to stop. */
  async follow(listener: (now: LiveAnswer) => void): Promise<() => void> {
    if (this.#listeners.size === 0) this.#looks = 0
    await this.#look()
    listener(this.#now)
    this.#listeners.add(listener)
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }

  /** One at a time: a database that is gone may take its time to say so. */
  #look(): Promise<void> {
    this.#looking ??= this.#read()
      .catch(() => ({ ...this.#now, trouble: NO_DATABASE }))
      .then((now) => this.#tell(now))
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }

  async #read(): Promise<LiveAnswer> {
    const { provider } = this.#context
    const { queries } = provider.database
    const [live, head, meta, trouble] = await Promise.all([
      listLive(provider.database, provider.clock()),
      queries.selectFrom('audit_head').select('seq').executeTakeFirst(),
      queries.selectFrom('meta').select('value').where('name', '=', 'generation').executeTakeFirst(),
      this.#trouble(),
    ])
    const idsOf = (wanted: string): string[] =>
      live.filter(({ state }) => state === wanted).map(({ id }) => id)
    return {
      waiting: idsOf('open'),
      approved: idsOf('approved'),
      last_record: head?.seq ?? 0,
      generation: meta?.value ?? 0,
      trouble,
    }
  }

  async #trouble(): Promise<LiveAnswer['trouble']> {
    const isDue = this.#looks++ % LOOKS_PER_TRIAL === 0 || this.#now.trouble !== null
    if (!isDue && !this.#context.provider.audit.isBroken) return null
    return (await this.#context.trouble()) ?? null
  }

  #tell(now: LiveAnswer): void {
    const seen = JSON.stringify(now)
    if (seen === this.#last) return
    this.#last = seen
    this.#now = now
    for (const listener of this.#listeners) listener(now)
  }
}
