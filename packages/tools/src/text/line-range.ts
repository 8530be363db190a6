import { type OpenFile } from '@cordon/files'
import { fromCharacter, wholeCharacters } from './encoding.ts'

/** A run of whole lines. `next` is the first line that was left out although it was asked for. */
export interface Lines {
  readonly bytes: Uint8Array
  /** Numbered from 1. */
  readonly first: number
  readonly last: number
  readonly next: number | undefined
  /** The first byte of the file that was left out, when that is in the middle of a line. */
  readonly nextByte: number | undefined
  readonly atEnd: boolean
}

const CHUNK = 64 * 1024
const NEWLINE = 10

export interface LineRange {
  readonly from: number
  readonly to: number
  /** In bytes. */
  readonly limit: number
  /** How the file begins, as far as it was read already: all of a small one, which is not read a second time. */
  readonly head: Buffer
}

/** Reads up to the last wanted line and no further, and keeps no more than `limit` bytes. */
export function readLines(file: OpenFile, { from, to, limit, head }: LineRange): Lines {
  const { size } = file.stat
  const kept: Buffer[] = []
  let held = 0
  let line = 1
  let position = 0
  let begins = 0
  while (position < size && line <= to && held <= limit) {
    const chunk =
      head.length === size ? head.subarray(position) : file.readRange({ start: position, length: CHUNK })
    const before = skipLines(chunk, from - line)
    line += before.lines
    position += before.at
    if (line < from) continue
    if (kept.length === 0) begins = position
    const wanted = chunk.subarray(before.at)
    const { at, lines } = skipLines(wanted, to - line + 1)
    kept.push(wanted.subarray(0, at))
    held += at
    line += lines
    position += at
  }
  return finish(Buffer.concat(kept), { from, begins, limit, atEnd: position >= size })
}

/** The last `wanted` lines, read from the end. */
export function readTail(file: OpenFile, wanted: number, limit: number): { bytes: Uint8Array; cut: boolean } {
  let position = file.stat.size
  const kept: Buffer[] = []
  let held = 0
  let lines = 0
  while (position > 0 && held <= limit && lines <= wanted) {
    const start = Math.max(0, position - CHUNK)
    const chunk = file.readRange({ start, length: position - start })
    kept.unshift(chunk)
    held += chunk.length
    position = start
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) lines++
  }
  const all = Buffer.concat(kept)
  const bytes = all.subarray(startOfTail(all, wanted))
  if (bytes.length <= limit) return { bytes, cut: false }
  const within = bytes.subarray(bytes.length - limit)
  const lineEnd = within.indexOf(NEWLINE)
  // The end of one line that is longer than the limit, from its next whole character on.
  if (lineEnd < 0 || lineEnd === within.length - 1) return { bytes: fromCharacter(within), cut: true }
  return { bytes: within.subarray(lineEnd + 1), cut: true }
}

/** Where the last `wanted` lines begin. A newline at the very end ends the last line and starts none. */
function startOfTail(bytes: Buffer, wanted: number): number {
  let at = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length
  for (let n = 0; n < wanted; n++) {
    at = at <= 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1)
    if (at < 0) return 0
  }
  return at + 1
}

/** How far `lines` lines reach into the chunk, and how many of them end in it. */
function skipLines(chunk: Buffer, lines: number): { at: number; lines: number } {
  let at = 0
  let done = 0
  while (done < lines) {
    const end = chunk.indexOf(NEWLINE, at)
    if (end < 0) return { at: chunk.length, lines: done }
    at = end + 1
    done++
  }
  return { at, lines: done }
}

function finish(
  all: Buffer,
  { from, begins, limit, atEnd }: { from: number; begins: number; limit: number; atEnd: boolean },
): Lines {
  if (all.length <= limit) {
    const last = from + countLines(all) - 1
    return { bytes: all, first: from, last, next: undefined, nextByte: undefined, atEnd }
  }
  const within = all.subarray(0, limit)
  const end = within.lastIndexOf(NEWLINE) + 1
  // One line longer than the limit: its beginning, and where it goes on.
  if (end === 0) {
    const bytes = wholeCharacters(within)
    const nextByte = begins + bytes.length
    return { bytes, first: from, last: from, next: undefined, nextByte, atEnd: false }
  }
  const bytes = within.subarray(0, end)
  const last = from + countLines(bytes) - 1
  return { bytes, first: from, last, next: last + 1, nextByte: undefined, atEnd: false }
}

/** A last line without a newline counts. */
export function countLines(bytes: Uint8Array): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let lines = 0
  for (let at = buffer.indexOf(NEWLINE); at >= 0; at = buffer.indexOf(NEWLINE, at + 1)) lines++
  return buffer.length > 0 && buffer.at(-1) !== NEWLINE ? lines + 1 : lines
}
