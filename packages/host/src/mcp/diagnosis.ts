import { CordonError, show } from '@cordon/policy'
import type { ProxyDecision } from '@cordon/sandbox'
import type { Hint } from '../confine/hint.ts'
import type { Wish } from './grant.ts'
import { parseQuestion, type Question } from '../why/question.ts'

/** SPEC 5.4: how far a server got. */
export type Stage =
  /** Nobody has accepted the program that its command line leads to by now. */
  | 'trust'
  /** There is no process: no such program, or the sandbox could not be built. */
  | 'start'
  /** It ended, or said nothing, before it was initialised. */
  | 'initialize'
  /** It spoke, and not as the protocol has it: no sandbox makes a server do that. */
  | 'protocol'
  /** It was asked for its tools. */
  | 'list'
  /** It was asked to run one of them. */
  | 'call'
  /** It was asked for anything else. */
  | 'running'
  /** It was asked for nothing. */
  | 'idle'
  /** Nobody waits for it any more: who asked has cancelled, or is gone. */
  | 'cancelled'

/** What a server that is initialised was asked for when it failed. */
export type Asked =
  | { readonly stage: 'call'; readonly tool: string }
  | { readonly stage: 'list' | 'running' | 'idle' }

export function whenAsked(asked: Asked): string {
  switch (asked.stage) {
    case 'list':
      return 'while it was asked for its tools'
    case 'call':
      return `during a call of ${show(asked.tool)}`
    case 'running':
      return 'after it was initialised'
    case 'idle':
      return 'while nothing was asked of it'
  }
}

/** What is known about a failure of a server, and what is guessed. */
export interface Diagnosis {
  readonly server: string
  readonly stage: Stage
  /** One sentence without a name in it: `ended with exit code 1 before it was initialised`. */
  readonly what: string
  /** The sandbox was off: nothing of it can be the cause. */
  readonly sandbox?: 'off'
  /** Exactly what the proxy refused. */
  readonly refused: readonly ProxyDecision[]
  /** What was allowed, and yet not reached: why. */
  readonly unreached: readonly ProxyDecision[]
  /** Guesses; some are for the person alone. */
  readonly hints: readonly Hint[]
  /** The last lines of its error output. */
  readonly said: readonly string[]
}

/** A server failed. The message is for the person; `forModel` says what a model may know of it. */
export class ServerError extends CordonError {
  readonly code = 'MCP_SERVER'
  readonly diagnosis: Diagnosis
  constructor(diagnosis: Diagnosis) {
    super(describe(diagnosis, 'person'))
    this.diagnosis = diagnosis
  }

  get forModel(): string {
    return describe(this.diagnosis, 'model')
  }
}

/** Who asked has cancelled, or is gone: nobody is looked for who caused that. */
export const cancelled = (server: string, what: string): ServerError =>
  new ServerError({ server, stage: 'cancelled', what, refused: [], unreached: [], hints: [], said: [] })

/** How sure it is that the sandbox is the cause, by stage (SPEC 5.4). */
const ATTRIBUTION: Readonly<Record<Stage, string | undefined>> = {
  trust: undefined,
  start: 'the sandbox, or the command line, is the likely cause',
  initialize: 'what the sandbox withholds is the likely cause',
  protocol: undefined,
  list: undefined,
  call: undefined,
  running: undefined,
  idle: undefined,
  cancelled: undefined,
}

/** Undefined also where what was refused is known exactly: then nothing is guessed. */
export const attributionOf = (diagnosis: Diagnosis): string | undefined =>
  isExact(diagnosis) || diagnosis.sandbox === 'off' ? undefined : ATTRIBUTION[diagnosis.stage]

