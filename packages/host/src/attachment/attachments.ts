import {
  Blobs,
  type ConversationRef,
  type Delivery,
  type LogWriter,
  openConversation,
  readConversation,
  removeUnused,
  type Resource,
  type Shelf,
  sweepBlobs,
  useConversation,
} from '@cordon/workspace'
import {
  type ConversationChoice,
  findChosen,
  requireChosen,
  startConversation,
} from '../conversation/choose.ts'
import { openAmbientProjectIn, shelfOf } from '../conversation/open.ts'
import { SENSITIVE } from '../compile/sensitive.ts'
import { type Compiler } from '../policies.ts'
import { type Project, type ProjectOptions, requireWorkspace } from '../project.ts'
import { ATTACH_PROFILE, compileAttachAccess } from './access.ts'
import { attachAll, type AttachHands } from './attach.ts'
import {
  type AddedItem,
  type Attachment,
  attachmentsIn,
  type Blocks,
  deliverNext,
  findAttachments,
  readBlocks,
  sortAdded,
} from './blocks.ts'
import { AttachmentNotFoundError } from './errors.ts'
import { parseAttachment } from './grammar.ts'
import { refreshIn } from './refresh.ts'
import { type SecretPlaces } from './sensitive.ts'
import { storeOf } from '../trust/gate.ts'

export interface AttachmentOptions extends Pick<AttachHands, 'network' | 'limits'> {
  readonly project: Omit<ProjectOptions, 'conversation'>
  readonly user: Compiler
  readonly conversation: ConversationChoice
  /** Take also what a directory or a pattern finds where secrets live (SPEC 4.9). */
  readonly sensitive?: 'take' | 'leave out'
  /** Told how many files were read so far. */
  readonly onProgress?: (files: number) => void
  /** What the rules have to say; nothing of it stops anything. */
  readonly warn: (warnings: readonly string[]) => void
  /** What is new when a command has ended that was attached (decision 0455). */
  readonly notice: (texts: readonly string[]) => void
}

export const openAmbientAttachments = (options: AttachmentOptions): Attachments =>
  new Attachments(shelfOf(requireWorkspace(options.project), options.user), options)

export interface Added {
  readonly conversation: ConversationRef
  readonly started: 'new' | 'known'
  readonly items: readonly AddedItem[]
}

export interface Removed {
  readonly conversation: ConversationRef
  readonly removed: readonly Attachment[]
}

export interface Refreshed {
  readonly resource: Resource
  readonly delivery: Delivery
}

/** The attachments of one conversation (SPEC 6.3): the one that was named, else the last used (decision 0112). */
export class Attachments {
  readonly #shelf: Shelf
  readonly #options: AttachmentOptions
  readonly #blobs: Blobs

  constructor(shelf: Shelf, options: AttachmentOptions) {
    this.#shelf = shelf
    this.#options = options
    this.#blobs = new Blobs(shelf)
  }

