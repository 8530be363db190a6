import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type AssistantConfig, isDeep } from '@cordon/config'
import { CordonError, isFields } from '@cordon/policy'
import { type ConversationEvent, type Json, type JsonObject, type StoredEvent } from '@cordon/workspace'
import { alwaysDelta } from '../conversation/always.ts'
import type { CallMode } from '../execute/call-mode.ts'
import type { AttachedResource } from '../attachment/blocks.ts'
import { consentTo, type Decider, type Look } from './consent.ts'
import { assembleContext, type ContextOptions, wholeResult } from './context.ts'
import type { ModelFailure } from './errors.ts'
import { readReply, type Reply, type Usage, type WantedCall } from './reply.ts'
import { loadPatternTest } from '../execute/patterns.ts'
import { decideRunMode } from '../execute/run-mode.ts'
import { serverOf, titleOf } from '../gateway/names.ts'
import { showCall, type ShownCall } from './shown.ts'
import type { CallHow, OpenTool, ToolAnswer, Toolbox } from './toolbox.ts'

/** What somebody who follows a turn is told. Whatever is told of calls and results is on the disk by then. */
export type Sight =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'answered'; readonly reply: Reply }
  /** `id`: by which its result says what it is the result of. */
  | { readonly kind: 'call'; readonly id: string; readonly call: ShownCall }
  | {
      readonly kind: 'result'
      readonly id: string
      readonly tool: string
      readonly outcome: Outcome
      readonly text: string
    }
  /** `always` was answered; `the end`: of this process. */
  | { readonly kind: 'allowed'; readonly tool: string; readonly until: 'taken back' | 'the end' }
  | { readonly kind: 'retry'; readonly failure: ModelFailure; readonly seconds: number }
  | { readonly kind: 'left out'; readonly what: readonly string[] }
  | { readonly kind: 'calls left out'; readonly count: number }
  | { readonly kind: 'attached'; readonly items: readonly AttachedResource[] }

type Outcome = Extract<ConversationEvent, { kind: 'tool_result' }>['outcome']

/** Where the events of a turn go: on the disk when it returns, and no path of this machine in them. */
export interface Journal {
  /** Everything so far, this turn's included. */
  readonly events: readonly StoredEvent[]
  append(events: readonly ConversationEvent[]): Promise<void>
  /** Messages, without paths of this machine. */
  hide<T>(value: T): T
  /** Contents, with marks in their place: what a model writes with them is what it read (decision 0334). */
  mark(content: string): string
  unmark<T>(value: T): T
  /** Without the keys of providers (decision 0372). */
  conceal<T>(value: T): T
  /** How much of a text that goes on may be the beginning of a mark or a key. */
  unfinished(text: string): string
}

export interface Turn {
  readonly journal: Journal
  readonly model: LanguageModelV4
  /** `provider/model`. */
  readonly modelId: string
  readonly toolbox: Toolbox
  readonly settings: AssistantConfig
  readonly context: Pick<ContextOptions, 'system' | 'room' | 'read'>
  /** SPEC 6.5, `--schema`. */
  readonly schema?: JsonObject | undefined
  readonly decider: Decider | undefined
  readonly see: (sight: Sight) => void
  readonly control: TurnControl
  readonly isOurs: (tool: string) => boolean
  /** A message of the provider's, without the key. */
  readonly redact: (text: string) => string
  readonly now: () => Date
  /** False: nothing of it is there when the process has ended. */
  readonly isKept: boolean
}

export interface TurnEnd {
  /** `no answer`: the model was done, and had said nothing at all. */
  readonly kind: 'done' | 'interrupted' | 'too many steps' | 'cut short' | 'no answer'
  /** What the model said last. */
  readonly text: string
  readonly usage: Usage
  readonly steps: number
}

/** SPEC 6.5: Ctrl-C stops the tool, then the turn. */
export class TurnControl {
  readonly #turn = new AbortController()
  #tools: AbortController | undefined

  get turn(): AbortSignal {
    return this.#turn.signal
  }

