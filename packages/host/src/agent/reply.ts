import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4StreamPart,
  type LanguageModelV4Usage,
} from '@ai-sdk/provider'
import type { JsonObject } from '@cordon/workspace'
import { ModelError, type ModelFailure } from './errors.ts'
import { BrokenOffError, failureOf, SilentError, triesFor, waitFor } from './failures.ts'

/** A tool that the model wants to be called, as it wrote it. */
export interface WantedCall {
  readonly id: string
  readonly tool: string
  /** JSON, if the model kept to it. */
  readonly input: string
  /** What the provider needs to see again with it. */
  readonly provider?: JsonObject
}

export interface Usage {
  /** Tokens that were sent, `cached` of them known to the provider from before. */
  readonly input: number
  readonly cached: number
  readonly output: number
  /** Somebody stopped a reply before it said what it took: these are the others. */
  readonly partial?: true
}

/** One answer of a model, as far as it came. */
export interface Reply {
  readonly text: string
  readonly calls: readonly WantedCall[]
  /** How many calls more there were than are taken. */
  readonly callsLeftOut: number
  /** Why it ended; `interrupted` when somebody stopped it, `cut` when it was too long for us. */
  readonly stop: string
  readonly usage: Usage
  /** Signed reasoning, which the provider wants back. */
  readonly provider?: JsonObject
}

/** What a reply is told about while it comes. */
interface Listening {
  readonly text: (piece: string) => void
  readonly reasoning: (piece: string) => void
  /** It will be asked again, after so many seconds. */
  readonly retry: (failure: ModelFailure, seconds: number) => void
}

/** A model that never stops, or calls everything at once, is stopped for it. */
const MOST_CHARACTERS = 2 ** 20
const MOST_CALLS = 64

/** Nothing at all for so long: nobody is there any more. */
const SILENCE_MS = 300_000

/**
 * SPEC 6.5: one request, tried again while nothing has arrived and the failure may pass. What arrived before a failure is
 * in `onBroken`, so that nothing is lost. Aborting is no failure: what came is the reply.
 */
export async function readReply(
  model: LanguageModelV4,
  id: string,
  options: Omit<LanguageModelV4CallOptions, 'abortSignal'>,
  { listening, signal, wait, onBroken, redact }: ReplyHands,
): Promise<Reply> {
  for (let attempt = 1; ; attempt++) {
    const reading = new Reading(listening)
    try {
      return await readOnce(model, options, reading, signal)
    } catch (error) {
      if (signal.aborted) return reading.reply('interrupted')
      const failure = failureOf(error)
      const problem = new ModelError(failure, id, redact(saidBy(error)), filesIn(options.prompt))
      if (reading.isEmpty && attempt < triesFor(failure)) {
        const seconds = waitFor(error, attempt, Date.now())
        listening.retry(failure, seconds)
        await wait(seconds, signal).catch(() => undefined)
        if (signal.aborted) return reading.reply('interrupted')
        continue
      }
      if (!reading.isEmpty) await onBroken(reading.reply('broken'))
      throw problem
    }
  }
}

interface ReplyHands {
  readonly listening: Listening
  readonly signal: AbortSignal
  readonly wait: (seconds: number, signal: AbortSignal) => Promise<void>
  readonly onBroken: (part: Reply) => Promise<void>
  /** Providers repeat what they refuse: a key is taken out of what they say. */
  readonly redact: (text: string) => string
}

async function readOnce(
  model: LanguageModelV4,
  options: Omit<LanguageModelV4CallOptions, 'abortSignal'>,
  reading: Reading,
  signal: AbortSignal,
): Promise<Reply> {
  const enough = new AbortController()
  const silence = setTimeout(() => enough.abort(new SilentError()), SILENCE_MS)
  const abortSignal = AbortSignal.any([signal, enough.signal])
  try {
    const { stream } = await model.doStream({ ...options, abortSignal })
    for await (const part of stream) {
      silence.refresh()
      reading.take(part)
      if (reading.isTooLong) {
        enough.abort()
        return reading.reply('cut')
      }
    }
    if (signal.aborted) return reading.reply('interrupted')
    if (reading.stop === undefined) throw new BrokenOffError()
    return reading.reply(reading.stop)
  } finally {
    clearTimeout(silence)
  }
}

/** What has come of a reply so far. */
class Reading {
  readonly #listening: Listening
  readonly #text: string[] = []
  readonly #calls: WantedCall[] = []
  readonly #reasoning = new Map<string, { text: string; metadata?: JsonObject }>()
  /** Calls whose input came in pieces. */
  readonly #streamed = new Set<string>()
  #characters = 0
  #callsLeftOut = 0
  #usage: Usage = { input: 0, cached: 0, output: 0, partial: true }
  stop: string | undefined

