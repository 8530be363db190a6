import { type ConversationEvent } from '../conversation/events.ts'
import { type ConversationRef, type Shelf } from '../conversation/shelf.ts'
import { type ChainEnd, sealLine } from './chain.ts'
import { readConfigEvents } from './config-events.ts'
import { LostSealsError } from './errors.ts'
import { requireKey } from './key.ts'
import { writeLedger } from './ledger.ts'

/** Lines to be appended, and what to do when they are on the disk, or will never be. */
export interface Sealing {
  /** With their newlines. */
  readonly bytes: Buffer
  readonly done: () => Promise<void>
  readonly failed: () => Promise<void>
}

/**
 * Seals the configuration events of one conversation; its owner holds the conversation's lock. The user's place is told
 * before the append where the log may end, and after it where it does end. So a kill at any point leaves a log that counts
 * with the last append or without it, and nothing else counts (decision 0130).
 */
export class Sealer {
  readonly #shelf: Shelf
  readonly #ref: ConversationRef
  /** Known after the first configuration event of this writer: the log is read once, and never for other events. */
  #end: ChainEnd | undefined

  constructor(shelf: Shelf, ref: ConversationRef) {
    this.#shelf = shelf
    this.#ref = ref
  }

  async seal(events: readonly ConversationEvent[]): Promise<Sealing> {
    if (!events.some(({ kind }) => kind === 'config')) return plain(events)
    const { workspace, holder } = this.#shelf
    const key = await requireKey(workspace, holder)
    const start = (this.#end ??= await this.#readEnd())
    let end = start
    const lines = events.map((event) => {
      if (event.kind !== 'config') return Buffer.from(JSON.stringify(event))
      const line = sealLine(key, this.#ref, end, JSON.stringify({ ...event, seal: undefined }))
      end = line.end
      return line.bytes
    })
    await writeLedger(workspace, this.#ref, { ...start, next: end })
    return {
      bytes: joinLines(lines),
      done: async () => {
        await writeLedger(workspace, this.#ref, end)
        this.#end = end
      },
      failed: () => writeLedger(workspace, this.#ref, start),
    }
  }

  async #readEnd(): Promise<ChainEnd> {
    const { seals, lost } = await readConfigEvents(this.#shelf.workspace, this.#ref)
    if (lost) throw new LostSealsError(this.#ref.id, lost.count)
    return { count: seals.length, last: seals.at(-1) ?? '' }
  }
}

const plain = (events: readonly ConversationEvent[]): Sealing => ({
  bytes: joinLines(events.map((event) => Buffer.from(JSON.stringify(event)))),
  done: async () => {},
  failed: async () => {},
})

const NEWLINE = Buffer.from('\n')
const joinLines = (lines: readonly Buffer[]): Buffer =>
  Buffer.concat(lines.flatMap((line) => [line, NEWLINE]))
