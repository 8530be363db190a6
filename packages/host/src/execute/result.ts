import { CAPABILITIES, describe, type Fields, isFields, quote } from '@cordon/policy'
import type { Question, ToolFailure } from '@cordon/tools'
import { howEnded } from '../confine/program.ts'

/** What a tool gave back, after whatever it printed was understood (SPEC 6.5). */
export type ToolReply =
  | {
      readonly type: 'success'
      readonly content: readonly ContentBlock[]
      /** Of a tool that answers in plain text: programs often say there what came of it. */
      readonly stderr?: string
      /** As in `ToolFailure`. */
      readonly closed?: readonly string[]
    }
  | ToolFailure
  | { readonly type: 'needs_input'; readonly question: ToolQuestion; readonly closed?: never }

export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'resource'; readonly resource: ToolResource }

interface ToolResource {
  readonly uri: string
  readonly mimeType?: string
  readonly text?: string
  /** Base64. */
  readonly blob?: string
}

/** The same words for the tools we ship and for everybody's. */
export type ToolQuestion = Question

/** How the process ended and all that was kept of its output. */
export interface Printed {
  readonly stdout: Buffer
  readonly stderr: string
  readonly code: number | null
  readonly signal: string | null
  /** More strings are not parsed. Undefined: as many as there are. */
  readonly mostStrings?: number | undefined
}

/** Pure. A JSON object with one of the three types is an answer; everything else is plain text (decision 0103). */
export function parseReply({ stdout, stderr, code, signal, mostStrings }: Printed): ToolReply {
  const text = stdout.toString('utf8')
  const answer = parseAnswer(text, mostStrings)
  if (code === 0)
    return (
      answer ?? {
        type: 'success',
        content: text === '' ? [] : [{ type: 'text', text }],
        ...(stderr.trim() === '' ? {} : { stderr }),
      }
    )
  // SPEC 6.5: a non-zero exit is an error, whatever was printed; the tool's own words for it come first.
  if (answer?.type === 'error') return answer
  // What it had to say is kept, in whichever form: a success with a failing exit is often a report of what failed.
  const said = [stderr.trim(), textOf(answer, text).trim()].filter(Boolean).join('\n')
  return failure(`the tool ${howEnded({ code, signal })}${said === '' ? ' and said nothing' : `:\n${said}`}`)
}

function textOf(answer: ToolReply | undefined, printed: string): string {
  if (answer?.type !== 'success') return answer ? '' : printed
  return answer.content
    .map((block) => (block.type === 'text' ? block.text : (block.resource.text ?? '')))
    .filter(Boolean)
    .join('\n')
}

export const failure = (message: string, transient: 'transient' | 'lasting' = 'lasting'): ToolFailure => ({
  type: 'error',
  message,
  trace: [],
  transient: transient === 'transient',
})

/** Undefined: not an answer of the protocol. One that is, and has the wrong shape, is an error that says so. */
function parseAnswer(text: string, mostStrings?: number): ToolReply | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  if (mostStrings !== undefined && hasMoreStrings(text, mostStrings))
    return looksLikeAnswer(text)
      ? failure(`the tool's answer has more than ${mostStrings} strings, too many to be read`)
      : undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return readAnswer(value)
}

