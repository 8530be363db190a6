import type { Connection } from './connection.ts'
import { ServerError } from './diagnosis.ts'
import type { Offer } from './offer.ts'
import { asking, type McpServer, type Question, ServerStarter, type ServerSetup } from './server.ts'

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

  constructor(setup: ServerSetup) {
    this.name = setup.name
    this.#setup = setup
    this.#starter = new ServerStarter(setup)
  }

  /** From the process itself, and kept for sessions to come. */
  offer(): Promise<Offer> {
    return (this.#offer ??= this.ask((_, connection) => this.#starter.askOffer(connection)).catch(
      (error: unknown) => {
        this.#offer = undefined
        throw error
      },
    ))
  }

  /** What it offered when it was last asked, without starting it. */
  knownOffer(): Promise<Offer | undefined> {
    return this.#starter.knownOffer()
  }

  /** It said that its tools changed: the next to ask gets the new ones. */
  forgetOffer(): void {
    this.#offer = undefined
  }

  async ask<T>(question: Question<T>): Promise<T> {
    return asking(await this.#connection(), question)
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
    if (this.#isClosing || this.#starts >= MOST_STARTS) throw this.#gaveUp(connection?.failure())
    this.#starts++
    this.#connected = false
    this.#running = this.#starter.start(this.#setup.policy, this.#closed.signal)
    this.#running.then(
      () => (this.#connected = true),
      () => undefined,
    )
    return this.#running
  }

  #gaveUp(last: ServerError | undefined): ServerError {
    const known = last?.diagnosis ?? {
      server: this.name,
      stage: 'start',
      refused: [],
      unreached: [],
      hints: [],
      said: [],
    }
    if (this.#isClosing) return last ?? new ServerError({ ...known, what: 'was stopped' })
    const how = last ? `${last.diagnosis.what}: it was started` : 'did not start:'
    const what = `${how} ${MOST_STARTS} times, and is not tried again in this session`
    return new ServerError({ ...known, what })
  }
}
