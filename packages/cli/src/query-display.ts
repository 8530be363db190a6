import type { Decider, ModelChoice, Query, Sight, TurnEnd } from '@cordon/host'
import { type CordonError, jsonText } from '@cordon/policy'
import { BlankLines } from './format/blank-lines.ts'
import {
  formatAllAttached,
  formatAllowed,
  formatCall,
  formatHanded,
  formatResult,
  formatTurn,
  sightJson,
} from './format/query.ts'
import { MarkdownStream } from './format/markdown.ts'
import { Spinner } from './spinner.ts'
import { StandingQuestions } from './standing.ts'
import type { Stream, World } from './world.ts'

/** Where a turn is shown. */
export interface QueryDisplay {
  see(sight: Sight): void
  /** Something else writes to the terminal: now, or when no question stands there any more. */
  aside(write: () => void): void
  /** The same for warnings, of which there may be any number. */
  warn(write: () => void): void
  /** Somebody is asked: nothing moves meanwhile. */
  pausing<T>(work: () => Promise<T>): Promise<T>
  around(decider: Decider | undefined): Decider | undefined
  /** A turn begins; whatever had to be asked before it was asked. */
  begin(open: Opened): void
  waiting(what: string, seconds: number): void
  end(end: TurnEnd, model: ModelChoice): void
  /** It ended without an end; whoever runs it reports the error to people. */
  failed(error: CordonError): void
}

type Opened = Pick<Query, 'conversation' | 'model'>

interface DisplayFlags {
  readonly json?: boolean
  readonly quiet?: boolean
  readonly schema?: string
}

export function displayFor(world: World, { json, quiet, schema }: DisplayFlags): QueryDisplay {
  if (json) return new JsonDisplay(world)
  return new TextDisplay(world, quiet === true, schema === undefined ? 'as it comes' : 'when it is checked')
}

/** One event a line, for programs. */
class JsonDisplay implements QueryDisplay {
  readonly #world: World
  readonly #questions: StandingQuestions

  constructor(world: World) {
    this.#world = world
    this.#questions = new StandingQuestions(world)
  }

  see(sight: Sight): void {
    this.#questions.print(() => this.#write(sightJson(sight)))
  }

  aside(write: () => void): void {
    this.#questions.print(write)
  }

  warn(write: () => void): void {
    this.#questions.warn(write)
  }

  pausing<T>(work: () => Promise<T>): Promise<T> {
    return this.#questions.during(work)
  }

