import type { State } from '../audit/record.ts'
import type { Command } from '../commands.ts'
import { Refusal, type REFUSALS } from '../errors.ts'
import type { Deadline } from '../pipeline/deadline.ts'
import type { Meaning, Place } from '../pipeline/places.ts'
import type { ArgsOf } from './args.ts'
import type { RemovalSurvey } from './tree.ts'

/** Everything an operation acts on: checked, decided and found. It has no other way to a file. */
export interface Work<C extends Command> {
  readonly args: ArgsOf<C>
  readonly place: Place
  /** Of move and copy. */
  readonly destination: Place | undefined
  readonly deadline: Deadline
  /** What follows the request, for write and create; each piece counts until the next is asked for. */
  readonly body: AsyncIterable<Uint8Array>
  /** Asks the policy about something else on the way: a directory below, the content that a diff would show. */
  readonly may: (command: Command, resource: Pick<Place, 'path' | 'stat'>, cosigned?: boolean) => boolean
  /** A person signed for this request, or it is a dry run of one that would need it. */
  readonly cosigned: boolean
  /** SPEC 7.5: the hash of what the person signed for: of a directory, everything below or every name that is told. */
  readonly signedFor?: string
  /** Of a recursive delete: what was found below, and decided on. */
  readonly survey?: RemovalSurvey
}

/** What goes back to the agent. */
export type Answer =
  | { readonly kind: 'json'; readonly value: unknown }
  | {
      readonly kind: 'content'
      readonly content: Uint8Array | Pieces
      readonly start: number
      readonly length: number
      readonly size: number
      /** Of the whole file, where it is known. */
      readonly sha256: string | undefined
    }

/** Content that is too big to hold. Whoever sends it goes through it to its end or stops early; `stop` says when to. */
export interface Pieces {
  /** Each counts until the next is asked for. */
  readonly pieces: AsyncIterable<Uint8Array>
  readonly stop: AbortSignal
}

export interface Done {
  readonly answer: Answer
  readonly before?: State
  readonly after?: State
}

export interface Operation<C extends Command> {
  /** Whether the path names a directory entry, which may be a link, or what the link leads to. */
  readonly meaning: Meaning
  /** Changes something: its outcome is durable before it is answered. */
  readonly changes: boolean
  readonly run: (work: Work<C>) => Promise<Done>
}

/** An operation that stopped half-way: the record says what happened, not what was meant to. */
export class HalfDone extends Refusal {
  readonly before: State | undefined
  readonly after: State | undefined
  constructor(code: keyof typeof REFUSALS, message: string, states: { before?: State; after?: State }) {
    // Not the hash: who may not read the content is not told it.
    const { sha256: _, ...told } = states.after ?? {}
    super(code, message, { half_done: told })
    this.before = states.before
    this.after = states.after
  }
}
