import { describe, quote, show } from '@cordon/policy'
import type { ToolQuestion } from './result.ts'

export type Answer = string | number | boolean

/** Somebody at a terminal who can be asked what a tool wants to know. */
export interface Respondent {
  /** Undefined: no answer, because of Ctrl-C or the end of input. `keeping`: they can say that it holds from now on. */
  answer(
    tool: string,
    question: ToolQuestion,
    keeping?: 'can be kept',
  ): Promise<Answer | KeptAnswer | undefined>
}

/** A person said that the same question has the same answer, in this conversation. */
export interface KeptAnswer {
  readonly answer: Answer
  readonly kept: true
}

export const isKept = (answer: Answer | KeptAnswer | undefined): answer is KeptAnswer =>
  typeof answer === 'object'

/** Answers that a person wants to hold for later calls. Told apart by the whole question: a yes to one file is none to another. */
export interface AnswerMemory {
  find(tool: string, question: ToolQuestion): Answer | undefined
  keep(tool: string, question: ToolQuestion, answer: Answer): void
}

export function openAnswerMemory(): AnswerMemory {
  const answers = new Map<string, Answer>()
  const key = (tool: string, { id, text }: ToolQuestion): string => JSON.stringify([tool, id, text])
  return {
    find: (tool, question) => answers.get(key(tool, question)),
    keep: (tool, question, answer) => void answers.set(key(tool, question), answer),
  }
}

export interface AnswerSources {
  readonly remembered?: AnswerMemory
  /** `conversation.tools.<name>.questions`, by question id. */
  readonly configured: Readonly<Record<string, { readonly answer: Answer; readonly text?: string }>>
  /** Undefined without a terminal. */
  readonly respondent: Respondent | undefined
}

export type Answered =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'unanswered'; readonly why: string }

/** SPEC 6.5: remembered, then configured, then asked; and without any of these the call fails and says why. */
export async function answerQuestion(
  tool: string,
  question: ToolQuestion,
  { remembered, configured, respondent }: AnswerSources,
): Promise<Answered> {
  const known = remembered?.find(tool, question)
  if (known !== undefined) return { kind: 'answered', answer: known }
  const written = Object.hasOwn(configured, question.id) ? configured[question.id] : undefined
  if (written && (written.text === undefined || written.text === question.text))
    return fit(question, written.answer, `conversation.tools.${tool}.questions.${question.id}`)
  const asked = `the tool asks ${quote(question.text)}`
  if (!respondent) return { kind: 'unanswered', why: `${asked}, ${otherWay(tool, question)}` }
  for (let attempt = 1; ; attempt++) {
    const given = await respondent.answer(tool, question, ...(remembered ? (['can be kept'] as const) : []))
    const answer = isKept(given) ? given.answer : given
    if (answer === undefined) return { kind: 'unanswered', why: `${asked}, and got no answer` }
    const fitting = fit(question, answer, 'the answer')
    if (fitting.kind === 'answered' && isKept(given)) remembered?.keep(tool, question, fitting.answer)
    // A mistyped answer is asked for again, a few times; after that there is no answer.
    if (fitting.kind === 'answered' || attempt === MOST_ATTEMPTS) return fitting
  }
}

const MOST_ATTEMPTS = 3

/** How it can be answered where nobody can be asked: by whoever calls, else by the configuration. */
const otherWay = (tool: string, question: ToolQuestion): string =>
  question.argument === undefined
    ? 'and there is no terminal to ask at\n  fix: write the answer into the configuration:\n' +
      `    [conversation.tools.${tool}.questions.${show(question.id)}]\n    answer = ${exampleFor(question)}`
    : `and nobody can be asked; the same call with the argument ${show(question.argument)} answers it ` +
      `(${show(question.argument)} = ${exampleFor(question)})`

function fit(question: ToolQuestion, answer: Answer, from: string): Answered {
  const misfit = (wanted: string): Answered => ({
    kind: 'unanswered',
    why: `${from} is ${describe(answer)}, but the tool asks ${quote(question.text)}: ${wanted}`,
  })
  switch (question.answer_type) {
    case 'boolean':
      return typeof answer === 'boolean' ? { kind: 'answered', answer } : misfit('answer true or false')
    case 'select': {
      const options = question.options ?? []
      return options.includes(String(answer))
        ? { kind: 'answered', answer: String(answer) }
        : misfit(`answer one of ${options.map(show).join(', ')}`)
    }
    case 'text':
      return { kind: 'answered', answer: String(answer) }
  }
}

const exampleFor = ({ answer_type, options }: ToolQuestion): string =>
  answer_type === 'boolean' ? 'true' : JSON.stringify(options?.[0] ?? '…')
