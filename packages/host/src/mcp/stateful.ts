import type { Connection } from './connection.ts'
import { type Diagnosis, ServerError } from './diagnosis.ts'
import type { Offer } from './offer.ts'
import {
  asking,
  type McpServer,
  type Question,
  type QuestionAbout,
  ServerStarter,
  type ServerSetup,
} from './server.ts'

/** One that ends again and again is not started for ever. */
const MOST_STARTS = 5

/** SPEC 5.1: one process for the session, which all its tools share. */
export class StatefulServer implements McpServer {
  readonly name: string
  readonly #setup: ServerSetup
  readonly #starter: ServerStarter
  readonly #closed = new AbortController()
  #running: Promise<Connection> | undefined
  #offer: Promise<Offer> | undefined
  #starts = 0
  #isClosing = false
  /** The process that was started last is initialised. */
  #connected = false
  /** How many wait for an answer of it. */
  #asking = 0
  /** How it failed last, as whoever asked was told. */
  #last: ServerError | undefined
  /** The process whose end somebody was told. */
  #blamed: Connection | undefined

  constructor(setup: ServerSetup) {
    this.name = setup.name
    this.#setup = setup
    this.#starter = new ServerStarter(setup)
  }

  /** From the process itself, and kept for sessions to come. */
  offer(): Promise<Offer> {
    return (this.#offer ??= this.ask((_, connection) => this.#starter.askOffer(connection), {
      asked: { stage: 'list' },
    }).catch((error: unknown) => {
      this.#offer = undefined
      throw error
    }))
  }

  /** What it offered when it was last asked, without starting it. */
  knownOffer(): Promise<Offer | undefined> {
    return this.#starter.knownOffer()
  }

  /** It said that its tools changed: the next to ask gets the new ones. */
  forgetOffer(): void {
    this.#offer = undefined
  }

  async ask<T>(question: Question<T>, { asked }: QuestionAbout = {}): Promise<T> {
    const connection = await this.#connection()
    this.#asking++
    try {
      return await asking(connection, question, asked)
    } catch (error) {
      this.#note(error)
      if (connection.failure()) this.#blamed = connection
      throw error
    } finally {
      this.#asking--
    }
  }

  /** One that runs is told to end, and has a moment for it; one that is only being started is stopped. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (!this.#connected) this.#closed.abort()
    const running = this.#running
    await running?.then(
      (connection) => connection.close(),
      () => undefined,
    )
    this.#closed.abort()
  }

  /** One that has ended is started again when it is next asked; what it knew is lost, as with every server that ends. */
  async #connection(): Promise<Connection> {
    const running = this.#running
    const connection = await running?.catch(() => undefined)
    if (connection && !connection.failure()) return connection
    // Whoever comes in the same moment waits for the same process.
    if (this.#running !== running) return this.#connection()
    const unnoticed = this.#unnoticedEnd(connection)
    if (this.#isClosing || this.#starts >= MOST_STARTS) throw this.#gaveUp()
    if (unnoticed) this.#setup.onIdleEnd?.(unnoticed)
    this.#starts++
    this.#connected = false
    this.#running = this.#starter.start(this.#setup.policy, this.#closed.signal)
    this.#running.then(
      () => (this.#connected = true),
      (error: unknown) => this.#note(error),
    )
    return this.#running
  }

  /** It ended, and nobody was there to be told: that what it knew is lost is said when it is started again. */
  #unnoticedEnd(connection: Connection | undefined): ServerError | undefined {
    if (!connection || this.#asking > 0 || connection === this.#blamed) return undefined
    const failure = connection.failure({ stage: 'idle' })
    this.#note(failure)
    if (!failure || this.#isClosing) return undefined
    const { what, ...known } = failure.diagnosis
    return new ServerError({ ...known, what: `${what}; it is started again, and what it knew is lost` })
  }

  #note(error: unknown): void {
    if (error instanceof ServerError) this.#last = error
  }

  #gaveUp(): ServerError {
    const { what, ...known } = this.#last?.diagnosis ?? { ...NOTHING_KNOWN, server: this.name }
    if (this.#isClosing) return new ServerError({ ...NOTHING_KNOWN, server: this.name, what: 'was stopped' })
    return new ServerError({
      ...known,
      what: `${what}: it was started ${MOST_STARTS} times, and is not tried again in this session`,
    })
  }
}

const NOTHING_KNOWN: Omit<Diagnosis, 'server'> = {
  stage: 'start',
  what: 'did not start',
  refused: [],
  unreached: [],
  hints: [],
  said: [],
}
