import { closeSync, constants, fstatSync, openSync, read } from 'node:fs'
import { promisify } from 'node:util'
import { errorCode, reason } from '../small-files.ts'
import { UnreadableConversationError } from './errors.ts'
import { parseEvent, type StoredEvent } from './events.ts'

export interface LogLine {
  /** Counted from 1. */
  readonly number: number
  /** As stored, without its newline: a copy of it loses nothing that this version does not understand. */
  readonly bytes: Buffer
  readonly event: StoredEvent
}

/**
 * The events in order, one at a time. Needs no lock: a last line that is not complete is an append in progress or one that a
 * crash cut short, never acknowledged, and is passed over. Damage anywhere else is an error.
 */
export async function* readLog(
  file: string,
  { passedOver = () => {}, tooLong = 'refuse' }: LogReading = {},
): AsyncGenerator<LogLine> {
  let damaged: number | undefined
  let number = 0
  let at = new Date(0).toISOString()
  for await (const { bytes, complete, length } of splitLines(file)) {
    number++
    if (length > LONGEST_LINE) {
      if (tooLong === 'refuse')
        throw new UnreadableConversationError(file, 'a line is longer than 64 MiB', number)
      yield leftOut(number, length, at)
      continue
    }
    if (bytes.length === 0) continue // an empty line, as editors leave them
    if (damaged !== undefined) throw new UnreadableConversationError(file, 'it is not an event', damaged)
    const event = parseLine(bytes)
    if (event) {
      if (event.kind !== 'unknown') ({ at } = event)
      yield { number, bytes, event }
    } else {
      if (complete) damaged = number // forgiven if it turns out to be the last
      passedOver(bytes)
    }
  }
}

interface LogReading {
  readonly passedOver?: (bytes: Buffer) => void
  /**
   * A line that the writer would not write. `note`: it is left out, and a note in its place says so: one event must not take a
   * whole conversation with it (decision 0382). Whoever deletes what no event needs cannot do without it.
   */
  readonly tooLong?: 'refuse' | 'note'
}

function leftOut(line: number, length: number, at: string): LogLine {
  const text = `the event in line ${line} is left out: it has ${length} bytes, and ${LONGEST_LINE} are read`
  const event = { kind: 'note', at, text, left_out: { line, bytes: length } } as const
  return { number: line, bytes: Buffer.from(JSON.stringify(event)), event }
}

/** Undefined when it is not one JSON object in UTF-8. */
export function parseLine(bytes: Uint8Array): StoredEvent | undefined {
  try {
    return parseEvent(JSON.parse(UTF8.decode(bytes)))
  } catch {
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })
const NEWLINE = 10
const CHUNK = 256 * 1024
/** In bytes, without its newline: what the reader takes, and so what the writer writes. */
export const LONGEST_LINE = 64 * 1024 * 1024

interface RawLine {
  /** Empty when it is too long. */
  readonly bytes: Buffer
  readonly length: number
  readonly complete: boolean
}

const EMPTY = Buffer.alloc(0)

/** By bytes, not with readline: that one also splits at U+2028, which JSON leaves inside strings. */
async function* splitLines(file: string): AsyncGenerator<RawLine> {
  const fd = openLog(file)
  try {
    let parts: Buffer[] = []
    let length = 0
    for (;;) {
      const buffer = Buffer.allocUnsafe(CHUNK)
      const { bytesRead } = await promisify(read)(fd, buffer, 0, CHUNK, null) // others have their turn
      if (bytesRead === 0) break
      const chunk = buffer.subarray(0, bytesRead)
      let start = 0
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        length += end - start
        parts.push(chunk.subarray(start, end))
        yield { bytes: length > LONGEST_LINE ? EMPTY : Buffer.concat(parts), length, complete: true }
        parts = []
        length = 0
        start = end + 1
      }
      parts.push(chunk.subarray(start))
      length += bytesRead - start
      if (length > LONGEST_LINE) parts = [] // only its length is wanted any more
    }
    if (length > 0)
      yield { bytes: length > LONGEST_LINE ? EMPTY : Buffer.concat(parts), length, complete: false }
  } catch (error) {
    throw errorCode(error)?.startsWith('E') && !(error instanceof UnreadableConversationError)
      ? new UnreadableConversationError(file, reason(error))
      : error
  } finally {
    closeSync(fd)
  }
}

function openLog(file: string): number {
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    if (fstatSync(fd).isFile()) return fd
    closeSync(fd)
  } catch (error) {
    throw new UnreadableConversationError(file, reason(error))
  }
  throw new UnreadableConversationError(file, 'it is not a regular file')
}
