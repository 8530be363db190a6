import { type ConversationRef, type Shelf } from '../conversation/shelf.ts'
import { NO_SEALS, sealLine, unsealedText, verifyLine } from './chain.ts'
import { readConfigEvents } from './config-events.ts'
import { requireKey } from './key.ts'
import { writeLedger } from './ledger.ts'

/** For a fork: takes the configuration events of one conversation, in order, and seals for another what verified. */
export interface Resealer {
  readonly line: (bytes: Buffer) => Buffer
  /** Before the copy can be seen: from then on its seals count. */
  readonly finish: () => Promise<void>
}

export async function resealer(shelf: Shelf, from: ConversationRef, to: ConversationRef): Promise<Resealer> {
  const { workspace, holder } = shelf
  const { seals } = await readConfigEvents(workspace, from)
  if (seals.length === 0) return { line: (bytes) => bytes, finish: async () => {} }
  const key = await requireKey(workspace, holder)
  let old = NO_SEALS
  let made = NO_SEALS
  return {
    line: (bytes) => {
      const next = verifyLine(key, from, old, bytes)
      if (!next || next.last !== seals[old.count]) return bytes
      old = next
      const line = sealLine(key, to, made, unsealedText(bytes))
      made = line.end
      return line.bytes
    },
    finish: () => writeLedger(workspace, to, made),
  }
}
