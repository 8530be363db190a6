import type { Added, AttachedResource, Attachment, AttachmentOrigin } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './text.ts'

const OUTSIDE = '↗'

/** One line each, in the order in which they were attached. The URI is last, because it is long. */
export function formatAttachments(list: readonly Attachment[], { style }: Pick<Stream, 'style'>): string {
  const rows = list.map((each) => [
    each.origin.kind === 'outside' ? OUTSIDE : ' ',
    formatSize(each.size),
    show(each.mimeType ?? '-'),
    formatOrigin(each.origin),
    each.checksum.slice(0, 12),
    show(each.uri),
  ])
  const [head = '', ...lines] = formatTable([
    [' ', 'SIZE', 'TYPE', 'ORIGIN', 'CHECKSUM', 'URI'],
    ...rows,
  ]).split('\n')
  return [style('bold', head), ...lines].join('\n')
}

export function formatAdded({ items, conversation, started }: Added): string {
  return [
    ...items.map(({ attachment, outcome, delivery }) => {
      // The same words that the model gets.
      if (outcome === 'unchanged' && delivery.kind === 'reference') return show(delivery.text)
      return formatAttached(attachment)
    }),
    `in ${started === 'new' ? 'the new ' : ''}conversation ${conversation.id}`,
    '',
  ].join('\n')
}

function formatAttached({ uri, size, mimeType, origin }: AttachedResource): string {
  const mark = origin.kind === 'outside' ? `${OUTSIDE} ` : ''
  return `attached ${mark}${show(uri)} (${show(mimeType ?? '-')}, ${formatSize(size)})`
}

/** For eyes alone: of what is outside, the name by which it was attached says more than its URI. */
export function formatSeen(each: AttachedResource): string {
  if (each.origin.kind !== 'outside') return formatAttached(each)
  const name = each.uri.slice(each.uri.indexOf('/') + 1)
  return `attached ${OUTSIDE} ${show(name)} (${show(each.mimeType ?? '-')}, ${formatSize(each.size)}, from outside the workspace)`
}

const formatOrigin = (origin: AttachmentOrigin): string =>
  origin.kind === 'web' ? show(origin.host) : origin.kind

/** As a person says it; `--json` has the exact number. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  let size = bytes / 1024
  let unit = 0
  while (size >= 1023.95 && unit < UNITS.length - 1) {
    size /= 1024
    unit++
  }
  return `${size.toFixed(1)} ${UNITS[unit]}`
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB'] as const

export const attachmentJson = (each: Attachment): Record<string, unknown> => ({
  uri: each.uri,
  name: each.resource.name ?? null,
  mime_type: each.mimeType ?? null,
  size: each.size,
  checksum: each.checksum,
  form: each.form,
  origin: each.origin.kind,
  external: each.origin.kind === 'outside',
  attached_at: each.at,
})
