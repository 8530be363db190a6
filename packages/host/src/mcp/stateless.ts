import { availableParallelism } from 'node:os'
import type { Connection } from './connection.ts'
import { type Asked, cancelled } from './diagnosis.ts'
import type { Offer } from './offer.ts'
import {
  asking,
  type CallAs,
  type McpServer,
  type Question,
  type QuestionAbout,
  ServerStarter,
  type ServerSetup,
} from './server.ts'

/** Parallel calls are not serialised (SPEC 5.1), but neither does a flood of them fill the machine with processes. */
const MOST_AT_ONCE = Math.max(8, 4 * availableParallelism())
/** Of processes that wait for a call that may never come. */
const MOST_SPARE = 4

/** SPEC 5.1: a fresh process for each call, under the policy of the tool that is called, gone with all it started. */
export class StatelessServer implements McpServer {
  readonly name: string
  readonly #setup: ServerSetup
  readonly #starter: ServerStarter
  readonly #closed = new AbortController()
  readonly #slots = new Slots(MOST_AT_ONCE)
  readonly #spare = new Map<string, Promise<Connection>>()
  #offer: Promise<Offer> | undefined

  constructor(setup: ServerSetup) {
    this.name = setup.name
    this.#setup = setup
    this.#starter = new ServerStarter(setup)
  }

  /** SPEC 5.1: from one discovery under the default policy, of this session or an earlier one. */
  offer(): Promise<Offer> {
    return (this.#offer ??= this.#discover().catch((error: unknown) => {
      this.#offer = undefined
      throw error
    }))
  }

  knownOffer(): Promise<Offer | undefined> {
    return this.#starter.knownOffer()
  }

  async ask<T>(question: Question<T>, { asked, as, signal }: QuestionAbout = {}): Promise<T> {
    const stop = AbortSignal.any([this.#closed.signal, ...(signal ? [signal] : [])])
    const release = await this.#slots.take(stop)
    if (!release) throw cancelled(this.name, 'was not started: nobody waits for it any more')
    let connection: Connection | undefined
    try {
      connection = (await this.#takeSpare(as, stop)) ?? (await this.#start(as, stop))
      return await this.#use(connection, question, { asked, stop })
    } finally {
      // By then the answer is on its way: whoever waits for it waits neither for the end of this process nor for the start of
      // the next one. That all of it is gone is what the next in line waits for, and whoever closes.
      setImmediate(() => {
        void Promise.resolve(connection?.close('now')).then(release)
        this.#makeSpare(as)
      })
    }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    const spare = [...this.#spare.values()]
    this.#spare.clear()
    await Promise.allSettled(spare.map(async (each) => (await each).close('now')))
    await this.#slots.whenFree()
  }

  async #discover(): Promise<Offer> {
    const known = await this.#starter.knownOffer()
    if (known) return known
    return this.ask((_, connection) => this.#starter.askOffer(connection), { asked: { stage: 'list' } })
  }

  async #use<T>(
    connection: Connection,
    question: Question<T>,
    { asked, stop }: { readonly asked: Asked | undefined; readonly stop: AbortSignal },
  ): Promise<T> {
    const kill = (): void => void connection.close('now')
    stop.addEventListener('abort', kill, { once: true })
    if (stop.aborted) kill() // while it was started ahead of time, for nobody
    try {
      return await asking(connection, question, asked)
    } finally {
      stop.removeEventListener('abort', kill)
    }
  }

  #start(as: CallAs | undefined, signal: AbortSignal): Promise<Connection> {
    return this.#starter.start(as?.policy ?? this.#setup.policy, signal)
  }

  /** Used once, by whoever comes first; one that has ended while it waited is nobody's. */
  async #takeSpare(as: CallAs | undefined, signal: AbortSignal): Promise<Connection | undefined> {
    const spare = as && this.#spare.get(as.tool)
    if (!spare || signal.aborted) return undefined
    this.#spare.delete(as.tool)
    const connection = await spare.catch(() => undefined)
    return connection?.failure() ? undefined : connection
  }

  /** Confined by this very tool's policy, and initialised, ahead of its next call; nothing else is asked of it (decision 0304). */
  #makeSpare(as: CallAs | undefined): void {
    if (!this.#setup.config.spare || !as || this.#closed.signal.aborted) return
    if (this.#spare.has(as.tool) || this.#spare.size >= MOST_SPARE) return
    const spare = this.#start(as, this.#closed.signal)
    spare.catch(() => this.#spare.delete(as.tool))
    this.#spare.set(as.tool, spare)
  }
}

/** So many at once; the others wait in line. */
class Slots {
  readonly #waiting: (() => void)[] = []
  readonly #idle: (() => void)[] = []
  readonly #size: number
  #free: number

  constructor(size: number) {
    this.#size = size
    this.#free = size
  }

  /** Resolves with how to give it back, or with nothing: who waits in line is told to stop. */
  async take(stop: AbortSignal): Promise<(() => void) | undefined> {
    if (stop.aborted) return undefined
    if (this.#free > 0) this.#free--
    else if ((await this.#turn(stop)) === 'left') return undefined
    return () => this.#give()
  }

  #turn(stop: AbortSignal): Promise<'taken' | 'left'> {
    return new Promise((resolve) => {
      const take = (): void => {
        stop.removeEventListener('abort', leave)
        resolve('taken')
      }
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1)
        resolve('left')
      }
      stop.addEventListener('abort', leave, { once: true })
      this.#waiting.push(take)
    })
  }

  /** Nobody has one any more, nor waits for one. */
  async whenFree(): Promise<void> {
    if (this.#free < this.#size) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  #give(): void {
    const next = this.#waiting.shift()
    if (next) return next()
    this.#free++
    if (this.#free === this.#size) for (const done of this.#idle.splice(0)) done()
  }
}
