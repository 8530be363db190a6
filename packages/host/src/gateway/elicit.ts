import { jsonText, showWhole } from '@cordon/policy'
import type { ClientCapabilities, ServerContext } from '@modelcontextprotocol/server'
import type { Consenter } from '../execute/consent.ts'
import type { Answer, Respondent } from '../execute/questions.ts'
import type { ToolQuestion } from '../execute/result.ts'
import { inOneLine, plainText, questionOf } from './text.ts'

/** A person takes longer than a program. */
export const PATIENCE_MS = 10 * 60 * 1000

/** The person at the other end of the protocol; undefined when the client cannot ask one (SPEC 5.5). */
export interface RemotePerson extends Consenter, Respondent {}

/** Questions go with the request they are about, so that a client shows them where they belong. */
export function personBehind(
  capabilities: ClientCapabilities | undefined,
  { mcpReq }: Pick<ServerContext, 'mcpReq'>,
): RemotePerson | undefined {
  if (!capabilities?.elicitation) return undefined
  const elicit = async (
    message: string,
    properties: Properties,
    required: string[] = [],
  ): Promise<Filled> => {
    const asked = {
      mode: 'form' as const,
      message,
      requestedSchema: { type: 'object' as const, properties, required },
    }
    const { action, content } = await mcpReq.elicitInput(asked, {
      timeout: PATIENCE_MS,
      signal: mcpReq.signal,
    })
    return action === 'accept' ? { content: content ?? {} } : undefined
  }
  return {
    confirms: async (question) => (await elicit(question, {})) !== undefined,
    edits: async (question, args) => {
      const filled = await elicit(
        question,
        { arguments: { type: 'string', title: 'Arguments (JSON)', default: jsonText(args) } },
        ['arguments'],
      )
      return filled && parsed(filled.content['arguments'])
    },
    answer: async (tool, question) => {
      const field = { answer: fieldFor(question) }
      const filled = await elicit(questionOf(tool, question.text), field, ['answer'])
      const answer = filled?.content['answer']
      return isAnswer(answer) ? asOffered(question, answer) : undefined
    },
  }
}

type Filled = { readonly content: Readonly<Record<string, unknown>> } | undefined

type Properties = Record<string, Field>
type Field =
  | { type: 'string'; title: string; default?: string }
  | { type: 'boolean'; title: string; default?: boolean }
  | { type: 'string'; title: string; enum: string[] }

function fieldFor({ answer_type, options = [], default: preset }: ToolQuestion): Field {
  switch (answer_type) {
    case 'boolean':
      return { type: 'boolean', title: 'Answer', ...(typeof preset === 'boolean' ? { default: preset } : {}) }
    case 'select':
      return { type: 'string', title: 'Answer', enum: options.map(showWhole) }
    case 'text':
      return {
        type: 'string',
        title: 'Answer',
        ...(typeof preset === 'string' ? { default: presetText(preset) } : {}),
      }
  }
}

const presetText = (preset: string): string => inOneLine(plainText(preset))

/** What a tool offers is shown with nothing in it that cannot be seen; what it gets is what it offered. */
function asOffered({ answer_type, options = [], default: preset }: ToolQuestion, answer: Answer): Answer {
  if (answer_type === 'select') return options.find((option) => showWhole(option) === answer) ?? answer
  return typeof preset === 'string' && presetText(preset) === answer ? preset : answer
}

/** What is no JSON is no call. */
function parsed(text: unknown): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

const isAnswer = (value: unknown): value is Answer => ['string', 'number', 'boolean'].includes(typeof value)
