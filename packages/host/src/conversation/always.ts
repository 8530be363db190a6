import { isTable } from '@cordon/config'
import { CordonError, show } from '@cordon/policy'
import {
  type ConversationRef,
  type JsonObject,
  openConversation,
  readConfigEvents,
  type Shelf,
} from '@cordon/workspace'

/** SPEC 6.5: a person answered `always` to a call of this tool, in this conversation. */
export interface AlwaysAnswer {
  readonly tool: string
  readonly source: string
}

export const alwaysDelta = ({ tool, source }: AlwaysAnswer): JsonObject =>
  runDelta(tool, source, 'unattended')

/** The log only grows, so what was there before the answer is said anew: it was given where `ask` held. */
const takenBackDelta = ({ tool, source }: AlwaysAnswer): JsonObject => runDelta(tool, source, 'ask')

const runDelta = (tool: string, source: string, run: string): JsonObject => ({
  conversation: { tools: { [tool]: { source, run } } },
})

/** Those that hold. Only what this user sealed is an answer of theirs (SPEC 2.1). */
export async function alwaysAnswers(
  { workspace }: Pick<Shelf, 'workspace'>,
  ref: ConversationRef,
): Promise<readonly AlwaysAnswer[]> {
  const { sealed } = await readConfigEvents(workspace, ref)
  const answers = new Map<string, AlwaysAnswer>()
  for (const delta of sealed)
    for (const [tool, value] of Object.entries(toolsOf(delta))) {
      if (!isTable(value) || typeof value['source'] !== 'string' || value['run'] === undefined) continue
      if (value['run'] === 'unattended') answers.set(tool, { tool, source: value['source'] })
      else answers.delete(tool)
    }
  return [...answers.values()]
}

/** Which ones were taken back: those named, or all of them. */
export async function takeBackAlways(
  shelf: Shelf,
  ref: ConversationRef,
  tools: readonly string[],
): Promise<readonly string[]> {
  const given = await alwaysAnswers(shelf, ref)
  const unknown = tools.find((name) => !given.some(({ tool }) => tool === name))
  if (unknown !== undefined)
    throw new NoSuchAnswerError(
      `no answer \`always\` about ${show(unknown)} is kept in ${ref.id}; ${
        given.length === 0
          ? 'there is none'
          : `there is one about: ${given.map(({ tool }) => tool).join(', ')}`
      }`,
    )
  const back = given.filter(({ tool }) => tools.length === 0 || tools.includes(tool))
  if (back.length === 0) return []
  const at = shelf.now().toISOString()
  const writer = await openConversation(shelf, ref, { wait: PATIENCE_MS, signal: NEVER })
  try {
    await writer.append(
      back.map((answer) => ({ kind: 'config', at, delta: takenBackDelta(answer) }) as const),
    )
  } finally {
    await writer.close()
  }
  return back.map(({ tool }) => tool)
}

class NoSuchAnswerError extends CordonError {
  readonly code = 'UNKNOWN_TOOL'
}

/** A turn that holds the conversation is waited for, a little. */
const PATIENCE_MS = 10_000
const NEVER = new AbortController().signal

function toolsOf(delta: JsonObject): Readonly<Record<string, unknown>> {
  const { conversation } = delta
  const tools = isTable(conversation) ? conversation['tools'] : undefined
  return isTable(tools) ? tools : {}
}