  constructor(listening: Listening) {
    this.#listening = listening
  }

  get isEmpty(): boolean {
    return this.#characters === 0 && this.#calls.length === 0
  }

  get isTooLong(): boolean {
    return this.#characters > MOST_CHARACTERS
  }

  /** Sources, files and raw parts are nothing that we asked for. */
  take(part: LanguageModelV4StreamPart): void {
    if (part.type === 'error') throw part.error
    if (part.type === 'text-delta') {
      const delta = this.#room(part.delta)
      this.#text.push(delta)
      this.#listening.text(delta)
    } else if (
      part.type === 'reasoning-start' ||
      part.type === 'reasoning-delta' ||
      part.type === 'reasoning-end'
    ) {
      this.#think(part)
    } else if (part.type === 'tool-input-delta') {
      this.#room(part.delta) // an endless argument is endless, too
      this.#streamed.add(part.id)
    } else if (part.type === 'tool-call' && !part.providerExecuted) {
      const counted = this.#streamed.has(part.toolCallId) ? '' : part.input
      this.#room(counted + JSON.stringify(part.providerMetadata ?? ''))
      if (this.#calls.length === MOST_CALLS) this.#callsLeftOut++
      else if (!this.isTooLong) this.#calls.push(callOf(part))
    } else if (part.type === 'finish') {
      this.stop = part.finishReason.unified
      this.#usage = usageOf(part.usage)
    }
  }

  reply(stop: string): Reply {
    const reasoning = [...this.#reasoning.values()].filter(({ metadata }) => metadata !== undefined)
    return {
      text: this.#text.join(''),
      calls: this.#calls,
      callsLeftOut: this.#callsLeftOut,
      stop,
      usage: this.#usage,
      ...(reasoning.length === 0 ? {} : { provider: { reasoning } }),
    }
  }

  /** Counts it; as much of it as there is room for. */
  #room(text: string): string {
    const left = Math.max(0, MOST_CHARACTERS - this.#characters)
    this.#characters += text.length
    return text.length > left ? text.slice(0, left) : text
  }

  #think(part: Extract<LanguageModelV4StreamPart, { type: `reasoning-${'start' | 'delta' | 'end'}` }>): void {
    const known = this.#reasoning.get(part.id) ?? { text: '' }
    const delta = part.type === 'reasoning-delta' ? this.#room(part.delta) : ''
    // What a provider signs or encrypts is a part of its answer, and has no end by itself either.
    if (part.providerMetadata) this.#room(JSON.stringify(part.providerMetadata))
    const given = this.isTooLong ? undefined : (part.providerMetadata as JsonObject | undefined)
    const metadata = given ?? known.metadata
    this.#reasoning.set(part.id, { text: known.text + delta, ...(metadata ? { metadata } : {}) })
    if (delta !== '') this.#listening.reasoning(delta)
  }
}

const callOf = ({
  toolCallId,
  toolName,
  input,
  providerMetadata,
}: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): WantedCall => ({
  id: toolCallId,
  tool: toolName,
  input,
  ...(providerMetadata ? { provider: providerMetadata as JsonObject } : {}),
})

function usageOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const input = countOf(inputTokens.total)
  return {
    input,
    cached: Math.min(countOf(inputTokens.cacheRead), input),
    output: countOf(outputTokens.total),
  }
}

/** A provider says what it likes; what cannot be a number of tokens is not known, like one that it does not say. */
const countOf = (said: number | undefined): number =>
  said !== undefined && Number.isSafeInteger(said) && said >= 0 && said <= MOST_TOKENS ? said : 0

const MOST_TOKENS = 1_000_000_000

/** What was attached that is no text: its URI stands before it (context.ts). */
const filesIn = (prompt: LanguageModelV4CallOptions['prompt']): string[] =>
  prompt.flatMap(({ role, content }) =>
    role === 'user'
      ? content.flatMap((part, i) => {
          const before = content[i - 1]
          return part.type === 'file' && before?.type === 'text' ? [before.text.slice(1, -2)] : []
        })
      : [],
  )

/** One sentence of the provider's, never the request. */
function saidBy(error: unknown): string {
  if (failureOf(error) === 'broken off' && APICallError.isInstance(error)) return '' // the library's words for it
  const text = error instanceof Error ? error.message : typeof error === 'string' ? error : ''
  return text.split('\n', 1)[0]!
}
