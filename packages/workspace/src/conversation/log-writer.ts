import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { CordonError } from '@cordon/policy'
import { reason, writeAll } from '../small-files.ts'
import { type HeldLock } from '../lock.ts'
import { AppendError } from './errors.ts'
import { type ConversationEvent } from './events.ts'
import { type HostPaths } from './host-paths.ts'
import { type Sealer, type Sealing } from '../seals/sealer.ts'
import { recoverTail, type Recovery } from './recover.ts'

/**
 * The one writer of an `events.jsonl` (SPEC 6.1). Holds the file open, so that an append costs the same at turn
 * 10,000 as at turn 10: a write and a sync, no reading (decision 0063).
 */
export class LogWriter {
  readonly file: string
  /** What was done to a last line that a crash had cut short; undefined when there was none. */
  readonly recovery: Recovery | undefined
  readonly #handle: FileHandle
  readonly #lock: HeldLock
  readonly #paths: HostPaths
  readonly #sealer: Sealer
  #size: number
  #last: Promise<unknown> = Promise.resolve()

  private constructor(file: string, handle: FileHandle, opened: Opened) {
    this.file = file
    this.#handle = handle
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
      const handle = await open(file, constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW)
      try {
        const { size, recovery } = await recoverTail(file, handle, now)
        const writer = new LogWriter(file, handle, { lock, paths, sealer, size, recovery })
        if (recovery) await writer.append([{ kind: 'note', at: now.toISOString(), text: recovery.note }])
        return writer
      } catch (error) {
        await handle.close()
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
    await this.#handle.close()
    this.#lock.release()
  }

  async #append(events: readonly ConversationEvent[]): Promise<void> {
    for (const event of events) this.#paths.assertAbsent(event)
    await this.#assertOurs() // before anything is written about the append
    const { bytes, done, failed } = await this.#seal(events)
    await this.#assertOurs()
    try {
      await writeAll(this.#handle, bytes)
      await this.#handle.datasync()
      await done()
    } catch (error) {
      // Whatever part of it arrived is taken back. If that fails too, the next writer finds a torn line.
      await this.#handle.truncate(this.#size).catch(() => undefined)
      await failed().catch(() => undefined)
      throw new AppendError(this.file, reason(error))
    }
    this.#size += bytes.length
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
  async #assertOurs(): Promise<void> {
    this.#lock.assertHeld()
    const { size, nlink } = await this.#handle.stat()
    if (nlink === 0) throw new AppendError(this.file, 'the file was deleted or replaced meanwhile')
    if (size !== this.#size) throw new AppendError(this.file, 'another program changed the file meanwhile')
  }
}

interface Opened {
  readonly lock: HeldLock
  readonly paths: HostPaths
  readonly sealer: Sealer
  readonly size: number
  readonly recovery: Recovery | undefined
}
