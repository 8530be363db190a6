import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { syncDirectory } from '@cordon/files'
import { parseLine } from './log-reader.ts'

export interface Recovery {
  readonly note: string
  /** Where the cut bytes are kept; undefined when nothing was cut. */
  readonly aside: string | undefined
}

/**
 * Under the lock, before the first append: only the last line can be incomplete, so only it is read. A last
 * line that is an event but for its newline was written by hand, and is completed; anything else that is no event was cut
 * short by a crash, never acknowledged, and goes aside.
 */
export function recoverTail(
  file: string,
  fd: number,
  now: Date,
): { size: number; recovery: Recovery | undefined } {
  const { size } = fstatSync(fd)
  const { start, bytes } = lastLine(fd, size)
  if (bytes.length === 0) return { size, recovery: undefined }
  const complete = bytes.at(-1) === NEWLINE
  if (parseLine(complete ? bytes.subarray(0, -1) : bytes)) {
    if (complete) return { size, recovery: undefined }
    writeSync(fd, '\n')
    fdatasyncSync(fd)
    return { size: size + 1, recovery: undefined }
  }
  const aside = `${file}.torn-${now.toISOString().replaceAll(':', '-')}`
  keepAside(aside, bytes)
  syncDirectory(dirname(file))
  ftruncateSync(fd, start)
  fdatasyncSync(fd)
  const note = `an incomplete last line of ${bytes.length} bytes was moved to ${basename(aside)}`
  return { size: start, recovery: { note, aside } }
}

const NEWLINE = 10

/** Before it is cut. No temporary file: if this is interrupted, the log still has the line, and it is done again. */
function keepAside(aside: string, bytes: Uint8Array): void {
  const file = openSync(aside, 'wx', 0o600)
  try {
    writeFileSync(file, bytes)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** The last line with its newline, if it has one. Reads backwards, so its cost is the line's, not the file's. */
function lastLine(fd: number, size: number): { start: number; bytes: Buffer } {
  for (let length = Math.min(size, 64 * 1024); ; length = Math.min(size, length * 4)) {
    const buffer = Buffer.alloc(length)
    const bytesRead = readSync(fd, buffer, 0, length, size - length)
    const tail = buffer.subarray(0, bytesRead)
    const end = tail.at(-1) === NEWLINE ? tail.length - 2 : tail.length - 1
    const before = end < 0 ? -1 : tail.lastIndexOf(NEWLINE, end)
    if (before >= 0 || length === size)
      return { start: size - length + before + 1, bytes: tail.subarray(before + 1) }
  }
}
