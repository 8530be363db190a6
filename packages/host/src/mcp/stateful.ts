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

  async close(): Promise<void> {
    this.#closed.abort()
    const running = this.#running
    if (running)
      await running.then(
        (connection) => connection.close(),
        () => undefined,
      )
  }

  /** One that has ended is started again when it is next asked; what it knew is lost, as with every server that ends. */
  async #connection(): Promise<Connection> {
    const running = this.#running
    const connection = await running?.catch(() => undefined)
    if (connection && !connection.failure()) return connection
    // Whoever comes in the same moment waits for the same process.
    if (this.#running !== running) return this.#connection()
    if (this.#closed.signal.aborted || this.#starts >= MOST_STARTS)
      throw connection?.failure() ?? this.#gaveUp()
    this.#starts++
    return (this.#running = this.#starter.start(this.#setup.policy, this.#closed.signal))
  }

  #gaveUp(): ServerError {
    const what = this.#closed.signal.aborted
      ? 'was stopped'
      : `did not start ${MOST_STARTS} times, and is not tried again in this session`
    return new ServerError({ server: this.name, stage: 'start', what, refused: [], hints: [], said: [] })
  }
}
