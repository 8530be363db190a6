import { parseWorkspaceUri, workspaceUri } from '@cordon/policy'
import {
  checksum,
  Deliveries,
  type Delivery,
  parseExternalUri,
  type Resource,
  type StoredEvent,
} from '@cordon/workspace'

/** One piece of content in a conversation, where it stands. */
interface Block {
  readonly resource: Resource
  readonly checksum: string
  /** In which turn a reader meets it, counted from 1. What was attached between two turns comes with the next. */
  readonly turn: number
  readonly at: string
  /** Attached by a person, or brought by a tool. */
  readonly by: 'person' | 'tool'
  /** A later event took it out again. */
  readonly detached: boolean
}

export type DeliveredBlock = Block & { readonly delivery: Delivery | { readonly kind: 'detached' } }

/** What is attached to a conversation now: one entry for each URI and content. */
export interface Attachment {
  readonly uri: string
  readonly checksum: string
  readonly size: number
  readonly mimeType: string | undefined
  readonly form: 'text' | 'blob'
  readonly origin: AttachmentOrigin
  /** When it was attached, last. */
  readonly at: string
  readonly turn: number
  readonly resource: Resource
}

export type AttachedResource = Pick<Attachment, 'uri' | 'mimeType' | 'size' | 'origin'>

export type AttachmentOrigin =
  | { readonly kind: 'workspace' | 'outside' | 'command' | 'other' }
  | { readonly kind: 'web'; readonly host: string }

export interface Blocks {
  /** In the order of the conversation. */
  readonly list: readonly Block[]
  /** How many turns there have been. */
  readonly turns: number
}

export async function readBlocks(events: AsyncIterable<StoredEvent>): Promise<Blocks> {
  const list: Block[] = []
  let turns = 0
  for await (const event of events) {
    if (event.kind === 'turn') turns++
    if (event.kind === 'detach') detach(list, event)
    if (event.kind !== 'attach' && event.kind !== 'request' && event.kind !== 'tool_result') continue
    const place = {
      turn: event.kind === 'attach' ? turns + 1 : Math.max(turns, 1),
      at: event.at,
      by: event.kind === 'tool_result' ? ('tool' as const) : ('person' as const),
      detached: false,
    }
    for (const resource of event.resources) list.push({ resource, checksum: checksum(resource), ...place })
  }
  return { list, turns }
}

function detach(list: Block[], gone: { readonly uri: string; readonly checksum: string }): void {
  for (const [i, block] of list.entries())
    if (block.by === 'person' && block.resource.uri === gone.uri && block.checksum === gone.checksum)
      list[i] = { ...block, detached: true }
}

/**
 * SPEC 6.3: what a reader of the whole conversation sees of each block. Only what is still there counts as earlier, so a
 * reference never points at something that was taken out.
 */
export function deliverBlocks({ list }: Blocks, deliveries: Deliveries = new Deliveries()): DeliveredBlock[] {
  return list.map((block) => ({
    ...block,
    delivery: block.detached ? { kind: 'detached' } : deliveries.deliver(block.resource, block.turn),
  }))
}

/** How one more block would be delivered, after all of these. */
export function deliverNext(blocks: Blocks, resource: Resource): Delivery {
  const deliveries = new Deliveries()
  deliverBlocks(blocks, deliveries)
  return deliveries.deliver(resource, Math.max(blocks.turns, 1))
}

/** `unchanged`: the newest of its URI is the same already. */
export interface AddedItem {
  readonly attachment: Attachment
  readonly outcome: 'attached' | 'unchanged'
  readonly delivery: Delivery
}

/** Which of them are new. What is there already, as it is now, is not: repeating a command adds nothing. */
export function sortAdded(blocks: Blocks, resources: readonly Resource[], at: string): AddedItem[] {
  const turn = blocks.turns + 1
  const deliveries = new Deliveries()
  deliverBlocks(blocks, deliveries)
  const newest = new Map(attachmentsIn(blocks).map((attachment) => [attachment.uri, attachment]))
  return resources.map((resource): AddedItem => {
    const delivery = deliveries.deliver(resource, turn)
    const place = { turn, at, by: 'person', detached: false } as const
    const attachment = describeBlock({ resource, checksum: checksum(resource), ...place })
    const same = newest.get(resource.uri)?.checksum === attachment.checksum
    newest.set(resource.uri, attachment)
    return { attachment, outcome: same ? 'unchanged' : 'attached', delivery }
  })
}

/** In the order in which they were attached last, so that of one URI the newest is the last. */
export function attachmentsIn({ list }: Blocks): Attachment[] {
  const attached = new Map<string, Attachment>()
  for (const block of list) {
    if (block.by === 'tool' || block.detached) continue
    const { uri } = block.resource
    const key = JSON.stringify([uri, block.checksum])
    attached.delete(key)
    attached.set(key, describeBlock(block))
  }
  return [...attached.values()]
}

/** What a person is told of it, before it stands in a conversation. */
export const describeResource = (resource: Resource): AttachedResource => ({
  uri: resource.uri,
  mimeType: resource.mimeType,
  size: sizeOf(resource),
  origin: originOf(resource.uri),
})

function describeBlock({ resource, checksum: sum, at, turn }: Block): Attachment {
  const { uri, mimeType, text } = resource
  const form = text === undefined ? 'blob' : 'text'
  return {
    uri,
    checksum: sum,
    size: sizeOf(resource),
    mimeType,
    form,
    origin: originOf(uri),
    at,
    turn,
    resource,
  }
}

function sizeOf({ text, blob }: Resource): number {
  const payload = text ?? blob ?? ''
  if (typeof payload === 'object') return payload.size
  return Buffer.byteLength(payload, text === undefined ? 'base64' : 'utf8')
}

function originOf(uri: string): AttachmentOrigin {
  if (parseExternalUri(uri)) return { kind: 'outside' }
  if (parseWorkspaceUri(uri) !== undefined) return { kind: 'workspace' }
  if (uri.startsWith('command:')) return { kind: 'command' }
  if (uri.startsWith('https:') && URL.canParse(uri)) return { kind: 'web', host: new URL(uri).host }
  return { kind: 'other' }
}

/** By the whole URI, else by its end: `report.pdf`, `src/a.md`. `sum` is the beginning of a checksum. Pure. */
export function findAttachments(
  attachments: readonly Attachment[],
  asked: string,
  sum: string | undefined,
): Attachment[] {
  const wanted = attachments.filter((each) => each.checksum.startsWith(sum ?? ''))
  const exact = wanted.filter(({ uri }) => uri === asked)
  if (exact.length > 0 || asked === '') return exact
  const ends = [`/${asked}`, workspaceUri(asked).slice('file://'.length)]
  return wanted.filter(({ uri }) => ends.some((end) => uri.endsWith(end)))
}
