import {
  type ConversationEvent,
  type ConversationRef,
  type HostPaths,
  type LogWriter,
  openConversation,
  readConversation,
  type Shelf,
  type StoredEvent,
} from '@cordon/workspace'
import type { Journal } from './turn.ts'

/** Other changes of a conversation take milliseconds; a query that holds it for longer is named in the error. */
const PATIENCE_MS = 10_000

/** A journal that somebody has to close. */
export interface OpenJournal extends Journal, AsyncDisposable {
  /** What was done to a last line that a crash had cut short. */
  readonly recovered: string | undefined
  /** What could not be read of it, in words for people. */
  readonly leftOut: readonly string[]
}

/** Holds the conversation: one writer at a time (SPEC 6.1). */
export async function openJournal(
  shelf: Shelf,
  ref: ConversationRef,
  paths: HostPaths,
  signal: AbortSignal,
): Promise<OpenJournal> {
  const writer = await openConversation(shelf, ref, { wait: PATIENCE_MS, signal })
  try {
    return new LoggedJournal(await readAll(ref), writer, paths)
  } catch (error) {
    await writer.close()
    throw error
  }
}

/** `--no-persist`: begins with what the conversation holds, and is gone with the process. */
export async function openMemoryJournal(
  ref: ConversationRef | undefined,
  paths: HostPaths,
): Promise<OpenJournal> {
  return new LoggedJournal(ref ? await readAll(ref) : [], undefined, paths)
}

async function readAll(ref: ConversationRef): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const event of readConversation(ref)) events.push(event)
  return events
}

class LoggedJournal implements OpenJournal {
  readonly events: StoredEvent[]
  readonly recovered: string | undefined
  readonly leftOut: readonly string[]
  readonly #writer: LogWriter | undefined
  readonly #paths: HostPaths

  constructor(events: StoredEvent[], writer: LogWriter | undefined, paths: HostPaths) {
    this.events = events
    this.recovered = writer?.recovery?.note
    this.leftOut = events.flatMap((event) => (event.kind === 'note' && event.left_out ? [event.text] : []))
    this.#writer = writer
    this.#paths = paths
  }

  async append(given: readonly ConversationEvent[]): Promise<void> {
    // The last door: what nobody thought of holds no key, either.
    const events = this.#paths.conceal(given)
    await this.#writer?.append(events)
    this.events.push(...events)
  }

  hide<T>(value: T): T {
    return this.#paths.hide(value)
  }

  conceal<T>(value: T): T {
    return this.#paths.conceal(value)
  }

  unfinished(text: string): string {
    return this.#paths.unfinished(text)
  }

  mark(content: string): string {
    return this.#paths.mark(content)
  }

  unmark<T>(value: T): T {
    return this.#paths.unmark(value)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer?.close()
  }
}
