import { hash, randomUUID } from 'node:crypto'
import type { Command } from '../commands.ts'

/** What a record can say. Stored as JSON text, and hashed exactly as it is stored. */
export type AuditBody = Said & {
  /**
   * The clock of whoever wrote it, in milliseconds, when it got its place. It orders nothing, the sequence does; but where
   * it goes back a clock went back, or clocks disagree.
   */
  readonly at: number
}

/** The same before it has a place in the chain, and so a time. */
export type Said = Intent | Outcome | Refusal | AuditEvent

interface Common {
  /** Intent and outcome of one operation share it. */
  readonly op: string
}

/** SPEC 7.3: written, and durable, before anything is done. */
export interface Intent extends Common {
  readonly kind: 'intent'
  readonly app: string
  readonly agent: string
  readonly command: Command
  /** The canonical path that will be touched. */
  readonly path: string
  readonly destination?: string
  /** The CID of the invocation that asked for it. */
  readonly invocation: string
  /** The approval that was used for it. */
  readonly approval?: string
}

/** Of a file: its content's SHA-256; of a directory, of its listing. Undefined: there was nothing, or it was not looked at. */
export interface State {
  readonly sha256?: string
  readonly bytes?: number
  readonly entries?: number
  /** Of a directory that was made: those above it that were made with it, the topmost first. */
  readonly made?: readonly string[]
}

/** What happened, whatever that was: `partial` is an operation that stopped half-way. */
export interface Outcome extends Common {
  readonly kind: 'outcome'
  /** Of the intent, so that who reads or filters the trail need not look for it. */
  readonly app: string
  readonly command: Command
  readonly path: string
  readonly result: 'done' | 'failed' | 'partial'
  readonly code?: string
  readonly before?: State
  readonly after?: State
}

/** Somebody who is known asked for what he may not have. */
interface Refusal extends Common {
  readonly kind: 'refused'
  readonly app: string
  readonly agent: string
  readonly command: Command
  readonly path: string
  readonly destination?: string
  readonly code: string
  /** What a person was asked, or had answered. */
  readonly approval?: string
}

/** Something that a person did to the provider itself. */
interface AuditEvent extends Common {
  readonly kind: 'event'
  readonly name: string
  readonly by: string
  readonly detail: Readonly<Record<string, unknown>>
}

export const eventOf = (name: string, by: string, detail: Readonly<Record<string, unknown>>): AuditEvent => ({
  kind: 'event',
  op: randomUUID(),
  name,
  by,
  detail,
})

export interface ChainedRecord {
  readonly seq: number
  readonly op: string
  readonly body: string
  readonly prev: string
  readonly hash: string
}

export interface ChainHead {
  readonly seq: number
  readonly hash: string
}

/** The number is hashed too, so that a record cannot change its place. */
export const hashOf = (seq: number, prev: string, body: string): string =>
  hash('sha256', `${seq}\n${prev}\n${body}`)

/** The records that continue the chain, at a time that is taken by who holds its head: as they follow, so do their times. */
export function chainOn(head: ChainHead, at: number, said: readonly Said[]): ChainedRecord[] {
  let { seq, hash: prev } = head
  return said.map((each) => {
    const body = JSON.stringify({ ...each, at } satisfies AuditBody)
    const record = { seq: ++seq, op: each.op, body, prev, hash: hashOf(seq, prev, body) }
    prev = record.hash
    return record
  })
}
