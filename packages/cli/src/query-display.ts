import type { Decider, ModelChoice, Sight, TurnEnd } from '@cordon/host'
import { jsonText } from '@cordon/policy'
import { formatCall, formatResult, formatTurn, sightJson } from './format/query.ts'
import { MarkdownStream } from './format/markdown.ts'
import { Spinner } from './spinner.ts'
import type { Stream, World } from './world.ts'

/** Where a turn is shown. */
export interface QueryDisplay {
  see(sight: Sight): void
  /** Something else writes to the terminal now. */
  aside(write: () => void): void
  /** Somebody is asked: nothing moves meanwhile. */
  pausing<T>(work: () => Promise<T>): Promise<T>
  around(decider: Decider | undefined): Decider | undefined
  /** A turn begins; whatever had to be asked before it was asked. */
  begin(): void
  waiting(what: string, seconds: number): void
  end(end: TurnEnd, model: ModelChoice): void
}

export function displayFor(world: World, { json, quiet }: { json?: boolean; quiet?: boolean }): QueryDisplay {
  if (json) return new JsonDisplay(world)
  return new TextDisplay(world, quiet === true)
}

/** One event a line, for programs. */
class JsonDisplay implements QueryDisplay {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  see(sight: Sight): void {
    const line = sightJson(sight)
    if (line) this.#write(line)
  }

  aside(write: () => void): void {
    write()
  }

  pausing<T>(work: () => Promise<T>): Promise<T> {
    return work()
  }

  /** What is asked about is shown where it is asked. */
  around(decider: Decider | undefined): Decider | undefined {
    return decider && showingCalls(decider, this.#world)
  }

  begin(): void {}
  waiting(): void {}

  end({ kind, text, usage, steps }: TurnEnd, { id }: ModelChoice): void {
    this.#write({ kind: 'end', outcome: kind.replaceAll(' ', '_'), text, usage, steps, model: id })
  }

  #write(value: object): void {
    this.#world.out.write(`${jsonText(value)}\n`)
  }
}

/** The answer on standard output; what happens on the way on standard error. */
class TextDisplay implements QueryDisplay {
  readonly #world: World
  readonly #quiet: boolean
  readonly #spinner: Spinner
  #markdown: MarkdownStream | undefined
  #isMidLine = false
  /** Tools that Cordon ships, of those that were called. */
  readonly #ours = new Set<string>()
  #before: 'text' | 'call' | undefined
  #settling: NodeJS.Timeout | undefined

  constructor(world: World, quiet: boolean) {
    this.#world = world
    this.#quiet = quiet
    this.#spinner = new Spinner(world, quiet)
  }

  see(sight: Sight): void {
    const { err } = this.#world
    switch (sight.kind) {
      case 'text':
        return this.#text(sight.text)
      case 'reasoning':
        return this.#spinner.start('reasoning')
      case 'answered':
        this.#endText()
        return this.#spinner.stop()
      case 'call':
        if (this.#before === 'text') this.#gap(err)
        this.#before = 'call'
        if (sight.call.summary !== undefined) this.#ours.add(sight.call.tool)
        return this.#tell(formatCall(sight.call, err), `running ${sight.call.tool}`)
      case 'result':
        return this.#tell(
          formatResult(sight, err, this.#ours.has(sight.tool) ? 'ours' : 'others'),
          'thinking',
        )
      case 'retry':
        return this.#tell(
          `${err.style('yellow', 'warning:')} ${sight.failure}; asking again in ${sight.seconds} s\n`,
          'waiting',
        )
      case 'left out':
        return this.#tell(
          `${err.style('yellow', 'warning:')} left out to save room: ${sight.what.join(', ')}\n`,
          'thinking',
        )
      case 'calls left out':
        return this.#tell(
          `${err.style('yellow', 'warning:')} the model asked for ${sight.count} calls more than are taken at once\n`,
          'thinking',
        )
    }
  }

  aside(write: () => void): void {
    this.#spinner.stop()
    this.#endText()
    write()
  }

  async pausing<T>(work: () => Promise<T>): Promise<T> {
    this.#spinner.stop()
    this.#endText()
    return work()
  }

  around(decider: Decider | undefined): Decider | undefined {
    const asked = decider && this.#quiet ? showingCalls(decider, this.#world) : decider
    return (
      asked && {
        decides: (call) => this.pausing(() => asked.decides(call)),
        edits: (what, text) => this.pausing(() => asked.edits(what, text)),
        handsOver: (tool, text) => this.pausing(() => asked.handsOver(tool, text)),
      }
    )
  }

  begin(): void {
    this.#spinner.start('thinking')
  }

  waiting(what: string, seconds: number): void {
    this.#spinner.start(`${what} (${seconds} s)`)
  }

  end(end: TurnEnd, model: ModelChoice): void {
    this.#spinner.stop()
    this.#endText()
    this.#before = undefined
    if (!this.#quiet && this.#world.err.isTerminal)
      this.#world.err.write(formatTurn(end, model, this.#world.err))
  }

  #text(text: string): void {
    const { out } = this.#world
    this.#spinner.stop()
    if (this.#before === 'call') this.#gap(out)
    this.#before = 'text'
    if (!out.isTerminal) {
      out.write(text)
      this.#isMidLine = !text.endsWith('\n')
      return
    }
    this.#markdown ??= new MarkdownStream(out, () => Math.min(out.sink.columns || 80, WIDEST))
    const shown = this.#markdown.write(text)
    if (shown !== '') out.write(shown)
    // A stream that stalls must not hide the last word that came.
    this.#settling ??= setTimeout(() => this.#settle(), SETTLE_MS).unref()
    this.#settling.refresh()
  }

  #settle(): void {
    this.#settling = undefined
    const shown = this.#markdown?.settle() ?? ''
    if (shown !== '') this.#world.out.write(shown)
  }

  /** Between what is said and what is done, for eyes only. */
  #gap(stream: Stream): void {
    this.aside(() => {
      if (stream.isTerminal && !this.#quiet) stream.write('\n')
    })
  }

  #endText(): void {
    clearTimeout(this.#settling)
    this.#settling = undefined
    const rest = this.#markdown?.end() ?? (this.#isMidLine ? '\n' : '')
    this.#markdown = undefined
    this.#isMidLine = false
    if (rest !== '') this.#world.out.write(rest)
  }

  #tell(text: string, then: string): void {
    this.aside(() => {
      if (!this.#quiet) this.#world.err.write(text)
    })
    this.#spinner.start(then)
  }
}

/** Where calls are not printed as they come, those that are asked about are. */
const showingCalls = (decider: Decider, { err }: World): Decider => ({
  ...decider,
  decides: (call) => {
    err.write(formatCall(call, err))
    return decider.decides(call)
  },
})

/** Longer lines are hard to read. */
const WIDEST = 100
const SETTLE_MS = 300
