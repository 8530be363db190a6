import type { ConversationSummary, ConversationView } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { clip, formatList, formatTime } from './text.ts'

/** One line each; a star marks the one that commands use when none is named. */
export function formatConversations(
  list: readonly ConversationSummary[],
  lastUsed: string | undefined,
  { style, columns }: Pick<Stream, 'style' | 'columns'>,
): string {
  const rows = list.map((each) => [
    `${each.id === lastUsed ? '*' : ' '}  ${each.id}`,
    formatTime(each.usedAt),
    each.keeping,
    `${each.title === undefined ? '-' : show(clip(each.title, LONGEST_TITLE))}${each.archived_at === undefined ? '' : ' (archived)'}`,
  ])
  const [head = '', ...lines] = formatList([['   ID', 'LAST USED', 'KEPT', 'TITLE'], ...rows], columns).split(
    '\n',
  )
  return [style('bold', head), ...lines].join('\n')
}

const LONGEST_TITLE = 72

export function conversationJson(each: ConversationSummary): Record<string, unknown> {
  return {
    id: each.id,
    title: each.title ?? null,
    keeping: each.keeping,
    created_at: each.createdAt.toISOString(),
    used_at: each.usedAt.toISOString(),
    archived_at: each.archived_at ?? null,
    forked_from: each.forked_from ?? null,
    path: each.dir,
  }
}

export function formatConversation(
  view: ConversationView,
  { style, columns }: Pick<Stream, 'style' | 'columns'>,
): string {
  const rows: [string, string | undefined][] = [
    ['title', view.title === undefined ? undefined : show(view.title)],
    ['kept', view.keeping === 'shared' ? 'shared, in the workspace' : "local, in the user's own place"],
    ['created', formatTime(view.createdAt)],
    ['last used', formatTime(view.usedAt)],
    ['archived', view.archived_at === undefined ? undefined : formatTime(new Date(view.archived_at))],
    ['forked from', view.forked_from],
    ['events', formatCounts(view.counts)],
    ['not asked about', view.always.length === 0 ? undefined : view.always.map(show).join(', ')],
    ['path', show(view.dir)],
  ]
  const said = rows.filter((row): row is [string, string] => row[1] !== undefined)
  return `${style('bold', view.id)}\n${formatList(
    said.map(([name, value]) => [`  ${name}:`, value]),
    columns,
  )}`
}

const formatCounts = (counts: ConversationView['counts']): string =>
  Object.entries(counts)
    .map(([kind, count]) => `${count} ${show(kind)}`)
    .join(', ') || 'none'
