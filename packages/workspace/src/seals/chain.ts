import { createHmac, timingSafeEqual } from 'node:crypto'
import { type ConversationRef } from '../conversation/shelf.ts'

/** Which conversation a seal is for. The key is the workspace's, so an event from another one never verifies. */
export type SealedFor = Pick<ConversationRef, 'id' | 'keeping'>

/** How far a chain of seals has come: how many there are, and the last of them (empty: there is none). */
export interface ChainEnd {
  readonly count: number
  readonly last: string
}

export const NO_SEALS: ChainEnd = { count: 0, last: '' }

/** The line of an event with its seal as the last field. `event` is the text of a JSON object. */
export function sealLine(key: Uint8Array, owner: SealedFor, after: ChainEnd, event: string): SealedLine {
  const body = Buffer.from(event.slice(0, -1))
  const seal = sealOf(key, owner, after, body)
  return {
    bytes: Buffer.concat([body, Buffer.from(`${FIELD}${seal}"}`)]),
    end: { count: after.count + 1, last: seal },
  }
}

export interface SealedLine {
  /** Without a newline. */
  readonly bytes: Buffer
  readonly end: ChainEnd
}

/** Where the chain is after this line; undefined when the line is not sealed as the next one of it. */
export function verifyLine(
  key: Uint8Array,
  owner: SealedFor,
  after: ChainEnd,
  bytes: Buffer,
): ChainEnd | undefined {
  const found = TAIL.exec(bytes.toString('latin1', Math.max(0, bytes.length - TAIL_LENGTH)))?.[1]
  if (found === undefined) return undefined
  const seal = sealOf(key, owner, after, bytes.subarray(0, -TAIL_LENGTH))
  return timingSafeEqual(Buffer.from(seal), Buffer.from(found))
    ? { count: after.count + 1, last: seal }
    : undefined
}

/** The event without its seal: what a fork seals anew. */
export const unsealedText = (bytes: Buffer): string =>
  `${bytes.toString('utf8', 0, bytes.length - TAIL_LENGTH)}}`

const FIELD = ',"seal":"'
const TAIL = /^,"seal":"([0-9a-f]{64})"\}$/
const TAIL_LENGTH = FIELD.length + 64 + '"}'.length

/**
 * Over the bytes of the line, so that there is no second way to read what was sealed. Each seal holds the one before it:
 * the position among the sealed events, and everything that a person saw when they added this one (decision 0130).
 */
const sealOf = (
  key: Uint8Array,
  { id, keeping }: SealedFor,
  { count, last }: ChainEnd,
  body: Uint8Array,
): string =>
  createHmac('sha256', key)
    .update(`cordon seal 1\n${keeping} ${id}\n${count} ${last}\n`)
    .update(body)
    .digest('hex')
