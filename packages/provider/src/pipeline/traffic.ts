import { performance } from 'node:perf_hooks'

/**
 * How many requests are under way. One that is alone is best done without a pause; of several, each waits a moment for
 * what it can share with the others: a thread, a transaction (decision 0309).
 */
export class Traffic {
  #running = 0
  #turn = -1
  #begunInTurn = 0

  get running(): number {
    return this.#running
  }

  begin(): void {
    const turn = performance.nodeTiming.uvMetricsInfo.loopCount
    this.#begunInTurn = turn === this.#turn ? this.#begunInTurn + 1 : 1
    this.#turn = turn
    this.#running += 1
  }

  end(): void {
    this.#running -= 1
  }

  /** None besides it is under way, or was before it in this turn of the event loop: under load more are about to come. */
  get isAlone(): boolean {
    return this.#running <= 1 && this.#begunInTurn <= 1
  }
}
