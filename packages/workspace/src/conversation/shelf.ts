import { lstatSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { listIfThere } from '../directories.ts'
import { type LockHolder, type LockOptions } from '../lock.ts'
import { lockFile, type Workspace } from '../place/workspace.ts'
import { ConversationNotFoundError, UnreadableConversationError } from './errors.ts'
import { type ConversationId, createdAt, isConversationId } from './id.ts'
import { type Metadata, readMetadata } from './metadata.ts'

/** In the workspace, shared with whoever shares it, or in the user's own place (SPEC 6.1). */
export type Keeping = 'shared' | 'local'

/** What the functions on conversations need: where, who, and what time it is. */
export interface Shelf {
  readonly workspace: Workspace
  readonly holder: LockHolder
  readonly now: () => Date
}

export interface ConversationRef {
  readonly id: ConversationId
  readonly keeping: Keeping
  readonly dir: string
}

export interface ConversationSummary extends ConversationRef, Metadata {
  readonly createdAt: Date
  /** When something was last added. */
  readonly usedAt: Date
}

export const KEEPINGS: readonly Keeping[] = ['shared', 'local']

export const shelfDir = ({ workspace }: Pick<Shelf, 'workspace'>, keeping: Keeping): string =>
  join(workspace[keeping], 'conversations')

export const eventsFile = (ref: Pick<ConversationRef, 'dir'>): string => join(ref.dir, 'events.jsonl')

/** Every conversation, archived ones too, oldest first. Reads no file. */
export function allConversations(shelf: Pick<Shelf, 'workspace'>): ConversationRef[] {
  return KEEPINGS.flatMap((keeping) => {
    const parent = shelfDir(shelf, keeping)
    return listIfThere(parent)
      .filter(isConversationId)
      .map((id) => ({ id, keeping, dir: join(parent, id) }))
  }).sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** What `conversation ls` shows. Reads each one's metadata, and none of its events. */
export function listConversations(shelf: Pick<Shelf, 'workspace'>): ConversationSummary[] {
  return allConversations(shelf).map((ref) => {
    const changed = statSync(eventsFile(ref), { throwIfNoEntry: false })?.mtime
    const created = createdAt(ref.id)
    return { ...ref, ...readMetadata(ref.dir), createdAt: created, usedAt: changed ?? created }
  })
}

/** By its id, or by as much of its end or beginning as is needed to tell it from the others. */
export function findConversation(shelf: Pick<Shelf, 'workspace'>, asked: string): ConversationRef {
  const all = allConversations(shelf)
  const exact = all.find(({ id }) => id === asked)
  if (exact) return exact
  const similar = asked === '' ? [] : all.filter(({ id }) => id.startsWith(asked) || id.endsWith(asked))
  if (similar.length === 1) return similar[0]!
  throw new ConversationNotFoundError(
    asked,
    similar.map(({ id }) => id),
  )
}

/** A link planted where a conversation should be must not make us read or write somewhere else. */
export function assertInPlace({ dir }: Pick<ConversationRef, 'dir'>): void {
  for (const part of [dirname(dir), dir])
    if (lstatSync(part, { throwIfNoEntry: false })?.isSymbolicLink())
      throw new UnreadableConversationError(dir, 'it is reached through a symbolic link')
}

export const conversationLock = (shelf: Shelf, id: ConversationId): string => lockFile(shelf.workspace, id)

export const lockOptions = (shelf: Shelf, id: ConversationId, wait: number): LockOptions => ({
  what: `conversation ${id}`,
  holder: shelf.holder,
  wait,
})

/** Shared files are as readable as the rest of the workspace; one's own are one's own. */
export const fileMode = (keeping: Keeping): number => (keeping === 'shared' ? 0o644 : 0o600)
export const dirMode = (keeping: Keeping): number => (keeping === 'shared' ? 0o755 : 0o700)