  /** What is asked about is shown where it is asked. */
  around(decider: Decider | undefined): Decider | undefined {
    return decider && pausingFor(showingCalls(decider, this.#world), this)
  }

  begin({ conversation, model }: Opened): void {
    this.#write({ kind: 'begin', conversation: conversation?.id ?? null, model: model.id })
  }

  waiting(): void {}

  failed({ code, message }: CordonError): void {
    this.#write({ kind: 'end', outcome: 'failed', error: { code, message } })
  }

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
  readonly #questions: StandingQuestions
  readonly #spinner: Spinner
  #markdown: MarkdownStream | undefined
  #blankLines = new BlankLines()
  #isMidLine = false
  /** Tools that Cordon ships, of those that were called. */
  readonly #ours = new Set<string>()
  #before: 'text' | 'call' | undefined
  #settling: NodeJS.Timeout | undefined
  /** SPEC 6.5, `--schema`: standard output has what was checked, and nothing else. */
  readonly #answers: 'as it comes' | 'when it is checked'
  #held = ''

  constructor(world: World, quiet: boolean, answers: 'as it comes' | 'when it is checked') {
    this.#world = world
    this.#quiet = quiet
    this.#questions = new StandingQuestions(world)
    this.#answers = answers
    this.#spinner = new Spinner(world, quiet)
  }

  see(sight: Sight): void {
    this.#questions.print(() => this.#show(sight))
  }

  #show(sight: Sight): void {
    const { err } = this.#world
    switch (sight.kind) {
      case 'text':
        if (this.#answers === 'as it comes') return this.#text(sight.text)
        this.#held += sight.text
        return
      case 'reasoning':
        return this.#spinner.start('reasoning')
      case 'answered':
        this.#endText()
        return this.#spinner.stop()
      case 'call':
        this.#held = '' // what is said before a call is no answer
        if (this.#before === 'text') this.#gap(err)
        this.#before = 'call'
        if (sight.call.summary !== undefined) this.#ours.add(sight.call.tool)
        return this.#tell(formatCall(sight.call, err), `running ${sight.call.tool}`)
      case 'result': {
        // What was not run said nothing: the words are Cordon's.
        const isOurs = sight.outcome === 'denied' || this.#ours.has(sight.tool)
        return this.#tell(formatResult(sight, err, isOurs ? 'ours' : 'others'), 'thinking')
      }
      case 'allowed':
        return this.#tell(formatAllowed(sight), `running ${sight.tool}`)
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
      case 'attached':
        return this.#tell(formatAllAttached(sight.items, err), 'thinking')
      case 'calls left out':
        return this.#tell(
          `${err.style('yellow', 'warning:')} the model asked for ${sight.count} calls more than are taken at once\n`,
          'thinking',
        )
    }
  }

  aside(write: () => void): void {
    this.#questions.print(() => this.#besides(write))
  }

  warn(write: () => void): void {
    this.#questions.warn(() => this.#besides(write))
  }

  #besides(write: () => void): void {
    this.#spinner.stop()
    this.#endText()
    write()
  }

  pausing<T>(work: () => Promise<T>): Promise<T> {
    this.#spinner.stop()
    this.#endText()
    return this.#questions.during(work)
  }

  around(decider: Decider | undefined): Decider | undefined {
    const asked = decider && this.#quiet ? showingCalls(decider, this.#world) : decider
    return asked && pausingFor(asked, this)
  }

  begin(): void {
    this.#held = ''
    this.#spinner.start('thinking')
  }

  waiting(what: string, seconds: number): void {
    if (!this.#questions.isStanding) this.#spinner.start(`${what} (${seconds} s)`)
  }

  end(end: TurnEnd, model: ModelChoice): void {
    this.#spinner.stop()
    this.#endText()
    this.#before = undefined
    if (this.#answers === 'when it is checked') this.#checked(end)
    if (!this.#quiet && this.#world.err.isTerminal)
      this.#world.err.write(formatTurn(end, model, this.#world.err))
  }

  failed({ code }: CordonError): void {
    if (code === 'ANSWER_SCHEMA') this.#unchecked()
  }

  #checked({ kind, text }: TurnEnd): void {
    if (kind === 'done') this.#world.out.write(`${text}\n`)
    else this.#unchecked()
  }

  /** Who asked wants to see what came instead. */
  #unchecked(): void {
    const { err } = this.#world
    if (this.#held !== '' && !this.#quiet) this.aside(() => err.write(formatHanded(this.#held, err)))
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
    this.#print(this.#markdown.write(text))
    // A stream that stalls must not hide the last word that came.
    this.#settling ??= setTimeout(() => this.#settle(), SETTLE_MS).unref()
    this.#settling.refresh()
  }

  #settle(): void {
    this.#settling = undefined
    this.#print(this.#markdown?.settle() ?? '')
  }

  #print(rendered: string): void {
    const shown = this.#blankLines.write(rendered)
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
    if (this.#markdown) this.#print(this.#markdown.end())
    else if (this.#isMidLine) this.#world.out.write('\n')
    this.#markdown = undefined
    this.#blankLines = new BlankLines()
    this.#isMidLine = false
  }

  #tell(text: string, then: string): void {
    this.aside(() => {
      if (!this.#quiet) this.#world.err.write(text)
    })
    this.#spinner.start(then)
  }
}

/** While somebody decides, nothing else is printed. */
const pausingFor = (decider: Decider, display: Pick<QueryDisplay, 'pausing'>): Decider => ({
  decides: (call, problem) => display.pausing(() => decider.decides(call, problem)),
  edits: (what, text) => display.pausing(() => decider.edits(what, text)),
  handsOver: (tool, text) => display.pausing(() => decider.handsOver(tool, text)),
})

/** Where calls are not printed as they come, those that are asked about are. */
const showingCalls = (decider: Decider, { err }: World): Decider => ({
  ...decider,
  decides: (call, problem) => {
    if (problem === undefined) err.write(formatCall(call, err))
    return decider.decides(call, problem)
  },
})

/** Longer lines are hard to read. */
const WIDEST = 100
const SETTLE_MS = 300
