import { dirname, join } from 'node:path'
import { statSync, writeFileSync } from 'node:fs'
import {
  archiveConversation,
  Blobs,
  collectBlobs,
  type Collected,
  type CollectOptions,
  type ConversationRef,
  type ConversationSummary,
  forkConversation,
  grepConversations,
  type Hit,
  lastUsedConversation,
  listConversations,
  makePrivateDirectory,
  readConversation,
  removeConversation,
  type Shelf,
  type StoredEvent,
  sweepBlobs,
  sweepConversations,
  unarchiveConversation,
  useConversation,
} from '@cordon/workspace'
import { CordonError } from '@cordon/policy'
import { type ProjectOptions, requireWorkspace } from '../project.ts'
import { alwaysAnswers, takeBackAlways } from './always.ts'
import { type ConversationChoice, requireChosen } from './choose.ts'
import { type ConversationUser, shelfOf } from './open.ts'

/** The conversations of the workspace around a directory. Reads no configuration, so a broken one is no obstacle. */
export const openAmbientConversations = (
  options: Pick<ProjectOptions, 'cwd' | 'surroundings'>,
  user: ConversationUser,
): Conversations => new Conversations(shelfOf(requireWorkspace(options), user), user.session)

/** What a person does with conversations as a whole (SPEC 6.5). */
export class Conversations {
  readonly #shelf: Shelf
  readonly #session: string

  constructor(shelf: Shelf, session: string) {
    this.#shelf = shelf
    this.#session = session
  }

  /** The last used first. Reads no events. */
  list(which: 'current' | 'archived too'): ConversationSummary[] {
    return listConversations(this.#shelf)
      .filter(({ archived_at }) => which === 'archived too' || archived_at === undefined)
      .toSorted((a, b) => b.usedAt.getTime() - a.usedAt.getTime() || (a.id < b.id ? 1 : -1))
  }

  lastUsed(): Promise<ConversationRef | undefined> {
    return lastUsedConversation(this.#shelf, this.#session)
  }

  find(choice: ConversationChoice): Promise<ConversationRef> {
    return requireChosen(this.#shelf, this.#session, choice)
  }

  async describe(choice: ConversationChoice): Promise<ConversationView> {
    const { id } = await this.find(choice)
    const summary = listConversations(this.#shelf).find((each) => each.id === id)!
    const counts = new Map<string, number>()
    for await (const event of readConversation(summary)) {
      const kind = kindOf(event)
      counts.set(kind, (counts.get(kind) ?? 0) + 1)
    }
    const always = (await alwaysAnswers(this.#shelf, summary)).map(({ tool }) => tool)
    return { ...summary, counts: Object.fromEntries(counts), always }
  }

  /** SPEC 6.5: answers `always`, of the tools that are named, or all of them. Which ones there were. */
  takeBack(ref: ConversationRef, tools: readonly string[]): Promise<readonly string[]> {
    return takeBackAlways(this.#shelf, ref, tools)
  }

  async use(choice: ConversationChoice): Promise<ConversationRef> {
    const ref = await this.find(choice)
    await useConversation(this.#shelf, this.#session, ref.id)
    return ref
  }

  /** The copy is what the session goes on with: that is what a fork is made for. */
  async fork(choice: ConversationChoice, options: ForkOptions): Promise<Forked> {
    const from = await this.find(choice)
    await sweepConversations(this.#shelf)
    const made = await forkConversation(this.#shelf, from, options)
    await useConversation(this.#shelf, this.#session, made.id)
    return { from, made }
  }

  /** Its blobs stay until the next collection. */
  async remove(ref: ConversationRef): Promise<void> {
    await sweepConversations(this.#shelf)
    await removeConversation(this.#shelf, ref)
  }

  archive(ref: ConversationRef): Promise<void> {
    return archiveConversation(this.#shelf, ref)
  }

  unarchive(ref: ConversationRef): Promise<void> {
    return unarchiveConversation(this.#shelf, ref)
  }

  /** SPEC 6.2: every file it needs, to be staged where it is shared. */
  files(ref: ConversationRef): Promise<string[]> {
    return new Blobs(this.#shelf).filesOf(ref)
  }

  /** SPEC 6.2: what no conversation needs any more, and what killed processes left. */
  async collect(action: CollectOptions['action']): Promise<Collected> {
    if (action === 'delete') {
      await sweepConversations(this.#shelf)
      await sweepBlobs(this.#shelf)
    }
    return collectBlobs(this.#shelf, { action })
  }

  /** SPEC 6.2: whether a day has passed since the last collection in the background; the asker then makes one. */
  isCollectionDue(): boolean {
    return isDue(join(this.#shelf.workspace.local, 'collected'), this.#shelf.now())
  }

  events(ref: ConversationRef): AsyncGenerator<StoredEvent> {
    return readConversation(ref)
  }

  /** One that cannot be read is reported and does not hide the hits in the others. */
  async *grep(refs: readonly ConversationRef[], matches: (text: string) => boolean): AsyncGenerator<Found> {
    for (const ref of refs) {
      try {
        for await (const hit of grepConversations([ref], matches)) yield { kind: 'hit', hit }
      } catch (error) {
        if (!(error instanceof CordonError)) throw error
        yield { kind: 'unreadable', problem: error.message }
      }
    }
  }
}

/** As it is stored: also a kind that this version does not know has its name. */
function kindOf(event: StoredEvent): string {
  if (event.kind !== 'unknown') return event.kind
  const { kind } = event.stored
  return typeof kind === 'string' ? kind : 'unknown'
}

export interface ConversationView extends ConversationSummary {
  /** How many events of each kind it holds. */
  readonly counts: Readonly<Record<string, number>>
  /** The tools that are not asked about in it any more. */
  readonly always: readonly string[]
}

export interface ForkOptions {
  /** Only so many turns from the beginning. */
  readonly turns?: number
  readonly title?: string
}

export interface Forked {
  readonly from: ConversationRef
  readonly made: ConversationRef
}

export type Found =
  | { readonly kind: 'hit'; readonly hit: Hit }
  | { readonly kind: 'unreadable'; readonly problem: string }

const DAY = 24 * 60 * 60 * 1000

/** True once a day: the file's time is the last one. When it cannot be written, it is not due: no harm in waiting. */
function isDue(file: string, now: Date): boolean {
  const last = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (now.getTime() - last < DAY) return false
  try {
    makePrivateDirectory(dirname(file))
    writeFileSync(file, '')
    return true
  } catch {
    return false
  }
}
