/**
 * What the console's API answers: the types of both its sides. Nothing of this file runs, and nothing that it names needs
 * the types of Node, so that the page can have it.
 */
import type { Command } from '../commands.ts'
import type { Trouble } from '../health.ts'
import type { ApprovalRequest } from '../step-up/request.ts'

export interface ApprovalAnswer {
  readonly id: string
  readonly app: string
  readonly agent: string
  readonly command: Command
  readonly state: 'open' | 'approved' | 'denied' | 'used' | 'expired'
  readonly opened_at: number
  readonly expires_at: number
  readonly decided_by: string | null
  /** Until then the same request is refused without asking anybody; null when it is not. */
  readonly no_until: number | null
}

/** One of many: without all that it would touch. */
export interface ApprovalRow extends ApprovalAnswer {
  readonly path: string
  /** Of what waits, as its page says it. */
  readonly destination?: string
  readonly replaces?: true
}

export interface ApprovalDetail extends ApprovalAnswer {
  readonly request: ApprovalRequest
  /** Of the request in this state, as the provider found it. */
  readonly binding: string
  /** The id of the same app's newer question about the same path, when one waits. */
  readonly newer: string | null
}

export interface AppAnswer {
  readonly id: string
  readonly did: string
  readonly enabled: boolean
  readonly created_at: number
  readonly delegations: readonly DelegationAnswer[]
}

export interface DelegationAnswer {
  readonly cid: string
  readonly command: string
  readonly prefix: string
  readonly issued_at: number
  readonly expires_at: number | null
  readonly revoked: boolean
}

export interface PoliciesAnswer {
  readonly commands: readonly Command[]
  readonly apps: readonly { readonly id: string; readonly did: string }[]
  readonly policies: readonly {
    readonly scope: string
    readonly name: string
    readonly version: number
    readonly text: string
    readonly created_at: number
  }[]
}

interface StatementAnswer {
  readonly id: string
  readonly text: string
}

export interface TriedAnswer {
  /** Of the whole order of checks, as far as it is known without a token. */
  readonly answer: 'allow' | 'deny' | 'step_up'
  /** What refuses it before the policy is asked. */
  readonly refusal: { readonly code: string; readonly message: string } | null
  /** Of the policy alone. */
  readonly verdict: 'allow' | 'deny' | 'step_up'
  readonly decided: readonly StatementAnswer[]
  /** What permits it once a person has signed. */
  readonly permits: readonly StatementAnswer[]
  readonly errors: readonly string[]
}

/** What happened in the last day. */
export interface Day {
  /** Of each of the last 24 hours of the clock, the oldest first; the last is the present one. */
  readonly denied: readonly number[]
  readonly active: readonly {
    readonly app: string
    readonly requests: number
    readonly refused: number
    readonly last_at: number
  }[]
  /** False: there was more in this day than was looked at. */
  readonly complete: boolean
}

export interface OverviewAnswer extends Day {
  readonly now: number
  readonly version: string
  readonly database: 'embedded' | 'postgres'
}

/** What is told to every open page, at once and when it changes. */
export interface LiveAnswer {
  /** Ids of the requests that wait for a person. */
  readonly waiting: readonly string[]
  /** The last record of the trail. */
  readonly last_record: number
  /** Changes when an app, its switch, its delegations or its policy does. */
  readonly generation: number
  /** Ids of what was approved and not used yet. */
  readonly approved: readonly string[]
  /** Null: it decides, and it records. */
  readonly trouble: Trouble | null
}

/** `Body` is what a record says; to the page, which shows whatever is stored, anything. */
export interface EntryAnswer<Body = Readonly<Record<string, unknown>>> {
  readonly seq: number
  readonly hash: string
  /** Null: it is not JSON any more. */
  readonly body: Body | null
}

export interface TrailAnswer<Body = Readonly<Record<string, unknown>>> {
  readonly records: readonly EntryAnswer<Body>[]
  /** Ask again with this as `before`; null at the beginning of the trail. */
  readonly next: number | null
  /** Records that were looked through for it. */
  readonly looked_at: number
  /** What became of the approvals that these records name, by their ids; those that are kept no more are not in it. */
  readonly approvals: Readonly<Record<string, ApprovalAnswer['state']>>
}

export interface VerifiedAnswer<Body = Readonly<Record<string, unknown>>> {
  readonly ok: boolean
  readonly records: number
  readonly checkpoints: number
  readonly problems: number
  readonly first: {
    readonly seq: number
    readonly kind: string
    readonly detail: string
    readonly record: EntryAnswer<Body> | null
  } | null
  readonly unfinished: number
  readonly clock_went_back: number
}

export type SessionAnswer =
  | { readonly name: string }
  | { readonly name: null; readonly has_passkeys: boolean }

export interface SignedInAnswer {
  readonly name: string
}
