import { isUtf8 } from 'node:buffer'
import { readSync, type Stats } from 'node:fs'

/** What is in a file that somebody else may have put there: its text, or what is wrong with it, in words and with what to do. */
export type TextIn =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'wrong'; readonly message: string; readonly fix: string; readonly line?: number }

export interface TextLimit {
  readonly bytes: number
  /** What to do about a file that is larger. */
  readonly fix: string
}

/** Of an open file, by its `stat`. */
export function textIn(fd: number, stat: Stats, limit: TextLimit): TextIn {
  if (stat.isDirectory()) return { kind: 'wrong', ...IS_DIRECTORY }
  if (!stat.isFile()) return { kind: 'wrong', ...IS_NO_FILE }
  const bytes = readUpTo(fd, limit.bytes + 1, stat.size)
  if (bytes.length > limit.bytes) {
    const message = `it is larger than ${limit.bytes / 1024 / 1024} MiB, which is the limit`
    return { kind: 'wrong', message, fix: limit.fix }
  }
  if (!isUtf8(bytes))
    return {
      kind: 'wrong',
      message: 'it is not UTF-8 text',
      fix: 'save it as UTF-8',
      line: lineOfBadByte(bytes),
    }
  return { kind: 'text', text: bytes.toString('utf8') }
}

export const IS_DIRECTORY = { message: 'it is a directory', fix: 'put a file in its place, or take it away' }

export const IS_NO_FILE = {
  message: 'it is not a regular file',
  fix: 'put a regular file in its place, or take it away',
}

/** The size that a file claims is only a guess: it is read until it ends or the limit is passed. */
function readUpTo(fd: number, limit: number, guess: number): Buffer {
  let bytes = Buffer.allocUnsafe(Math.min(guess + 1, limit)) // one more, so that its end is seen without another
  let total = 0
  for (;;) {
    const count = readSync(fd, bytes, total, bytes.length - total, null)
    total += count
    if (count === 0 || total === limit) return bytes.subarray(0, total)
    if (total === bytes.length)
      bytes = Buffer.concat([bytes, Buffer.allocUnsafe(Math.min(64 * 1024, limit - total))])
  }
}

function lineOfBadByte(bytes: Buffer): number {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const newline = bytes.indexOf(0x0a, start)
    const end = newline < 0 ? bytes.length : newline
    if (!isUtf8(bytes.subarray(start, end))) return line
    start = end + 1
  }
  return line
}
