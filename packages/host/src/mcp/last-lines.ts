import type { Readable } from 'node:stream'

const MOST_LINES = 100
const LONGEST_LINE = 2000
/** More than a tool could log for somebody to read. What comes faster waits in its pipe (decision 0501). */
const EACH_TICK = 1024 * 1024
const TICK_MS = 100

/** SPEC 5.4: the last 100 lines of an error output that say something. However much is written, no more is kept. */
export class LastLines {
  readonly #lines: string[] = []
  #open = ''
  #dropped = 0
  #tick = 0
  #read = 0

  constructor(stream: Readable) {
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => {
      this.#add(text)
      this.#slow(stream, text.length)
    })
  }

  get lines(): readonly string[] {
    return this.since(0)
  }

  /** How many lines there were so far, for `since`. */
  get count(): number {
    return this.#dropped + this.#lines.length
  }

  /** Those of the last lines that came after so many. */
  since(count: number): readonly string[] {
    const newer = this.#lines.slice(Math.max(0, count - this.#dropped))
    return [...newer, ...(this.#open === '' ? [] : [this.#open])].slice(-MOST_LINES)
  }

  get text(): string {
    return this.lines.join('\n')
  }

  #slow(stream: Readable, length: number): void {
    const now = performance.now()
    if (now - this.#tick > TICK_MS) [this.#tick, this.#read] = [now, 0]
    this.#read += length
    if (this.#read < EACH_TICK) return
    stream.pause()
    setTimeout(() => stream.resume(), this.#tick + TICK_MS - now + 1)
  }

  #add(text: string): void {
    const parts = text.split('\n')
    for (const [i, part] of parts.entries()) {
      if (this.#open.length < LONGEST_LINE) this.#open += part.slice(0, LONGEST_LINE - this.#open.length)
      if (i === parts.length - 1) break
      if (this.#open.trim() !== '') this.#lines.push(this.#open)
      this.#open = ''
    }
    if (this.#lines.length > 2 * MOST_LINES)
      this.#dropped += this.#lines.splice(0, this.#lines.length - MOST_LINES).length
  }
}
