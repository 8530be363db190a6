import { join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { readSmall } from '../small-files.ts'
import { withLock } from '../lock.ts'
import { lockFile, prepareLocal } from '../place/workspace.ts'
import { type ChainEnd } from '../seals/chain.ts'
import { readLedger } from '../seals/ledger.ts'
import { type ConversationId, isConversationId } from './id.ts'
import { allConversations, type ConversationRef, KEEPINGS, type Shelf, shelfDir } from './shelf.ts'

/** `sessions/last-used.json`: which conversation a terminal session used last, newest first. */
interface Use {
  readonly session: string
  readonly conversation: string
  readonly at: string
}

const MOST_SESSIONS = 200

const usesFile = (shelf: Pick<Shelf, 'workspace'>): string =>
  join(shelf.workspace.local, 'sessions', 'last-used.json')

/** `session` names the terminal session, in any way that tells two of them apart. */
export async function useConversation(shelf: Shelf, session: string, id: ConversationId): Promise<void> {
  await prepareLocal(shelf.workspace, shelf.holder)
  const options = { what: 'the list of sessions', holder: shelf.holder, wait: 10_000 }
  await withLock(lockFile(shelf.workspace, 'sessions'), options, async () => {
    const others = (await readUses(shelf)).filter((use) => use.session !== session)
    const uses = [{ session, conversation: id, at: shelf.now().toISOString() }, ...others].slice(
      0,
      MOST_SESSIONS,
    )
    replaceDurably(usesFile(shelf), `${JSON.stringify({ sessions: uses })}\n`, { mode: 0o600 })
  })
}

/** This session's last, else the workspace's last; undefined when that one is gone or there was none. */
export async function lastUsedConversation(
  shelf: Shelf,
  session: string,
): Promise<ConversationRef | undefined> {
  const last = await lastUsedId(shelf, session)
  return allConversations(shelf).find(({ id }) => id === last)
}

/** Whether there is a last one at all: then it matters which terminal asks. */
export const wasAnyUsed = async (shelf: Pick<Shelf, 'workspace'>): Promise<boolean> =>
  (await readUses(shelf)).length > 0

/** The terminals that used it last. */
export const sessionsUsing = async (
  shelf: Pick<Shelf, 'workspace'>,
  id: ConversationId,
): Promise<readonly string[]> =>
  (await readUses(shelf)).flatMap(({ session, conversation }) => (conversation === id ? [session] : []))

/**
 * The last used one, when its files are gone although nobody removed it through Cordon, and sealed changes with them
 * (SPEC 2.1). Some of those may have taken access away.
 */
export async function goneConversation(
  shelf: Shelf,
  session: string,
): Promise<{ ref: ConversationRef; lost: ChainEnd } | undefined> {
  const id = await lastUsedId(shelf, session)
  if (id === undefined || allConversations(shelf).some((ref) => ref.id === id)) return undefined
  for (const keeping of KEEPINGS) {
    const { count, last } = await readLedger(shelf.workspace, { id, keeping })
    if (count > 0)
      return { ref: { id, keeping, dir: join(shelfDir(shelf, keeping), id) }, lost: { count, last } }
  }
  return undefined
}

async function lastUsedId(shelf: Shelf, session: string): Promise<ConversationId | undefined> {
  const uses = await readUses(shelf)
  const id = (uses.find((each) => each.session === session) ?? uses[0])?.conversation
  return id !== undefined && isConversationId(id) ? id : undefined
}

/** A convenience, so whatever is wrong with it, it starts again empty. */
async function readUses(shelf: Pick<Shelf, 'workspace'>): Promise<Use[]> {
  try {
    const file = readSmall(usesFile(shelf), 1024 * 1024)
    const { sessions } = JSON.parse(file?.bytes.toString('utf8') ?? '{}') as { sessions?: unknown }
    return Array.isArray(sessions) ? sessions.filter(isUse) : []
  } catch {
    return []
  }
}

const isUse = (use: unknown): use is Use =>
  typeof use === 'object' &&
  use !== null &&
  'session' in use &&
  typeof use.session === 'string' &&
  'conversation' in use &&
  typeof use.conversation === 'string'