function describe(diagnosis: Diagnosis, reader: 'person' | 'model'): string {
  const { server, stage, what, said } = diagnosis
  const notes = notesOf(diagnosis, reader)
  const likely = attributionOf(diagnosis)
  return [
    `MCP server ${show(server)} ${what}`,
    ...(likely === undefined ? [] : [`  ${likely}`]),
    ...notes.map((note) => `  ${note}`),
    ...(said.length === 0 || reader === 'model'
      ? []
      : ['  it had said:', ...said.map((line) => `    ${show(line)}`)]),
    ...(reader === 'person' && (stage === 'start' || stage === 'initialize')
      ? [`  fix: \`cordon mcp doctor ${server}\` finds out what it needs`]
      : []),
  ].join('\n')
}

/** The launcher itself, or the proxy, said what it refused: then nothing is guessed. */
const isExact = ({ refused, unreached, stage }: Diagnosis): boolean =>
  refused.length + unreached.length > 0 || stage === 'start'

type Guess = Pick<Hint, 'text' | 'audience' | 'question' | 'place'>

/**
 * SPEC 5.4: what was refused, exactly; otherwise one labelled hint; each with what would allow it, where `allow` knows. What a
 * hint tells of the host is the person's. What a rule refuses was written on purpose, and nothing is suggested.
 */
export function notesOf(
  {
    refused,
    unreached,
    hints,
  }: Pick<Diagnosis, 'refused' | 'unreached'> & { readonly hints: readonly Guess[] },
  reader: 'person' | 'model',
  allow: (wish: Wish) => readonly string[] = () => [],
): string[] {
  const readable = hints.filter(({ audience }) => reader === 'person' || audience === 'anyone')
  const guesses = readable.slice(0, reader === 'person' ? MOST_HINTS : 1)
  const withGrant = (text: string, wish: Wish): string => [text, ...allow(wish)].join('\n')
  const reasons = new Set(unreached.map(({ reason }) => `allowed, but: ${show(reason)}`))
  return [
    ...refusalsOf(refused).map(({ text, question }) => withGrant(text, question ? { question } : {})),
    ...[...reasons].slice(0, MOST_REFUSED),
    ...guesses.map((hint) => withGrant(`hint: ${hint.text}`, hint)),
  ]
}

const MOST_REFUSED = 10
const MOST_HINTS = 5

/** What the proxy refused, exactly and each once. */
export interface Refusal {
  /** The host, or all of the URL where that is known. */
  readonly about: string
  readonly text: string
  /** Undefined where a rule says no: it was written on purpose. */
  readonly question: Question | undefined
}

export function refusalsOf(refused: readonly ProxyDecision[]): readonly Refusal[] {
  const found = refused.map((decision): Refusal => {
    const about = targetOf(decision)
    const text = `refused: ${about}: ${refusalReason(decision)}`
    return { about, text, question: decision.wish && questionAbout(decision) }
  })
  return [...new Map(found.map((refusal) => [refusal.text, refusal])).values()].slice(0, MOST_REFUSED)
}

/** Who looks a name up has not said what for: then the rule that is most often meant is suggested (`questionAbout`). */
export const refusalReason = ({ url, port, wish, reason }: ProxyDecision): string =>
  wish !== undefined && url === undefined && port === undefined && wish.path === undefined
    ? `${show(reason)}; only its name was asked for, so https is a guess`
    : show(reason)

/** A connection may end before it said which host it wanted. */
const targetOf = ({ url, host, port }: ProxyDecision): string =>
  url === undefined && host === ''
    ? 'a request'
    : show(url ?? `${host}${port === undefined ? '' : `:${port}`}`)

export function questionAbout({ kind, host, port, url, wish }: ProxyDecision): Question {
  // Of a tunnel the path is known only from what was typed (`asTyped`).
  const typed = wish?.path === undefined ? undefined : wish
  const scheme = typed?.scheme ?? (kind === 'http' || port === 80 ? 'http' : 'https')
  const place = `${scheme}://${host}${port === undefined ? '' : `:${port}`}${typed?.path ?? '/'}`
  return parseQuestion('net', url ?? place)
}
