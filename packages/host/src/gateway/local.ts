import type { CallToolResult } from '@modelcontextprotocol/server'
import { ClosedError, CordonError } from '@cordon/policy'
import type { ShownPath } from '@cordon/tools'
import type { AnswerMemory, Respondent } from '../execute/questions.ts'
import type { CallSecrets } from '../execute/secrets.ts'
import type { ToolSession } from '../execute/session.ts'
import { toldText } from '../execute/told.ts'
import type { Gateway } from './gateway.ts'
import { errorResult, resultOfOutcome, withoutSecrets } from './results.ts'

/** One call of a local tool, by whoever consented to it: a client's, or the assistant's own. */
export interface LocalCall {
  readonly arguments: unknown
  readonly signal: AbortSignal
  readonly respondent: Respondent | undefined
  /** Answers that hold for later calls. */
  readonly remembered?: AnswerMemory
  /** What a person was shown, if one was asked. */
  readonly shown?: readonly ShownPath[] | undefined
  /** SPEC 4.9: what is not searched, and left out of the result; absent: nothing. */
  readonly leaveOut?: CallSecrets | undefined
}

/**
 * SPEC 1.9: what the call would do, in the tool's own words, in one line. It is confined as the call would be, is started only
 * where its configuration says that it knows the action, and whatever goes wrong is silence.
 */
export async function describeLocal(
  name: string,
  { local, gateway }: LocalHolder,
  { arguments: args, signal }: Pick<LocalCall, 'arguments' | 'signal'>,
): Promise<string | undefined> {
  try {
    const { reply, end } = await local.call(name, args, { action: 'format_arguments', signal })
    gateway.tellNoticed(`tool ${name}`, end)
    if (reply.type !== 'success') return undefined
    const text = reply.content.map((block) => (block.type === 'text' ? block.text : '')).join(' ')
    return text.slice(0, MOST_WORDS).replaceAll(/\s+/g, ' ').trim() || undefined
  } catch (error) {
    if (error instanceof CordonError) return undefined // the call itself will say it
    throw error
  }
}

const MOST_WORDS = 1000

/** Who has local tools, and tells a person about them. */
export interface LocalHolder {
  readonly local: ToolSession
  readonly gateway: Pick<Gateway, 'hostPaths' | 'tellNoticed'>
  warn(text: string): void
}

/** Whatever goes wrong in it is a result. Without the protocol's library: most conversations need none of it. */
export async function callLocal(
  name: string,
  holder: LocalHolder,
  { arguments: args, signal, respondent, remembered, shown, leaveOut }: LocalCall,
): Promise<CallToolResult> {
  try {
    const outcome = await holder.local.call(name, args, {
      respondent,
      shown,
      ...(remembered ? { remembered } : {}),
      signal,
      ...(leaveOut ? { notSearched: leaveOut.patterns } : {}),
      beforeStart: (warnings) => warnings.forEach((warning) => holder.warn(warning)),
    })
    holder.gateway.tellNoticed(`tool ${name}`, outcome.end)
    for (const hint of outcome.hints.filter(({ audience, fix }) => audience === 'person' || fix.length > 0))
      holder.warn(`tool ${name}: hint: ${toldText(hint)}`)
    if (outcome.deniedAt !== undefined)
      holder.warn(`tool ${name}: it was refused by the rule at ${outcome.deniedAt}`)
    for (const told of outcome.forPerson) holder.warn(`tool ${name}: ${toldText(told)}`)
    const allowed = leaveOut ? withoutSecrets(outcome, leaveOut) : outcome
    return resultOfOutcome(allowed, holder.gateway.hostPaths)
  } catch (error) {
    if (error instanceof ClosedError) {
      // Where it lies on the host, and the command that opens it, are for the person.
      holder.warn(`tool ${name}: ${error.message}`)
      return errorResult('a directory that has to be looked at first is closed; the person was told which')
    }
    if (error instanceof CordonError) return errorResult(error.message)
    throw error
  }
}