  /** Everything is read and kept before the conversation is touched, or begun. One failure, and none of it is attached. */
  async add(texts: readonly string[], signal: AbortSignal): Promise<Added> {
    const { user, conversation: choice } = this.#options
    const known = await findChosen(this.#shelf, user.session, choice)
    const resources = await this.read(texts, known, signal)
    const conversation = known ?? (await startConversation(this.#shelf, user.session))
    try {
      const items = await this.#record(conversation, resources, signal)
      await useConversation(this.#shelf, user.session, conversation.id)
      return { conversation, started: known ? 'known' : 'new', items }
    } catch (error) {
      // Why it failed is what counts; an empty conversation that could not be removed does no harm.
      const maker = { session: user.session, events: 0 }
      if (!known) await removeUnused(this.#shelf, conversation, maker).catch(() => undefined)
      throw error
    }
  }

  /** `--attach`: everything that was asked for, read and kept beside the conversation, and recorded nowhere yet. */
  async read(
    texts: readonly string[],
    conversation: ConversationRef | undefined,
    signal: AbortSignal,
  ): Promise<readonly Resource[]> {
    const requests = texts.map(parseAttachment) // all of them are understood before one is read
    await sweepBlobs(this.#shelf) // what a killed process left
    const resources = await attachAll(requests, this.#hands(conversation, signal))
    signal.throwIfAborted()
    return resources
  }

  async list(): Promise<{
    readonly conversation: ConversationRef
    readonly attachments: readonly Attachment[]
  }> {
    const conversation = await this.#chosen()
    return { conversation, attachments: attachmentsIn(await readBlocks(readConversation(conversation))) }
  }

  /** By its URI or the end of it. Of several versions the newest, unless a checksum says which. */
  async find(asked: string, sum: string | undefined): Promise<Attachment> {
    const { attachments } = await this.list()
    const found = findAttachments(attachments, asked, sum)
    const newest = found.at(-1)
    if (!newest || found.some(({ uri }) => uri !== newest.uri))
      throw new AttachmentNotFoundError(asked, found)
    return newest
  }

  /** The content, verified; it fails at its end if it is not what was attached. */
  async *content({ resource }: Attachment): AsyncGenerator<Uint8Array> {
    const payload = resource.text ?? resource.blob
    if (typeof payload === 'object') yield* this.#blobs.get(payload) as AsyncIterable<Uint8Array>
    else yield await this.#blobs.read(resource, Infinity)
  }

  /** All versions of each, or the one with the checksum. All are found before one is removed. */
  async remove(asked: readonly string[], sum: string | undefined): Promise<Removed> {
    const conversation = await this.#chosen()
    return this.#writing(conversation, undefined, async (writer, blocks) => {
      const attached = attachmentsIn(blocks)
      const gone = asked.flatMap((each) => {
        const found = findAttachments(attached, each, sum)
        if (found.length === 0 || new Set(found.map(({ uri }) => uri)).size > 1)
          throw new AttachmentNotFoundError(each, found)
        return found
      })
      const removed = [...new Set(gone)]
      const at = this.#shelf.now().toISOString()
      await writer.append(
        removed.map(({ uri, checksum }) => ({ kind: 'detach', at, uri, checksum }) as const),
      )
      return { conversation, removed }
    })
  }

  /**
   * `refresh_resource`: what a URI of this conversation is now, kept, and as the reader should see it. Nothing is
   * recorded: who asked records what it was told.
   */
  async refresh(uri: string, signal: AbortSignal): Promise<Refreshed> {
    const conversation = await this.#chosen()
    const blocks = await readBlocks(readConversation(conversation))
    const resource = await refreshIn(blocks, uri, this.#hands(conversation, signal))
    return { resource, delivery: deliverNext(blocks, resource) }
  }

  #chosen(): Promise<ConversationRef> {
    return requireChosen(this.#shelf, this.#options.user.session, this.#options.conversation)
  }

  #hands(known: ConversationRef | undefined, signal: AbortSignal): AttachHands {
    const { project: options, user, warn, notice, network, limits } = this.#options
    const { cwd, surroundings } = options
    const { workspace } = this.#shelf
    const store = this.#blobs.beside(known ?? { keeping: 'shared' })
    const openProject = (trust: ProjectOptions['trust']): Promise<Project> => {
      const flags = () => [...(options.flags?.(workspace) ?? []), ATTACH_PROFILE]
      return openAmbientProjectIn({ ...options, flags, trust }, user, known ?? 'none')
    }
    const compile = async (): ReturnType<AttachHands['access']> => {
      const project = await openProject(options.trust)
      const found = await compileAttachAccess(project, user)
      warn([...project.notices, ...found.warnings])
      return { ...found, project }
    }
    // SPEC 2.1: what the files say could only make more paths sensitive, so nobody has to be asked about them for this.
    const secrets = async (): Promise<SecretPlaces> => {
      const project = await openProject(options.trust && { ...options.trust, needs: 'nothing' })
      warn(project.notices)
      return { home: workspace.home, patterns: [...SENSITIVE, ...project.loaded.config.sandbox.sensitive] }
    }
    let access: ReturnType<AttachHands['access']> | undefined
    let files = 0
    return {
      workspace,
      store,
      cwd,
      signal,
      env: surroundings.env,
      access: () => (access ??= compile()),
      links: {
        approvals: () => storeOf(workspace, surroundings, user).read(),
        person: user.person,
      },
      secrets: this.#options.sensitive === 'take' ? undefined : secrets,
      onFile: () => this.#options.onProgress?.(++files),
      warn,
      notice,
      network,
      limits,
    }
  }

  #record(
    conversation: ConversationRef,
    resources: readonly Resource[],
    signal: AbortSignal,
  ): Promise<AddedItem[]> {
    return this.#writing(conversation, signal, async (writer, blocks) => {
      const at = this.#shelf.now().toISOString()
      const items = sortAdded(blocks, resources, at)
      const fresh = items.flatMap(({ attachment, outcome }) =>
        outcome === 'attached' ? [attachment.resource] : [],
      )
      signal.throwIfAborted()
      if (fresh.length > 0) await writer.append([{ kind: 'attach', at, resources: fresh }])
      return items
    })
  }

  /** Under the conversation's lock, so that what was read last is what is added to. */
  async #writing<T>(
    conversation: ConversationRef,
    signal: AbortSignal | undefined,
    work: (writer: LogWriter, blocks: Blocks) => Promise<T>,
  ): Promise<T> {
    const waiting = { wait: PATIENCE, ...(signal ? { signal } : {}) }
    const writer = await openConversation(this.#shelf, conversation, waiting)
    try {
      return await work(writer, await readBlocks(readConversation(conversation)))
    } finally {
      await writer.close()
    }
  }
}

/** Other changes take milliseconds; a query that holds the conversation for longer is named in the error. */
const PATIENCE = 10_000
