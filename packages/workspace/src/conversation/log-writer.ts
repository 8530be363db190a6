import { closeSync, constants, fdatasync, fstatSync, ftruncateSync, openSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { CordonError } from '@cordon/policy'
import { reason } from '../small-files.ts'
import { type HeldLock } from '../lock.ts'
import { AppendError } from './errors.ts'
import { type ConversationEvent } from './events.ts'
import { type HostPaths } from './host-paths.ts'
import { type Sealer, type Sealing } from '../seals/sealer.ts'
import { LONGEST_LINE } from './log-reader.ts'
import { recoverTail, type Recovery } from './recover.ts'

/**
 * The one writer of an `events.jsonl` (SPEC 6.1). Holds the file open, so that an append costs the same at turn
 * 10,000 as at turn 10: a write and a sync, no reading (decision 0063).
 */
export class LogWriter {
  readonly file: string
  /** What was done to a last line that a crash had cut short; undefined when there was none. */
  readonly recovery: Recovery | undefined
  readonly #fd: number
  readonly #lock: HeldLock
  readonly #paths: HostPaths
  readonly #sealer: Sealer
  #size: number
  #last: Promise<unknown> = Promise.resolve()
  #isClosed = false

  private constructor(file: string, fd: number, opened: Opened) {
    this.file = file
    this.#fd = fd
    this.#lock = opened.lock
    this.#paths = opened.paths
    this.#sealer = opened.sealer
    this.#size = opened.size
    this.recovery = opened.recovery
  }

  /** The lock is the conversation's, and passes to the writer: `close` releases it. */
  static async open(
    file: string,
    { lock, paths, sealer, now }: Pick<Opened, 'lock' | 'paths' | 'sealer'> & { readonly now: Date },
  ): Promise<LogWriter> {
    try {
      const fd = openSync(file, constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW)
      try {
        const { size, recovery } = recoverTail(file, fd, now)
        const writer = new LogWriter(file, fd, { lock, paths, sealer, size, recovery })
        if (recovery) await writer.append([{ kind: 'note', at: now.toISOString(), text: recovery.note }])
        return writer
      } catch (error) {
        closeSync(fd)
        throw error
      }
    } catch (error) {
      lock.release()
      throw error instanceof CordonError ? error : new AppendError(file, reason(error))
    }
  }

  /** All of them are on the disk when this returns. When it throws, none is. Calls may overlap; order is kept. */
  append(events: readonly ConversationEvent[]): Promise<void> {
    const appended = this.#last.then(() => this.#append(events))
    this.#last = appended.catch(() => undefined)
    return appended
  }

  async close(): Promise<void> {
    await this.#last
    if (this.#isClosed) return // its descriptor may be another file's by now
    this.#isClosed = true
    closeSync(this.#fd)
    this.#lock.release() // from here on `append` is refused
  }

  async #append(events: readonly ConversationEvent[]): Promise<void> {
    for (const event of events) this.#paths.assertAbsent(event)
    this.#assertOurs() // before anything is written about the append
    const { bytes, done, failed } = await this.#seal(events)
    this.#assertOurs()
    const longest = longestLine(bytes)
    if (longest > LONGEST_LINE) {
      await failed()
      throw new AppendError(this.file, `an event of ${longest} bytes, and ${LONGEST_LINE} can be read again`)
    }
    try {
      writeFileSync(this.#fd, bytes)
      await flush(this.#fd)
      await done()
    } catch (error) {
      // Whatever part of it arrived is taken back. If that fails too, the next writer finds a torn line.
      this.#takeBack()
      await failed().catch(() => undefined)
      throw new AppendError(this.file, reason(error))
    }
    this.#size += bytes.length
  }

  #takeBack(): void {
    try {
      ftruncateSync(this.#fd, this.#size)
    } catch {
      // said above
    }
  }

  /** SPEC 2.1. Other events cost nothing here. */
  async #seal(events: readonly ConversationEvent[]): Promise<Sealing> {
    try {
      return await this.#sealer.seal(events)
    } catch (error) {
      throw error instanceof CordonError ? error : new AppendError(this.file, reason(error))
    }
  }

  /** `git checkout` replaces files: an append to the old one would be acknowledged and gone. */
  #assertOurs(): void {
    this.#lock.assertHeld()
    const { size, nlink } = fstatSync(this.#fd)
    if (nlink === 0) throw new AppendError(this.file, 'the file was deleted or replaced meanwhile')
    if (size !== this.#size) throw new AppendError(this.file, 'another program changed the file meanwhile')
  }
}

/** The newlines are the ends of lines, and nothing else: in JSON they are escaped. */
function longestLine(bytes: Buffer): number {
  let longest = 0
  let start = 0
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    longest = Math.max(longest, end - start)
    start = end + 1
  }
  return longest
}

/** The disk is waited for while other things go on. */
const flush = (fd: number): Promise<void> => promisify(fdatasync)(fd)

interface Opened {
  readonly lock: HeldLock
  readonly paths: HostPaths
  readonly sealer: Sealer
  readonly size: number
  readonly recovery: Recovery | undefined
}
