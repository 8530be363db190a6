import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncDirectory } from '@cordon/files'
import { CordonError } from '@cordon/policy'
import { reason } from '../small-files.ts'
import { acquireLock, type HeldLock, LockHeldError, withLock } from '../lock.ts'
import { prepareLocal } from '../place/workspace.ts'
import { removeLedger } from '../seals/ledger.ts'
import { Sealer } from '../seals/sealer.ts'
import { AppendError } from './errors.ts'
import { HostPaths } from './host-paths.ts'
import { readLog } from './log-reader.ts'
import { LogWriter } from './log-writer.ts'
import { type Metadata, writeMetadata } from './metadata.ts'
import { sessionsUsing } from './sessions.ts'
import {
  assertInPlace,
  conversationLock,
  type ConversationRef,
  eventsFile,
  fileMode,
  lockOptions,
  type Shelf,
} from './shelf.ts'

/** The name of a conversation that is being removed. */
export const GOING = '.rm-'

export interface Waiting {
  /** Milliseconds to wait for another process that has it open; 0 asks once. */
  readonly wait: number
  readonly signal?: AbortSignal
}

/** To add to it. One writer at a time: the second waits, or is told who holds it (`LockHeldError`). */
export async function openConversation(
  shelf: Shelf,
  ref: ConversationRef,
  waiting: Waiting,
): Promise<LogWriter> {
  await prepareLocal(shelf.workspace, shelf.holder)
  assertInPlace(ref)
  const options = { ...lockOptions(shelf, ref.id, waiting.wait), signal: waiting.signal }
  const lock = await acquireLock(conversationLock(shelf, ref.id), options)
  const paths = HostPaths.of(shelf.workspace)
  return LogWriter.open(eventsFile(ref), { lock, paths, sealer: new Sealer(shelf, ref), now: shelf.now() })
}

export const titleConversation = (shelf: Shelf, ref: ConversationRef, title: string): Promise<void> =>
  changeMetadata(shelf, ref, { title })

export const archiveConversation = (shelf: Shelf, ref: ConversationRef): Promise<void> =>
  changeMetadata(shelf, ref, { archived_at: shelf.now().toISOString() })

export const unarchiveConversation = (shelf: Shelf, ref: ConversationRef): Promise<void> =>
  changeMetadata(shelf, ref, { archived_at: undefined })

/** Its blobs stay until the next collection finds them unreferenced. */
export function removeConversation(shelf: Shelf, ref: ConversationRef): Promise<void> {
  return underLock(shelf, ref, (lock) => remove(shelf, ref, lock))
}

/** Whoever made a conversation, and how many events of it are theirs. */
export interface Maker {
  readonly session: string
  readonly events: number
}

/** What was made and came to nothing goes again; unless somebody else took it up meanwhile: then it is theirs, and stays. */
export async function removeUnused(shelf: Shelf, ref: ConversationRef, maker: Maker): Promise<void> {
  try {
    await underLock(shelf, ref, async (lock) => {
      if (!(await isUsedByOthers(shelf, ref, maker))) await remove(shelf, ref, lock)
    })
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error // who holds it uses it
  }
}

async function isUsedByOthers(
  shelf: Shelf,
  ref: ConversationRef,
  { session, events }: Maker,
): Promise<boolean> {
  for await (const { number } of readLog(eventsFile(ref), { tooLong: 'note' }))
    if (number > events) return true
  return (await sessionsUsing(shelf, ref.id)).some((other) => other !== session)
}

async function remove(shelf: Shelf, ref: ConversationRef, lock: HeldLock): Promise<void> {
  const going = join(dirname(ref.dir), GOING + ref.id)
  await rename(ref.dir, going)
  syncDirectory(dirname(ref.dir))
  await removeLedger(shelf.workspace, ref)
  await rm(going, { recursive: true })
  lock.retire()
}

/**
 * The title is not guarded against host paths as events are: it is what the user typed, or the model's summary of
 * events that were guarded. It is hidden instead.
 */
function changeMetadata(
  shelf: Shelf,
  ref: ConversationRef,
  changes: { readonly [K in keyof Metadata]: Metadata[K] | undefined },
): Promise<void> {
  const hidden = HostPaths.of(shelf.workspace).hide(changes)
  return underLock(shelf, ref, () => writeMetadata(ref.dir, hidden, fileMode(ref.keeping)))
}

async function underLock(
  shelf: Shelf,
  ref: ConversationRef,
  work: (lock: HeldLock) => Promise<void>,
): Promise<void> {
  await prepareLocal(shelf.workspace, shelf.holder)
  assertInPlace(ref)
  await withLock(conversationLock(shelf, ref.id), lockOptions(shelf, ref.id, BRIEFLY), work).catch(
    (error: unknown) => {
      throw error instanceof CordonError ? error : new AppendError(ref.dir, reason(error))
    },
  )
}

/** A query holds a conversation for as long as the model talks; renaming it then is told so, soon. */
const BRIEFLY = 2_000
