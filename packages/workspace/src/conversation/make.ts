import {
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { syncDirectory } from '@cordon/files'
import { CordonError } from '@cordon/policy'
import { reason } from '../small-files.ts'
import { withLock } from '../lock.ts'
import { prepareLocal } from '../place/workspace.ts'
import { removeLedger } from '../seals/ledger.ts'
import { resealer } from '../seals/reseal.ts'
import { AppendError } from './errors.ts'
import { HostPaths } from './host-paths.ts'
import { newConversationId } from './id.ts'
import { readLog } from './log-reader.ts'
import { type Metadata, readMetadata, writeMetadata } from './metadata.ts'
import {
  assertInPlace,
  conversationLock,
  type ConversationRef,
  dirMode,
  eventsFile,
  fileMode,
  type Keeping,
  lockOptions,
  type Shelf,
  shelfDir,
} from './shelf.ts'

/** The name of a conversation that is being made: no id, so nobody lists it. Left by a crash, it is swept. */
export const NEW = '.new-'

export interface NewConversation {
  readonly keeping: Keeping
  readonly title?: string
}

export function createConversation(
  shelf: Shelf,
  { keeping, title }: NewConversation,
): Promise<ConversationRef> {
  return make(shelf, keeping, title === undefined ? {} : { title }, async () => {})
}

/**
 * A copy with everything up to the end of turn `turns`, or all of it. The bytes are copied as they are, but that what this
 * user sealed is sealed anew for the copy; the rest is as foreign there as it was here (SPEC 2.1).
 */
export async function forkConversation(
  shelf: Shelf,
  source: ConversationRef,
  options: { readonly turns?: number; readonly title?: string } = {},
): Promise<ConversationRef> {
  assertInPlace(source)
  const { turns, title = readMetadata(source.dir).title } = options
  const metadata = { forked_from: source.id, ...(title === undefined ? {} : { title }) }
  return make(shelf, source.keeping, metadata, async (log, made) => {
    const reseal = await resealer(shelf, source, made)
    let turn = 0
    for await (const { bytes, event } of readLog(eventsFile(source), { tooLong: 'note' })) {
      if (event.kind === 'turn' && ++turn > (turns ?? Infinity)) break
      writeFileSync(log, Buffer.concat([event.kind === 'config' ? reseal.line(bytes) : bytes, NEWLINE]))
    }
    await reseal.finish()
  })
}

const NEWLINE = Buffer.from('\n')

/**
 * Complete or not there: built under another name, brought to the disk, then renamed. Without promises of the file system:
 * the first of them costs three milliseconds of a start, and each a trip through the thread pool.
 */
async function make(
  shelf: Shelf,
  keeping: Keeping,
  metadata: Metadata,
  fill: (log: number, made: ConversationRef) => Promise<void>,
): Promise<ConversationRef> {
  await prepareLocal(shelf.workspace, shelf.holder)
  const id = newConversationId(shelf.now())
  const parent = shelfDir(shelf, keeping)
  const made: ConversationRef = { id, keeping, dir: join(parent, id) }
  const dir = join(parent, NEW + id)
  // Held while it is made, so that a sweeper can tell it from one that a crash left.
  return withLock(conversationLock(shelf, id), lockOptions(shelf, id, 0), async () => {
    try {
      mkdirSync(parent, { recursive: true, mode: dirMode(keeping) })
      assertInPlace(made)
      mkdirSync(dir, { mode: dirMode(keeping) })
      await fillLog(eventsFile({ dir }), fileMode(keeping), (log) => fill(log, made))
      await writeMetadata(dir, HostPaths.of(shelf.workspace).hide(metadata), fileMode(keeping))
      renameSync(dir, made.dir)
      syncDirectory(parent)
      return made
    } catch (error) {
      rmSync(dir, { recursive: true, force: true })
      await removeLedger(shelf.workspace, made)
      throw error instanceof CordonError ? error : new AppendError(dir, reason(error))
    }
  })
}

async function fillLog(file: string, mode: number, fill: (log: number) => Promise<void>): Promise<void> {
  const log = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, mode)
  try {
    await fill(log)
    fsyncSync(log)
  } finally {
    closeSync(log)
  }
}
