import { createInterface } from 'node:readline/promises'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Person, Respondent, Reviewer, ToolQuestion } from '@cordon/host'
import { show } from '@cordon/policy'
import { askedBy } from './format/question.ts'
import { wrapBelow } from './format/wrap.ts'
import {
  asOneLine,
  endsInPaste,
  linesOf,
  pastedAsOne,
  type Pasting,
  TELL_NO_PASTES,
  TELL_PASTES,
} from './pasted.ts'

/** Streams a person could be behind (decision 0008). */
export interface Terminal {
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
  /** Both are known to be terminals, so that neither stream is made before somebody is asked (decision 0435). */
  readonly isKnown?: true
  /** As Ctrl-C does where no question stands. */
  readonly interrupt?: () => void
}

/** Undefined without a terminal on both sides: then nobody can be asked, and the answer to all is no. */
export function personAt(at: Terminal): Person | undefined {
  if (!isBoth(at)) return undefined
  return { confirms: async (question) => isYes(await inTurn(at, () => askNow(at, question))) }
}

/**
 * The same, of a command that goes on without what was asked about: who leaves the question, by Ctrl-C or the end of input, wants
 * nothing to go on.
 */
export const personWhoLeaves = (ask: AskLine, leave: () => Promise<never>): Person => ({
  confirms: async (question) => {
    const reply = await ask(question)
    return reply === undefined ? leave() : isYes(reply)
  },
})

/** The same person, whose no has consequences, too: whoever only leaves has decided nothing. */
export interface Approver {
  decides(question: string): Promise<'yes' | 'no' | undefined>
}

export function approverAt(at: Terminal): Approver | undefined {
  if (!isBoth(at)) return undefined
  return {
    decides: async (question) => {
      const reply = await inTurn(at, () => askNow(at, question))
      if (isYes(reply)) return 'yes'
      return /^no?$/i.test(reply?.trim() ?? '') ? 'no' : undefined
    },
  }
}

/** The same person, asked whether files may speak (SPEC 2.1). */
export function reviewerAt(at: Terminal): Reviewer | undefined {
  if (!isBoth(at)) return undefined
  return {
    reviews: async (question) => {
      const reply = await inTurn(at, () => askNow(at, question))
      if (isYes(reply)) return 'yes'
      return /^v(?:iew)?$/i.test(reply?.trim() ?? '') ? 'view' : 'no'
    },
  }
}

/** The same person, asked by a tool (SPEC 6.5). Every text of the tool's is shown, not trusted. */
export function respondentAt(at: Terminal): Respondent | undefined {
  if (!isBoth(at)) return undefined
  return {
    answer: async (tool, question, keeping) => {
      const reply = await inTurn(at, () =>
        askNow(
          at,
          askedBy(tool, question, at.output.columns || undefined, keeping),
          question.answer_type === 'text' ? 'text' : 'nothing',
        ),
      )
      if (reply === undefined) return undefined
      const kept = keeping ? keptFrom(question, reply.trim()) : undefined
      if (kept === undefined) return answerFrom(question, reply.trim())
      at.output.write(
        `  (the same question of ${show(tool)} is answered so from now on, in this conversation)\n`,
      )
      return { answer: kept, kept: true }
    },
  }
}

/** Asks for one line; undefined after Ctrl-C. A choice is typed, a text may be pasted. */
export type AskLine = (question: string, pasting?: Pasting) => Promise<string | undefined>

/** One line of what is typed from now on. */
export function lineAt(at: Terminal): AskLine | undefined {
  return isBoth(at) ? (question, pasting) => inTurn(at, () => askNow(at, question, pasting)) : undefined
}

/** `a` is yes, `2a` the second one: each time the same is asked. A text is asked for each time. */
function keptFrom({ answer_type, options = [] }: ToolQuestion, reply: string): Answer | undefined {
  if (answer_type === 'boolean') return /^a(?:lways)?$/i.test(reply) ? true : undefined
  const number = answer_type === 'select' ? /^(\d+) ?a(?:lways)?$/i.exec(reply)?.[1] : undefined
  return number === undefined ? undefined : options[Number(number) - 1]
}

/**
 * A text that is typed or pasted, of as many lines as it has; undefined after Ctrl-C. What was typed before is not lost: it is
 * there to be sent.
 */
export function textAt(at: Terminal): ((question: string) => Promise<string | undefined>) | undefined {
  return isBoth(at) ? (question) => inTurn(at, () => askText(at, question)) : undefined
}

/** What was typed before stands there as if it were typed now. */
const askText = (at: Terminal, question: string): Promise<string | undefined> =>
  askOnce(at, question, 'text', (before) => asOneLine(before.replace(/[\r\n]+$/, '')))

/** A reply that is no value of the wanted type stays text, and is refused where answers are checked. */
function answerFrom({ answer_type, options = [], default: preset }: ToolQuestion, reply: string): Answer {
  if (reply === '' && preset !== undefined) return preset
  switch (answer_type) {
    case 'boolean':
      return isYes(reply) || (isNo(reply) ? false : reply)
    case 'select':
      return /^\d+$/.test(reply) ? (options[Number(reply) - 1] ?? reply) : reply
    case 'text':
      return reply
  }
}

