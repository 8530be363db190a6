import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type StoredEvent } from '../conversation/events.ts'
import { readLog } from '../conversation/log-reader.ts'
import { NEW } from '../conversation/make.ts'
import { isConversationId } from '../conversation/id.ts'
import {
  allConversations,
  assertInPlace,
  conversationLock,
  type ConversationRef,
  eventsFile,
  lockOptions,
  type Shelf,
  shelfDir,
} from '../conversation/shelf.ts'
import { UnreadableConversationError } from '../conversation/errors.ts'
import { listIfThere } from '../directories.ts'
import { tryLock } from '../lock.ts'
import { type BlobHash, isBlobHash } from '../resources/resource.ts'

/**
 * What any conversation references, archived ones too. Throws when one of them cannot be read, because then
 * nobody knows what it needs; and when one is being copied, because it will need what its source needed.
 */
export async function markReferenced(shelf: Shelf): Promise<Set<BlobHash>> {
  const marked = new Set<BlobHash>()
  const seen = new Set<string>()
  for (;;) {
    const fresh = allConversations(shelf).filter(({ dir }) => !seen.has(dir))
    if (fresh.length === 0) break
    for (const ref of fresh) {
      seen.add(ref.dir)
      await markOne(ref, marked)
    }
  }
  assertNoneInTheMaking(shelf)
  return marked
}

/** The blobs one conversation needs. */
export async function referencedBy(ref: ConversationRef): Promise<Set<BlobHash>> {
  const marked = new Set<BlobHash>()
  await markLog(ref, marked)
  return marked
}

async function markOne(ref: ConversationRef, marked: Set<BlobHash>): Promise<void> {
  try {
    await markLog(ref, marked)
  } catch (error) {
    if (existsSync(ref.dir)) throw error // otherwise it was removed meanwhile, and needs nothing
  }
}

async function markLog(ref: ConversationRef, marked: Set<BlobHash>): Promise<void> {
  assertInPlace(ref)
  // A last line that is no event may be one that a hand broke: whatever in it could be a reference counts.
  const guess = (bytes: Buffer): void => {
    for (const [hash] of bytes.toString('latin1').matchAll(/[0-9a-f]{64}/g)) marked.add(hash as BlobHash)
  }
  for await (const { event } of readLog(eventsFile(ref), { passedOver: guess })) markIn(bodyOf(event), marked)
}

const bodyOf = (event: StoredEvent): unknown => (event.kind === 'unknown' ? event.stored : event)

/** Any `$blob` at any depth: an event of a kind that is not known yet references its payloads the same way. */
function markIn(value: unknown, marked: Set<BlobHash>): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) markIn(item, marked)
    return
  }
  for (const [name, item] of Object.entries(value)) {
    if (name === '$blob' && isBlobHash(item)) marked.add(item)
    else markIn(item, marked)
  }
}

function assertNoneInTheMaking(shelf: Shelf): void {
  for (const keeping of ['shared', 'local'] as const)
    for (const name of listIfThere(shelfDir(shelf, keeping)).filter((each) => each.startsWith(NEW))) {
      const id = name.slice(NEW.length)
      if (!isConversationId(id)) continue
      const lock = tryLock(conversationLock(shelf, id), lockOptions(shelf, id, 0))
      if (!lock)
        throw new UnreadableConversationError(
          join(shelfDir(shelf, keeping), name),
          'it is being made; try again',
        )
      lock.release()
    }
}
