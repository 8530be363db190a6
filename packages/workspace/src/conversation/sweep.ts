import { existsSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { tempOf } from '../durable.ts'
import { listIfThere } from '../list.ts'
import { tryLock } from '../lock.ts'
import { GOING } from './change.ts'
import { isConversationId } from './id.ts'
import { NEW } from './make.ts'
import { metadataFile } from './metadata.ts'
import { conversationLock, lockOptions, type Shelf, shelfDir } from './shelf.ts'

/**
 * Removes what a killed process left half made or half removed. Each of these has an owner who holds the conversation's
 * lock while at work; so what can be locked is nobody's.
 */
export async function sweepConversations(shelf: Shelf): Promise<void> {
  if (statSync(join(shelf.workspace.local, 'locks'), { throwIfNoEntry: false }) === undefined) return
  for (const keeping of ['shared', 'local'] as const) {
    const parent = shelfDir(shelf, keeping)
    for (const name of listIfThere(parent)) {
      const leftover = leftoverOf(parent, name)
      if (leftover) await removeIfFree(shelf, leftover)
    }
  }
}

interface Leftover {
  readonly id: string
  readonly path: string
}

function leftoverOf(parent: string, name: string): Leftover | undefined {
  for (const prefix of [NEW, GOING])
    if (name.startsWith(prefix)) return { id: name.slice(prefix.length), path: join(parent, name) }
  const temp = tempOf(metadataFile(join(parent, name)))
  return isConversationId(name) && existsSync(temp) ? { id: name, path: temp } : undefined
}

async function removeIfFree(shelf: Shelf, { id, path }: Leftover): Promise<void> {
  if (!isConversationId(id)) return
  const lock = tryLock(conversationLock(shelf, id), lockOptions(shelf, id, 0))
  if (!lock) return
  try {
    await rm(path, { recursive: true, force: true })
    if (!path.endsWith('.tmp')) await rm(lock.file)
  } finally {
    lock.release()
  }
}
