import { decode, encode } from '@ipld/dag-cbor'
import { TokenError } from './refusal.ts'

/** More than any honest token has; a parser that recurses must not be given more. */
const MOST_NESTED = 16
const MOST_ITEMS = 4096

/**
 * The value of canonical DAG-CBOR. Of one value there is one encoding, or a revoked delegation could be
 * written differently and have another CID. What is canonical is what the encoder makes of the value; of most tokens it is
 * seen without making it (decision 0535).
 */
export function decodeCanonical(bytes: Uint8Array): unknown {
  const isPlain = measure(bytes)
  const value: unknown = decode(bytes)
  if (!isPlain && Buffer.compare(encode(value), bytes) !== 0)
    throw malformed('it is not encoded in the canonical way')
  return value
}

export const malformed = (reason: string): TokenError => new TokenError('token_malformed', reason)

/** An array or a map that is not at its end. */
interface Level {
  readonly isMap: boolean
  /** Items still to come; of a map, keys and values. */
  left: number
  /** Where the last key of a map began and ended. */
  keyAt: number
  keyEnd: number
}

/**
 * Walks over the heads without building anything or recursing. Ends early on what DAG-CBOR has not. True: everything that
 * `decode` accepts here has one encoding, and this is it. False says nothing: it has parts that are seldom in a token.
 */
function measure(bytes: Uint8Array): boolean {
  const open: Level[] = []
  let isPlain = true
  let at = 0
  for (let items = 0; at < bytes.length; items++) {
    if (items > MOST_ITEMS) throw malformed('it has too many parts')
    const { major, value, next } = readHead(bytes, at)
    const end = next + (major === 2 || major === 3 ? value : 0)
    while (open.length > 0 && open[open.length - 1]!.left === 0) open.pop()
    const level = open[open.length - 1]
    if (level) {
      if (level.isMap && level.left % 2 === 0) {
        isPlain &&= major === 3 && isPlainKey(bytes, level, next, end)
        level.keyAt = next
        level.keyEnd = end
      }
      level.left--
    }
    isPlain &&= isPlainItem(bytes, major, value, next)
    const left = major === 4 ? value : major === 5 ? 2 * value : major === 6 ? 1 : undefined
    if (left !== undefined) open.push({ isMap: major === 5, left, keyAt: 0, keyEnd: 0 })
    if (open.length > MOST_NESTED) throw malformed('it is nested too deeply')
    at = end
  }
  return isPlain
}

/** Shorter keys first, then by their bytes, none twice. Only names that JavaScript and the encoder know nothing of. */
function isPlainKey(bytes: Uint8Array, { keyAt, keyEnd }: Level, at: number, end: number): boolean {
  const first = bytes[at] ?? 0
  if (first < 0x61 || first > 0x7a) return false // not `__proto__`, and not `/`, by which the encoder knows a link
  const before = keyEnd - keyAt
  if (end - at !== before) return end - at > before
  for (let i = 0; i < before; i++) {
    const difference = (bytes[at + i] ?? 0) - (bytes[keyAt + i] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return false
}

/** By itself, its head being in the shortest form: whole numbers, bytes, ASCII, lists, maps, our CIDs, false, true and null. */
function isPlainItem(bytes: Uint8Array, major: number, value: number, next: number): boolean {
  switch (major) {
    case 3:
      for (let i = next; i < next + value && i < bytes.length; i++) if (bytes[i]! > 0x7f) return false
      return true
    case 6:
      return value === 42 && CID_HEAD.every((byte, i) => bytes[next + i] === byte)
    case 7:
      return value >= 20 && value <= 22 && bytes[next - 1] === 0xe0 + value // in one byte
    default:
      return true
  }
}

/**
 * 37 bytes: a CID of version 1, DAG-CBOR, SHA2-256 of 32 bytes, after the zero that DAG-CBOR has before it. Others have numbers
 * that could be written in several ways; not every version of the library refuses all but one.
 */
const CID_HEAD = [0x58, 37, 0, 1, 0x71, 0x12, 32]

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
