import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { tempOf } from '@cordon/files'
import { isOwnDirectory, listIfThere, listOwn } from '../directories.ts'
import { tryLock } from '../lock.ts'
import { lockFile } from '../place/workspace.ts'
import { removeLedger } from '../seals/ledger.ts'
import { GOING } from './change.ts'
import { isConversationId } from './id.ts'
import { NEW } from './make.ts'
import { metadataFile } from './metadata.ts'
import { allConversations, conversationLock, KEEPINGS, lockOptions, type Shelf, shelfDir } from './shelf.ts'

/**
 * Removes what a killed process left half made or half removed. Each of these has an owner who holds the conversation's
 * lock while at work; so what can be locked was left by a process that is gone.
 */
export async function sweepConversations(shelf: Shelf): Promise<void> {
  const kept = new Set<string>()
  for (const keeping of ['shared', 'local'] as const) {
    const parent = shelfDir(shelf, keeping)
    for (const name of listOwn(parent)) {
      const leftover = leftoverOf(parent, name)
      if (leftover) await removeIfFree(shelf, leftover)
      kept.add(name)
    }
  }
  // Locks of conversations that were never finished, or that are gone.
  for (const name of listIfThere(dirname(lockFile(shelf.workspace, 'any')))) {
    const id = name.slice(0, -'.lock'.length)
    if (name.endsWith('.lock') && isConversationId(id) && !kept.has(id)) await removeIfFree(shelf, { id })
  }
}

interface Leftover {
  readonly id: string
  /** Undefined when only the lock is left. */
  readonly path?: string
}

function leftoverOf(parent: string, name: string): Leftover | undefined {
  for (const prefix of [NEW, GOING])
    if (name.startsWith(prefix)) return { id: name.slice(prefix.length), path: join(parent, name) }
  const temp = tempOf(metadataFile(join(parent, name)))
  const isThere = isConversationId(name) && existsSync(temp) && isOwnDirectory(join(parent, name))
  return isThere ? { id: name, path: temp } : undefined
}

async function removeIfFree(shelf: Shelf, { id, path }: Leftover): Promise<void> {
  if (!isConversationId(id) || !existsSync(dirname(conversationLock(shelf, id)))) return
  const lock = tryLock(conversationLock(shelf, id), lockOptions(shelf, id, 0))
  if (!lock) return
  try {
    if (path !== undefined) await rm(path, { recursive: true, force: true })
    if (allConversations(shelf).some((ref) => ref.id === id)) return
    // What was being made or removed. A conversation that is just not there may come back with a git checkout.
    if (path !== undefined)
      for (const keeping of KEEPINGS) await removeLedger(shelf.workspace, { id, keeping })
    lock.retire()
  } finally {
    lock.release()
  }
}
