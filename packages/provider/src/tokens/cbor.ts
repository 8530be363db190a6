import { decode, encode } from '@ipld/dag-cbor'
import { TokenError } from './refusal.ts'

/** More than any honest token has; a parser that recurses must not be given more. */
const MOST_NESTED = 16
const MOST_ITEMS = 4096

/**
 * The value of canonical DAG-CBOR. Of one value there is one encoding, or a revoked delegation could be
 * written differently and have another CID.
 */
export function decodeCanonical(bytes: Uint8Array): unknown {
  measure(bytes)
  const value: unknown = decode(bytes)
  if (Buffer.compare(encode(value), bytes) !== 0) throw malformed('it is not encoded in the canonical way')
  return value
}

export const malformed = (reason: string): TokenError => new TokenError('token_malformed', reason)

/** Walks over the heads without building anything or recursing. Ends early on what DAG-CBOR has not. */
function measure(bytes: Uint8Array): void {
  const open: number[] = [] // how many items are still to come, one number a level
  let at = 0
  for (let items = 0; at < bytes.length; items++) {
    if (items > MOST_ITEMS) throw malformed('it has too many parts')
    const { major, value, next } = readHead(bytes, at)
    at = next + (major === 2 || major === 3 ? value : 0)
    while (open.length > 0 && open[open.length - 1] === 0) open.pop()
    if (open.length > 0) open[open.length - 1]!--
    if (major === 4) open.push(value)
    else if (major === 5) open.push(2 * value)
    else if (major === 6) open.push(1)
    if (open.length > MOST_NESTED) throw malformed('it is nested too deeply')
  }
}

/** An item's type, its value or length, and where what it is the head of begins. Only the shortest form is read. */
export function readHead(bytes: Uint8Array, at: number): { major: number; value: number; next: number } {
  const first = bytes[at] ?? 0
  const major = first >> 5
  const info = first & 31
  if (info < 24) return { major, value: info, next: at + 1 }
  if (info > 27) throw malformed('it is not CBOR of definite length')
  const size = 1 << (info - 24)
  let value = 0
  for (let i = 1; i <= size; i++) value = value * 256 + (bytes[at + i] ?? 0)
  if (major !== 7 && value < (size === 1 ? 24 : 2 ** (size * 4)))
    throw malformed('it is not encoded in the canonical way')
  return { major, value, next: at + 1 + size }
}
