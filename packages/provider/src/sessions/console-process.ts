import { makeSecret } from './secret.ts'

/** 1 MB or two. */
const MOST_ANSWERED = 10_000

/**
 * What pages sign is for this process of the provider, and counts once (decision 0343). When too much would have to be
 * remembered for that, the process takes another id: what was signed for the one before is refused, and pages sign again.
 */
export class ConsoleProcess {
  readonly #most: number
  readonly #answered = new Set<string>()
  #id = makeSecret()

  constructor(most: number = MOST_ANSWERED) {
    this.#most = most
  }

  /** Random, and in memory alone: of a process that starts later nobody knows it. */
  get id(): string {
    return this.#id
  }

  /** `request` by its key and its nonce. */
  hasAnswered(request: string): boolean {
    return this.#answered.has(request)
  }

  /** Only of who is signed in, or anybody could have us forget. */
  remember(request: string): void {
    this.#answered.add(request)
    if (this.#answered.size < this.#most) return
    this.#answered.clear()
    this.#id = makeSecret()
  }
}
