import { Refusal } from '../errors.ts'

/** SPEC 7.3: so long for an operation. */
export const OPERATION_MS = 30_000

/** What a transfer may take besides: slower than this is not a client but a hold on us (decision 0154). */
export const SLOWEST_BYTES_PER_SECOND: number = 1024 * 1024

/** SPEC 7.3: every operation ends. Long work asks it between its steps. */
export class Deadline {
  readonly #started: number = performance.now()
  /** Made when somebody listens: a small read ends before it could be stopped. */
  #stopped: AbortController | undefined
  #reason: Refusal | undefined
  readonly #slowest: number
  #allowed: number
  #timer: NodeJS.Timeout

  constructor(limit: number = OPERATION_MS, slowest: number = SLOWEST_BYTES_PER_SECOND) {
    this.#slowest = slowest
    this.#allowed = limit
    this.#timer = this.#start()
  }

  /** So many bytes are to be transferred, besides the work itself. */
  extendFor(bytes: number): void {
    if (bytes === 0) return
    this.#allowed += Math.ceil((bytes / this.#slowest) * 1000)
    clearTimeout(this.#timer)
    this.#timer = this.#start()
  }

  get signal(): AbortSignal {
    if (!this.#stopped) {
      this.#stopped = new AbortController()
      if (this.#reason) this.#stopped.abort(this.#reason)
    }
    return this.#stopped.signal
  }

  /** Why it was stopped, if it was. */
  get reason(): Refusal | undefined {
    return this.#reason
  }

  check(): void {
    if (this.#reason) throw this.#reason
    if (this.#left < 0) throw timedOut()
  }

  /** The client is gone, or the provider stops: whatever is under way ends at its next step. */
  abort(reason: Refusal): void {
    this.#reason ??= reason
    this.#stopped?.abort(this.#reason)
  }

  /** Lets other requests have their turn, and ends when time is up. */
  async breathe(): Promise<void> {
    await nextTurn()
    this.check()
  }

  done(): void {
    clearTimeout(this.#timer)
  }

  get #left(): number {
    return this.#started + this.#allowed - performance.now()
  }

  #start(): NodeJS.Timeout {
    const wait = Math.min(Math.max(this.#left, 0), 2 ** 31 - 1)
    return setTimeout(() => this.abort(timedOut()), wait).unref()
  }
}

const waiting: (() => void)[] = []

/** Of all that is long, one piece a turn: with many such requests, others wait for one piece each time and not for all. */
const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(goOn)
  })

function goOn(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(goOn)
}

const timedOut = (): Refusal =>
  new Refusal('timed_out', 'it took longer than an operation may; ask for less at a time')
