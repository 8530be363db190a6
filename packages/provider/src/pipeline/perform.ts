import { randomUUID } from 'node:crypto'
import type { Intent, Outcome, State } from '../audit/record.ts'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import { runOperation, OPERATIONS } from '../operations/index.ts'
import { type Answer, type Done, HalfDone, type Pieces, type Work } from '../operations/operation.ts'
import type { Provider } from '../provider.ts'
import type { VerifiedInvocation } from '../tokens/verify.ts'
import type { Lease } from './limits.ts'
import { asRefusal } from './places.ts'

export interface Admitted {
  readonly app: string
  readonly invocation: VerifiedInvocation
  readonly work: Work<Command>
  readonly approval: string | undefined
  readonly lease: Lease
}

/**
 * SPEC 7.3, the end of it: the intent is recorded, then it is done, then the outcome is recorded, as what it was. For a
 * change both are durable before the next step; what only reads is answered at once, and without the outcome after a
 * crash it is reported as interrupted.
 */
export async function perform(provider: Provider, admitted: Admitted): Promise<Answer> {
  const { app, invocation, work, approval, lease } = admitted
  const { agent, command, cid } = invocation
  const { changes } = OPERATIONS[command]
  const op = randomUUID()
  const intent: Intent = {
    kind: 'intent',
    op,
    app,
    agent,
    command,
    path: work.place.path,
    ...(work.destination ? { destination: work.destination.path } : {}),
    invocation: cid,
    ...(approval === undefined ? {} : { approval }),
  }
  // Nothing is changed before that is recorded for good; what is only read may be read on the way there.
  const { audit } = provider
  const about = { app, command, path: work.place.path }
  const record: Record = (happened) => {
    const outcome: Outcome = { kind: 'outcome', op, ...about, ...happened }
    return changes ? audit.append(outcome) : audit.noteLater(outcome)
  }
  await (changes ? audit.append(intent) : audit.note(intent))
  const leave = (): void => {
    work.deadline.done()
    lease.leave()
  }

  let done: Done
  try {
    work.deadline.check()
    done = await runOperation(command, work)
  } catch (thrown) {
    leave()
    const error = asRefusal(stopReason(thrown, work), work.place.path)
    const recorded = record(failureOf(error))
    if (changes) await recorded
    else recorded.catch(() => undefined)
    throw error
  }

  const { answer, before, after } = done
  const succeeded = { result: 'done' as const, ...states(before, after) }
  if (answer.kind === 'content') lease.charge(answer.length)
  if (answer.kind === 'content' && 'pieces' in answer.content) {
    work.deadline.extendFor(answer.length)
    const content = follow(answer.content, answer.length, ({ sent, given }) => {
      lease.charge(given - answer.length) // what nobody took is given back
      leave()
      const outcome = sent ? succeeded : { ...succeeded, result: 'failed' as const, code: 'client_gone' }
      record(outcome).catch(() => undefined) // the intent stands, and without its outcome is reported
    })
    return { ...answer, content }
  }
  leave()
  if (changes) await recordChange(record, succeeded)
  else record(succeeded).catch(() => undefined)
  return answer
}

/** What was stopped says only that; why, is known here. What half happened says so itself. */
const stopReason = (thrown: unknown, { deadline: { reason } }: Work<Command>): unknown =>
  reason && !(thrown instanceof HalfDone) ? reason : thrown

type Happened = Pick<Outcome, 'result' | 'code' | 'before' | 'after'>
type Record = (happened: Happened) => Promise<void>

/** The operation has happened and cannot be taken back. When its outcome cannot be recorded, the agent is told so. */
async function recordChange(record: Record, outcome: Happened): Promise<void> {
  try {
    await record(outcome)
  } catch {
    throw new Refusal(
      'unavailable',
      'it was done, but the outcome could not be recorded; look before you ask again',
      { done: true },
    )
  }
}

interface Ended {
  /** All that was promised was taken. */
  readonly sent: boolean
  /** Bytes that were handed out, with the last piece, of which nobody knows. */
  readonly given: number
}

/** The same pieces; says at their end, also an early one, how much of what was promised was taken. */
function follow({ pieces, stop }: Pieces, length: number, ended: (how: Ended) => void): Pieces {
  const followed = async function* (): AsyncGenerator<Uint8Array> {
    let [given, taken] = [0, 0]
    try {
      for await (const piece of pieces) {
        const { length: size } = piece
        given += size
        yield piece
        taken += size // whoever asks for the next is done with this one
      }
    } finally {
      ended({ sent: taken === length, given })
    }
  }
  return { pieces: followed(), stop }
}

const states = (before: State | undefined, after: State | undefined): Pick<Outcome, 'before' | 'after'> => ({
  ...(before ? { before } : {}),
  ...(after ? { after } : {}),
})

function failureOf(error: unknown): Happened {
  if (error instanceof HalfDone)
    return { result: 'partial', code: error.code, ...states(error.before, error.after) }
  return { result: 'failed', code: error instanceof Refusal ? error.code : 'unexpected' }
}