/** By how it begins: to be used where it cannot be parsed. */
export const looksLikeAnswer = (text: string): boolean =>
  /^\s*\{[^{}]{0,64}"type"\s*:\s*"(?:success|error|needs_input)"/.test(text.slice(0, 256))

/** Of a JSON text, names included. Takes no more time than the text is long. */
function hasMoreStrings(json: string, most: number): boolean {
  let count = 0
  for (let start = json.indexOf('"'); start >= 0 && count <= most; count++) {
    let end = json.indexOf('"', start + 1)
    while (end >= 0 && isEscaped(json, end)) end = json.indexOf('"', end + 1)
    start = end < 0 ? -1 : json.indexOf('"', end + 1)
  }
  return count > most
}

/** Behind an odd number of backslashes. */
function isEscaped(json: string, at: number): boolean {
  let first = at
  while (json[first - 1] === '\\') first--
  return (at - first) % 2 === 1
}

/** An object of the protocol. Undefined: it is none. */
export function readAnswer(value: unknown): ToolReply | undefined {
  if (!isFields(value)) return undefined
  switch (value['type']) {
    case 'success':
      return readSuccess(value)
    case 'error':
      return readError(value)
    case 'needs_input':
      return readQuestion(value['question'])
    default:
      return undefined
  }
}

/** Which journal keys are of no more use: heard only from `fs_modify_file`. */
const readClosed = (closed: unknown): { readonly closed?: readonly string[] } =>
  Array.isArray(closed) ? { closed: closed.filter((name) => typeof name === 'string') } : {}

const misshapen = (what: string): ToolReply => failure(`the tool's answer has the wrong shape: ${what}`)

function readSuccess({ content, closed }: Fields): ToolReply {
  // Some tools have one text to say and say it so.
  if (typeof content === 'string') return { type: 'success', content: [{ type: 'text', text: content }] }
  if (!Array.isArray(content)) return misshapen(`content must be a list, got ${describe(content)}`)
  const wrong = content.findIndex((block) => !isBlock(block))
  if (wrong >= 0) return misshapen(`content[${wrong}] is neither a text nor a resource`)
  return { type: 'success', content: content as ContentBlock[], ...readClosed(closed) }
}

function isBlock(value: unknown): value is ContentBlock {
  if (!isFields(value)) return false
  if (value['type'] === 'text') return typeof value['text'] === 'string'
  const { resource } = value
  if (value['type'] !== 'resource' || !isFields(resource) || typeof resource['uri'] !== 'string') return false
  const { text, blob, mimeType } = resource
  return (
    (typeof text === 'string') !== (typeof blob === 'string') &&
    (mimeType === undefined || typeof mimeType === 'string')
  )
}

function readError({ message, trace, transient, denied, closed }: Fields): ToolReply {
  if (typeof message !== 'string') return misshapen(`message must be a string, got ${describe(message)}`)
  const lines = Array.isArray(trace) ? trace.filter((line): line is string => typeof line === 'string') : []
  return {
    type: 'error',
    message,
    trace: lines.slice(0, 100),
    transient: transient === true,
    ...(isDenied(denied) ? { denied: readDenied(denied) } : {}),
    ...readClosed(closed),
  }
}

/** What a tool that checks itself says it was refused. It is not verified: at worst we name a rule of the tool's own policy. */
const isDenied = (value: unknown): value is NonNullable<ToolFailure['denied']> =>
  isFields(value) &&
  CAPABILITIES.some((capability) => capability === value['capability']) &&
  typeof value['target'] === 'string'

const readDenied = ({
  capability,
  target,
  suggested,
}: NonNullable<ToolFailure['denied']>): NonNullable<ToolFailure['denied']> => ({
  capability,
  target,
  ...(typeof suggested === 'string' ? { suggested } : {}),
})

function readQuestion(value: unknown): ToolReply {
  if (!isFields(value)) return misshapen(`question must be an object, got ${describe(value)}`)
  const { id, text, answer_type = 'text', options, default: preset, argument } = value
  if (typeof id !== 'string' || id === '' || typeof text !== 'string')
    return misshapen('a question needs id and text')
  if (answer_type !== 'boolean' && answer_type !== 'select' && answer_type !== 'text')
    return misshapen(`answer_type must be boolean, select or text, got ${describe(answer_type)}`)
  const choices = Array.isArray(options) && options.every((one) => typeof one === 'string') ? options : []
  if (answer_type === 'select' && choices.length === 0)
    return misshapen(`the question ${quote(id)} has no options to select from`)
  return {
    type: 'needs_input',
    question: {
      id,
      text,
      answer_type,
      ...(answer_type === 'select' ? { options: choices } : {}),
      ...(typeof preset === 'string' || typeof preset === 'boolean' ? { default: preset } : {}),
      ...(typeof argument === 'string' && argument !== '' ? { argument } : {}),
    },
  }
}
