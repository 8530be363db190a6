import { show } from '@cordon/policy'

/** So many are read; more of them are there to be in the way. */
const MOST = 5

/** What is said of MCP servers while a query runs: a server can cause it as often as it likes, so it is bounded, for each turn. */
export class ServerWarnings {
  readonly #warn: (warnings: readonly string[]) => void
  readonly #counts = new Map<string, number>()

  constructor(warn: (warnings: readonly string[]) => void) {
    this.#warn = warn
  }

  take(text: string, server: string | undefined): void {
    if (server === undefined) return this.#warn([text])
    const count = (this.#counts.get(server) ?? 0) + 1
    this.#counts.set(server, count)
    if (count <= MOST) this.#warn([text])
    else if (count === MOST + 1)
      this.#warn([`MCP server ${show(server)}: further warnings about it are not shown in this turn`])
  }

  beginTurn(): void {
    this.#counts.clear()
  }
}
