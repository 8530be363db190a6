import { APICallError } from '@ai-sdk/provider'
import type { ModelFailure } from './errors.ts'

/** Nothing came for so long that nobody is there any more. */
export class SilentError extends Error {
  constructor() {
    super('nothing came for five minutes')
  }
}

/** The stream ended, and its last event never came. */
export class BrokenOffError extends Error {
  constructor() {
    super('the stream ended before the answer did')
  }
}

/** How one provider says one thing, in the body of an error. */
interface Saying {
  readonly failure: ModelFailure
  /** Whose words they are. */
  readonly who: string
  readonly words: RegExp
}

/** First what a body says, because servers disagree about statuses: llama.cpp has some of these as 500. */
export const SAYINGS: readonly Saying[] = [
  { failure: 'key refused', who: 'Google', words: /API key not valid|API_KEY_INVALID/i },
  { failure: 'too much context', who: 'OpenAI', words: /context_length_exceeded/ },
  { failure: 'too much context', who: 'Anthropic', words: /prompt is too long/i },
  { failure: 'too much context', who: 'Anthropic', words: /exceed context limit/i },
  { failure: 'too much context', who: 'Google', words: /exceeds the maximum number of tokens/i },
  { failure: 'too much context', who: 'vLLM', words: /maximum context length is/i },
  {
    failure: 'too much context',
    who: 'llama.cpp',
    words: /exceed_context_size_error|exceeds the available context size/i,
  },
  { failure: 'too much context', who: 'others', words: /too many tokens/i },
  { failure: 'no tools', who: 'Ollama', words: /does not support (?:tools|function)/i },
  { failure: 'no tools', who: 'vLLM', words: /tool choice requires --enable-auto-tool-choice/i },
  { failure: 'no tools', who: 'llama.cpp', words: /tools param requires --jinja/i },
  { failure: 'no tools', who: 'OpenRouter', words: /no endpoints found that support tool use/i },
  { failure: 'file refused', who: 'llama.cpp', words: /(?:image|audio|file) input is not supported/i },
  { failure: 'file refused', who: 'vLLM', words: /is not a multimodal model|At most 0 image/i },
  { failure: 'file refused', who: 'Ollama', words: /does not support (?:image|vision|file|pdf|multimodal)/i },
  {
    failure: 'file refused',
    who: 'OpenAI',
    words: /(?:image_url|file) is only supported by certain models/i,
  },
  { failure: 'file refused', who: 'Anthropic', words: /could not process (?:image|pdf)/i },
]

/** Statuses at which a body is read for what it says. */
const SAID_AT: ReadonlySet<number> = new Set([400, 404, 413, 415, 422, 500, 501])

/** What kind of failure it is, by what is known of it: what the provider says, a status, or that there was none. */
export function failureOf(error: unknown): ModelFailure {
  if (error instanceof BrokenOffError || error instanceof SilentError || isTerminated(error))
    return 'broken off'
  if (!APICallError.isInstance(error)) return error instanceof TypeError ? networkFailure(error) : 'malformed'
  const { statusCode: status, responseBody: body = '' } = error
  if (status === undefined) return networkFailure(error)
  const said = SAID_AT.has(status) ? SAYINGS.find(({ words }) => words.test(body)) : undefined
  if (said) return said.failure
  if (status >= 300 && status < 400) return 'redirected'
  if (status === 401 || status === 403) return 'key refused'
  // A page that is not there, and a model that is not there: only the second is about a model.
  if (status === 404) return /model/i.test(messageIn(body)) ? 'unknown model' : 'wrong address'
  if (status === 413) return 'too much context'
  if (BUSY.has(status)) return 'overloaded'
  if (status >= 500) return 'out of order'
  return status < 300 ? 'malformed' : 'refused'
}

const BUSY: ReadonlySet<number> = new Set([408, 409, 429, 503, 529])

/** What an API says in its own form; empty for pages, and for what any server says of a path it does not know. */
function messageIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { readonly error?: unknown }
    return typeof error === 'string' ? error : JSON.stringify(error ?? '')
  } catch {
    return ''
  }
}

const networkFailure = (error: unknown): ModelFailure =>
  causesOf(error).some(isRefusedHere) ? 'nobody there' : 'unreachable'

/** What `fetch`, and ours (transport.ts), throw when a connection ends in the middle. */
const isTerminated = (error: unknown): boolean =>
  causesOf(error).some((cause) => cause instanceof TypeError && cause.message === 'terminated')

function causesOf(error: unknown): unknown[] {
  if (!(error instanceof Error)) return []
  const inner = error instanceof AggregateError ? (error.errors as unknown[]) : []
  return [error, ...inner.flatMap(causesOf), ...causesOf(error.cause)]
}

/** On this machine a refused connection is an answer: no network is slow, and no port is busy. */
const isRefusedHere = (cause: unknown): boolean =>
  cause instanceof Error &&
  'code' in cause &&
  cause.code === 'ECONNREFUSED' &&
  'address' in cause &&
  typeof cause.address === 'string' &&
  /^(?:127\.|::1$|::ffff:127\.)/.test(cause.address)

/** How often it is asked at the most. */
export const triesFor = (failure: ModelFailure): number => TRIES[failure] ?? 1

const TRIES: Partial<Record<ModelFailure, number>> = {
  overloaded: 5,
  'out of order': 5,
  unreachable: 5,
  malformed: 5,
  'broken off': 5,
  'nobody there': 2, // it may be about to start
}

/** What the provider asks for, in seconds or as a date, else longer each time. */
export function waitFor(error: unknown, attempt: number, now: number): number {
  const asked = APICallError.isInstance(error) ? error.responseHeaders?.['retry-after'] : undefined
  const seconds = asked === undefined ? NaN : secondsIn(asked, now)
  return Math.min(Math.max(Number.isFinite(seconds) ? seconds : 2 ** (attempt - 1), 0), LONGEST_WAIT)
}

const LONGEST_WAIT = 60

const secondsIn = (asked: string, now: number): number =>
  /^\s*\d+(?:\.\d+)?\s*$/.test(asked) ? Number(asked) : Math.ceil((Date.parse(asked) - now) / 1000)