/** Only `y` and `yes` are a yes; Enter, anything else, end of input and Ctrl-C are a no. */
const isYes = (reply: string | undefined): boolean => /^y(?:es)?$/i.test(reply?.trim() ?? '')

/** What a tool asks is asked again for any other word. */
const isNo = (reply: string): boolean => /^(?:no?)?$/i.test(reply)

const isBoth = (at: Terminal): boolean => at.isKnown ?? (at.input.isTTY && at.output.isTTY)

/** The questions at one terminal. */
interface Turns {
  /** Settles when nothing is being asked. */
  last: Promise<unknown>
  stops: number
  /** The last question that stood there was answered with Ctrl-C. */
  wasStopped: boolean
}

const turnsAt = new WeakMap<NodeJS.ReadStream, Turns>()

/**
 * One question at a time, whoever asks: what is typed answers the one that stands there. Ctrl-C declines it and all that wait
 * behind it; at the next question it ends the program, as it would have without questions.
 */
function inTurn(
  { input, interrupt }: Terminal,
  ask: () => Promise<string | undefined>,
): Promise<string | undefined> {
  const turns = turnsAt.get(input) ?? { last: Promise.resolve(), stops: 0, wasStopped: false }
  turnsAt.set(input, turns)
  const { stops } = turns
  const reply = turns.last.then(async () => {
    if (turns.stops !== stops) return undefined
    const said = await ask()
    if (said === undefined) turns.stops++
    if (said === undefined && turns.wasStopped) interrupt?.()
    turns.wasStopped = said === undefined
    return said
  })
  turns.last = reply.catch(() => undefined)
  return reply
}

/** What was typed before the question was there does not answer it (SPEC 2.1, 3.2); nor does what is pasted into a choice. */
const askNow = (at: Terminal, question: string, pasting: Pasting = 'nothing'): Promise<string | undefined> =>
  askOnce(at, question, pasting, () => '')

/** Undefined at the end of input and after Ctrl-C. `ahead`: of what was typed before, what is typed already. */
async function askOnce(
  { input, output }: Terminal,
  question: string,
  pasting: Pasting,
  ahead: (before: string) => string,
): Promise<string | undefined> {
  const tellsPastes = process.env['TERM'] !== 'dumb'
  if (tellsPastes) output.write(TELL_PASTES)
  try {
    const before = await typedBefore(input)
    if (before.includes(CTRL_C)) return undefined // in this moment it ends nothing by itself
    const typed = input.pipe(pastedAsOne(input, pasting, endsInPaste(before)))
    try {
      const reply = await askLine({ input: typed, output }, question, ahead(before))
      return reply === undefined ? undefined : linesOf(reply)
    } finally {
      input.unpipe(typed)
      input.pause()
    }
  } finally {
    if (tellsPastes) output.write(TELL_NO_PASTES)
  }
}

async function typedBefore(input: NodeJS.ReadStream): Promise<string> {
  const typed: Buffer[] = []
  const take = (chunk: Buffer): unknown => typed.push(chunk)
  input.setRawMode(true) // so that also half a line can be read, and is not there for the next Enter
  input.on('data', take).resume() // after `pause` a listener alone reads nothing
  await sleep(SETTLE)
  await turn() // on a busy machine the time may be over before anything was read; in a turn what is there is read
  input.off('data', take)
  input.pause()
  input.setRawMode(false)
  return Buffer.concat(typed).toString()
}

/** Far longer than it takes to read what the terminal holds, in milliseconds; and nobody notices it. */
const SETTLE = 30
const CTRL_C = '\u0003'

/**
 * Between words, with room for an answer of one letter. What is indented are the words of others, and stays so where it goes on:
 * none of them begins a row.
 */
const wrapped = (question: string, columns: number): string =>
  question
    .split('\n')
    // A terminal that does not say how wide it is has no columns.
    .map((line) => wrapBelow(line, '', columns ? Math.max(1, columns - 2) : undefined))
    .join('\n')

/** One line; undefined at the end of input and after Ctrl-C. `ahead` is typed already. */
async function askLine(
  { input, output }: { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WriteStream },
  question: string,
  ahead = '',
): Promise<string | undefined> {
  // Everything but the last line is printed first: readline redraws what it is given.
  const shown = wrapped(question, output.columns)
  const end = shown.lastIndexOf('\n') + 1
  output.write(shown.slice(0, end))
  const lines = createInterface({ input, output, terminal: true })
  const stopped = new AbortController()
  lines.once('SIGINT', () => stopped.abort())
  lines.once('close', () => stopped.abort())
  // After Ctrl-Z and fg readline leaves its input paused: nothing would be waited for, and we would end with 0.
  lines.on('SIGCONT', () => lines.resume())
  try {
    const line = lines.question(shown.slice(end), { signal: stopped.signal })
    if (ahead !== '') lines.write(ahead)
    return await line
  } catch (error) {
    if (!stopped.signal.aborted) throw error
    output.write('\n')
    return undefined
  } finally {
    lines.close()
  }
}
