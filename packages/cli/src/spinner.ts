import { clipColumns } from './format/wrap.ts'
import type { World } from './world.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const EVERY_MS = 100

/** What is waited for, and for how long. Only at a terminal that can take a line back. */
export class Spinner {
  readonly #world: World
  readonly #isShown: boolean
  #timer: NodeJS.Timeout | undefined
  #what = ''
  #since = 0

  constructor(world: World, quiet: boolean) {
    this.#world = world
    this.#isShown = world.err.isTerminal && !quiet && world.env['TERM'] !== 'dumb'
  }

  start(what: string): void {
    if (!this.#isShown || what === this.#what) return
    this.#what = what
    this.#since = Date.now()
    this.#timer ??= setInterval(() => this.#draw(), EVERY_MS).unref()
  }

  stop(): void {
    if (!this.#timer) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#what = ''
    this.#world.err.write('\r\u001b[K')
  }

  #draw(): void {
    const { err } = this.#world
    const waited = Date.now() - this.#since
    const frame = FRAMES[Math.floor(waited / EVERY_MS) % FRAMES.length]!
    const seconds = waited < 1000 ? '' : ` ${Math.floor(waited / 1000)} s`
    // A line that goes on in the next row could not be taken back.
    const line = clipColumns(`${frame} ${this.#what}${seconds}`, Math.max(2, (err.columns ?? 80) - 1))
    err.write(`\r\u001b[K${err.style('dim', line)}`)
  }
}