  interrupt(): void {
    if (this.#tools && !this.#tools.signal.aborted) this.#tools.abort()
    else this.#turn.abort()
  }

  /** Nothing more is wanted of it. */
  end(): void {
    this.#tools?.abort()
    this.#turn.abort()
  }

  /** Both signals end what runs now. */
  async whileTools<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#tools = new AbortController()
    try {
      return await work(AbortSignal.any([this.#tools.signal, this.#turn.signal]))
    } finally {
      this.#tools = undefined
    }
  }
}

/** SPEC 6.5: ask, record, run what was asked for, and again, until the model is done or a limit is reached (decision 0290). */
export async function runTurn(turn: Turn): Promise<TurnEnd> {
  const { control, settings } = turn
  let usage: Usage = { input: 0, cached: 0, output: 0 }
  let said = ''
  let saidAnything = false
  let toldLeftOut = ''
  for (let step = 1; ; step++) {
    const end = (kind: TurnEnd['kind']): TurnEnd => ({ kind, text: said, usage, steps: step })
    if (control.turn.aborted) return end('interrupted')
    const { prompt, leftOut } = await assembleContext(turn.journal.events, {
      ...turn.context,
      isOwn: (model) => model === turn.modelId,
    })
    if (leftOut.length > 0 && leftOut.join() !== toldLeftOut) turn.see({ kind: 'left out', what: leftOut })
    toldLeftOut = leftOut.join()
    const reply = await ask(turn, prompt)
    usage = sum(usage, reply.usage)
    said = turn.journal.unmark(turn.journal.conceal(reply.text))
    const calls = await recordReply(turn, reply)
    turn.see({ kind: 'answered', reply: { ...reply, text: said } })
    if (reply.stop === 'interrupted') return end('interrupted')
    saidAnything ||= said.trim() !== ''
    if (calls.length === 0)
      return end(CUT_SHORT.has(reply.stop) ? 'cut short' : saidAnything ? 'done' : 'no answer')
    await control.whileTools((signal) => runCalls(turn, calls, signal))
    if (step >= settings.max_steps) return end('too many steps')
  }
}

/** The model had more to say: it was too long, for the provider or for us, or the provider let no more of it through. */
export const CUT_SHORT: ReadonlySet<string> = new Set(['length', 'content-filter', 'cut'])

async function ask(turn: Turn, prompt: LanguageModelV4CallOptions['prompt']): Promise<Reply> {
  const { settings, schema, see } = turn
  const tools = await turn.toolbox.offered()
  const { journal } = turn
  const answer = new Unmarking(journal, (shown) => see({ kind: 'text', text: shown }))
  const thought = new Unmarking(journal, (shown) => see({ kind: 'reasoning', text: shown }))
  const reply = readReply(
    turn.model,
    turn.modelId,
    {
      prompt: journal.conceal(prompt), // what was attached, or is in an older log
      maxOutputTokens: settings.max_output_tokens,
      ...(tools.length === 0 ? {} : { tools }),
      ...(settings.reasoning === 'off' ? {} : { reasoning: settings.reasoning }),
      ...(schema ? { responseFormat: { type: 'json', schema: schema as object, name: 'answer' } } : {}),
    },
    {
      listening: {
        text: (piece) => answer.take(piece),
        reasoning: (piece) => thought.take(piece),
        retry: (failure, seconds) => see({ kind: 'retry', failure, seconds }),
      },
      signal: turn.control.turn,
      wait: (seconds, signal) => sleep(seconds * 1000, undefined, { signal }),
      redact: turn.redact,
      onBroken: async (part) => void (await recordReply(turn, { ...part, calls: [] })),
    },
  )
  return reply.finally(() => {
    thought.end()
    answer.end()
  })
}

/** A person reads what is meant, not the marks for it, and no key; each may come in two pieces. */
class Unmarking {
  readonly #journal: Journal
  readonly #show: (text: string) => void
  #kept = ''

  constructor(journal: Journal, show: (text: string) => void) {
    this.#journal = journal
    this.#show = show
  }

  take(piece: string): void {
    const text = this.#kept + piece
    this.#kept = this.#journal.unfinished(text)
    this.#tell(text.slice(0, text.length - this.#kept.length))
  }

  end(): void {
    this.#tell(this.#kept)
    this.#kept = ''
  }

  #tell(text: string): void {
    if (text !== '') this.#show(this.#journal.unmark(this.#journal.conceal(text)))
  }
}

/** A call under the name and id that the log has for it. */
interface RecordedCall {
  readonly id: string
  readonly name: string
  readonly tool: OpenTool | undefined
  readonly input: Input
}

type Input =
  | { readonly kind: 'arguments'; readonly value: unknown }
  | { readonly kind: 'invalid'; readonly why: string }

async function recordReply(turn: Turn, reply: Reply): Promise<readonly RecordedCall[]> {
  const { journal, modelId } = turn
  const at = turn.now().toISOString()
  const first = journal.events.length
  // What was interrupted is not acted on: the person wanted it to stop.
  const wanted = reply.stop === 'interrupted' ? [] : reply.calls
  const calls = await Promise.all(wanted.map((call, i) => recordable(turn, call, `c${first}_${i + 1}`)))
  const { text, stop, usage, provider } = reply
  await journal.append([
    {
      kind: 'response',
      at,
      text: journal.hide(text),
      model: modelId,
      stop,
      usage,
      ...pathless(journal, provider),
    },
    ...calls.map(({ event }) => ({ ...event, at })),
  ])
  if (reply.callsLeftOut > 0) turn.see({ kind: 'calls left out', count: reply.callsLeftOut })
  return calls.map(({ call }) => call)
}

/** Ids are ours: a model may use one twice. So are the names of tools that are not there: a provider refuses odd ones. */
async function recordable(turn: Turn, wanted: WantedCall, id: string) {
  const tool = await turn.toolbox.find(wanted.tool)
  const name = tool?.name ?? (wanted.tool.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed')
  const input = turn.journal.conceal(parseInput(wanted.input))
  const args =
    input.kind === 'arguments' ? input.value : { not_json: turn.journal.conceal(wanted.input).slice(0, 1000) }
  const call: RecordedCall = { id, name, tool, input: turn.journal.unmark(input) }
  const event = {
    kind: 'tool_call',
    id,
    tool: name,
    arguments: turn.journal.hide(args) as Json,
    ...pathless(turn.journal, wanted.provider),
  } as const
  return { call, event }
}

/** What a provider signed cannot be changed: with a path of this machine in it, it is not kept (SPEC 6.1). */
const pathless = (journal: Journal, provider: JsonObject | undefined): { readonly provider?: JsonObject } =>
  provider && isDeepStrictEqual(journal.hide(provider), provider) ? { provider } : {}

function parseInput(text: string): Input {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    if (isDeep(value)) return { kind: 'invalid', why: 'the arguments are nested too deeply' }
    if (isFields(value)) return { kind: 'arguments', value }
    return { kind: 'invalid', why: 'the arguments are not a JSON object' }
  } catch {
    return { kind: 'invalid', why: 'the arguments are not JSON' }
  }
}

/** In order, but that those which change nothing run beside each other. Every call gets its result. */
async function runCalls(turn: Turn, calls: readonly RecordedCall[], signal: AbortSignal): Promise<void> {
  let beside: Promise<void>[] = []
  for (const call of calls) {
    if (call.tool?.order !== 'free') {
      await Promise.all(beside)
      beside = []
    }
    const alone = async (): Promise<void> => void (await Promise.all(beside))
    const run = await admit(turn, call, signal, alone)
    if (!run) continue
    if (call.tool?.order === 'free') beside.push(run())
    else await run()
  }
  await Promise.all(beside)
}

/** Consent, one question after the other. Undefined: it does not run, and its result is recorded. */
async function admit(
  turn: Turn,
  call: RecordedCall,
  signal: AbortSignal,
  alone: () => Promise<void>,
): Promise<(() => Promise<void>) | undefined> {
  const { name, input } = call
  // Looked up again: a person may have said `always` to one of the same reply.
  const tool = call.tool && (await turn.toolbox.find(name))
  const no = async (outcome: Outcome, text: string): Promise<undefined> => {
    await recordResult(turn, call, { outcome, text, resources: [] })
    return undefined
  }
  /** Whoever reads a result has seen the call that it is of. */
  const unseen = (outcome: Outcome, text: string): Promise<undefined> => {
    const args = input.kind === 'arguments' ? input.value : {}
    turn.see({
      kind: 'call',
      id: call.id,
      call: showCall(name, args, { isOurs: false, files: () => undefined }),
    })
    return no(outcome, text)
  }
  if (signal.aborted) return unseen('cancelled', notRun(turn))
  if (!tool) return unseen('error', `there is no tool of this name: ${name}`)
  if (input.kind === 'invalid') return unseen('error', input.why)
  const show = async (look: Look, purpose: 'asked' | 'told' = 'asked'): Promise<ShownCall> => {
    const { mode, secret } = look.decided
    const { refusal, replaces } = look.foreseen
    // Only a person who is asked needs its words: they cost a process.
    const isAsked =
      purpose === 'asked' && mode === 'ask' && turn.decider !== undefined && refusal === undefined
    // While somebody reads a question, nothing else is printed.
    if (mode === 'ask' || mode === 'edit') await alone()
    const said = isAsked ? await tool.describe?.({ arguments: look.arguments, signal }) : undefined
    const { files, paths = [] } = look
    const shown = {
      ...showCall(name, look.arguments, { isOurs: turn.isOurs(name), files, paths, replaces }),
      tool: titleOf(tool),
      server: serverOf(tool.source)?.server,
      said,
      secret: mode === 'ask' || mode === 'edit' ? secret : undefined,
      ...(mode === 'edit' ? { mode } : {}),
      ...(look.isEdited ? { isEdited: true } : {}),
      // The question itself is the next that a person sees.
      ...(asksThem(tool, mode) && turn.decider ? { summary: 'asks you' } : {}),
    }
    turn.see({ kind: 'call', id: call.id, call: shown })
    return shown
  }
  const consent = await consentTo(tool, input.value, show, turn.decider)
  if (signal.aborted) return no('cancelled', notRun(turn))
  if (consent.kind === 'refused') return no(consent.outcome, consent.text)
  if (consent.always) await allowAlways(turn, tool)
  return async () => {
    const { secrets, shown } = consent
    const how = { signal, inquired: inquiryOf(turn, call), keeps: keepingOf(turn, tool), secrets, shown }
    const answer = await answerOf(tool, consent.arguments, how)
    const result = await handOver(turn, tool, consent.arguments, answer)
    await recordResult(turn, call, result, consent.isEdited ? editNote(consent.arguments) : '')
  }
}

const asksThem = ({ name, source }: OpenTool, mode: CallMode['mode']): boolean =>
  source === 'builtin' && name === 'ask_user' && mode === 'unattended'

/** Ctrl-C stops what runs and what would run after it in the same reply; only the next one stops the turn. */
const notRun = ({ control }: Turn): string =>
  control.turn.aborted
    ? 'it was not run: the person stopped the turn before'
    : 'it was not run: the person stopped the calls of this reply while another one ran'

/** SPEC 6.1: what a person was asked while a call ran, and what they said. Never trusted when it is read again. */
const inquiryOf =
  ({ journal, now }: Turn, { id }: RecordedCall): CallHow['inquired'] =>
  (question, answer) =>
    journal.append([
      {
        kind: 'inquiry',
        at: now().toISOString(),
        id,
        question: journal.hide(question),
        ...(answer === undefined ? {} : { answer: journal.hide(answer) }),
      },
    ])

/**
 * A person's word, sealed into the conversation as `always` is: for this very question, not for another of the same id
 * (decision 0294).
 */
const keepingOf =
  ({ journal, now }: Turn, { name, source }: OpenTool): CallHow['keeps'] =>
  ({ id, text }, answer) =>
    journal.append([
      {
        kind: 'config',
        at: now().toISOString(),
        delta: journal.hide({
          conversation: { tools: { [name]: { source, questions: { [id]: { text, answer } } } } },
        }),
      },
    ])

/** The call stands in the log as the model made it; what ran instead stands with its result, for the model and who reads the log. */
const editNote = (args: unknown): string =>
  `[the person changed the arguments first, to:]\n${JSON.stringify(args, undefined, 2)}\n[the result:]\n`

/** Whatever goes wrong with one call is that call's result. */
async function answerOf(tool: OpenTool, args: unknown, how: CallHow): Promise<ToolAnswer> {
  try {
    const answer = await tool.run(args, how)
    return answer.outcome === 'cancelled'
      ? { ...answer, text: `the person stopped it while it ran\n${answer.text}`.trimEnd() }
      : answer
  } catch (error) {
    if (!(error instanceof CordonError)) throw error
    return { outcome: 'error', text: error.message, resources: [] }
  }
}

/** `conversation.tools.<name>.result`: whether the model may have it. Resources are a part of it like its text. */
async function handOver(
  { decider, context }: Turn,
  { name, config, pathsIn }: OpenTool,
  args: unknown,
  answer: ToolAnswer,
): Promise<Omit<ToolAnswer, 'outcome'> & { readonly outcome: Outcome }> {
  const withheld = (why: string, outcome: Outcome) =>
    ({
      outcome,
      text: `tool ${name}: it was run, and its result is not handed over: ${why}`,
      resources: [],
    }) as const
  const matches = await loadPatternTest(config.result)
  switch (decideRunMode(config.result, args, matches, pathsIn).mode) {
    case 'unattended':
      return answer
    case 'skip':
      return withheld('its result mode is skip', 'skipped')
    case 'ask':
      if (!decider) return withheld('its result mode needs a person, and there is nobody to ask', 'denied')
      return (await decider.handsOver(name, await wholeResult(answer, context.read)))
        ? answer
        : withheld('the person declined', 'denied')
    case 'edit': {
      if (!decider) return withheld('its result mode needs a person, and there is nobody to ask', 'denied')
      const edited = await decider.edits('result', await wholeResult(answer, context.read))
      // What is left of the resources is in the text.
      if (edited.kind === 'text') return { ...answer, text: edited.text, resources: [] }
      return (await decider.handsOver(name, await wholeResult(answer, context.read)))
        ? answer
        : withheld('the person declined', 'denied')
    }
  }
}

/**
 * A person's word, sealed into the conversation (SPEC 2.1). It stands for `ask` alone: where rules by argument say more, it
 * holds in this process, because a sealed mode would replace them all.
 */
async function allowAlways(turn: Turn, tool: OpenTool): Promise<void> {
  const { name, source, config } = tool
  turn.toolbox.allow(tool)
  const isKept = config.run === 'ask'
  if (isKept)
    await turn.journal.append([
      { kind: 'config', at: turn.now().toISOString(), delta: alwaysDelta({ tool: name, source }) },
    ])
  turn.see({ kind: 'allowed', tool: name, until: isKept && turn.isKept ? 'taken back' : 'the end' })
}

async function recordResult(
  turn: Turn,
  { id, name }: RecordedCall,
  { outcome, text, resources }: Omit<ToolAnswer, 'outcome'> & { readonly outcome: Outcome },
  note = '',
): Promise<void> {
  const hide = (content: string): string =>
    outcome === 'success' ? turn.journal.mark(content) : turn.journal.hide(content)
  const hidden = hide(text)
  await turn.journal.append([
    {
      kind: 'tool_result',
      at: turn.now().toISOString(),
      id,
      outcome,
      text: hide(note) + hidden,
      resources: turn.journal.hide(resources),
    },
  ])
  turn.see({ kind: 'result', id, tool: name, outcome, text: turn.journal.unmark(hidden) })
}

const sum = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  cached: a.cached + b.cached,
  output: a.output + b.output,
  ...(a.partial || b.partial ? { partial: true } : {}),
})
