import {
  differenceOf,
  digestOf,
  lostText,
  summarize,
  summaryText,
  type TrustItem,
  type TrustSurvey,
} from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './text.ts'

/** One line of `trust ls`, and the shape that scripts rely on. */
export interface TrustRow {
  readonly path: string
  /** `unreadable`: whatever was trusted of it, it is not in effect. */
  readonly state: 'trusted' | 'new' | 'changed' | 'missing' | 'unreadable'
  /** Of what was trusted last; null when nothing was. */
  readonly sha256: string | null
  /** Of the text that is there now, trusted or not; null of what does not count here, and of what is no text. */
  readonly sha256_now: string | null
  readonly trusted_at: string | null
}

type Seen = TrustItem & { readonly was: TrustSurvey['trusted'][number]['was'] | undefined }

/** What waits comes first: it is what somebody has to do something about. */
export const trustRows = ({
  waiting,
  trusted,
  elsewhere,
  servers,
  defined,
  unreadable,
}: TrustSurvey): readonly TrustRow[] => [
  ...unreadable.map(({ origin: { label } }) =>
    rowOf(label, 'unreadable', elsewhere.find(({ was }) => was.path === label)?.was),
  ),
  ...waiting.map(({ path, was, text }) => rowOf(path, was ? 'changed' : 'new', was, text)),
  ...trusted.map(({ path, was, text }) => rowOf(path, 'trusted', was, text)),
  ...elsewhere
    .filter(({ was }) => !unreadable.some(({ origin }) => origin.label === was.path))
    .map(({ was, state }) => rowOf(was.path, state, was)),
  ...servers.map((seen): TrustRow => ({
    path: serverPath(seen.server),
    state: !defined.has(seen.server) ? 'missing' : seen.waiting ? 'changed' : 'trusted',
    sha256: digestOf(seen.program),
    sha256_now: null,
    trusted_at: seen.seen_at,
  })),
]

/** An MCP server among the files: where the configuration has it. */
export const serverPath = (server: string): string => `providers.mcp.${server}`

/** `trust show providers.mcp.NAME --json` */
export const serverJson = ({
  server,
  program,
  tools,
  seen_at,
  waiting,
}: TrustSurvey['servers'][number]): Record<string, unknown> => ({
  path: serverPath(server),
  trusted_at: seen_at,
  program,
  tools: tools ?? [],
  waiting: waiting ?? null,
})

const rowOf = (path: string, state: TrustRow['state'], was: Seen['was'], text?: string): TrustRow => ({
  path,
  state,
  sha256: was?.sha256 ?? null,
  sha256_now: text === undefined ? null : digestOf(text),
  trusted_at: was?.trusted_at ?? null,
})

export function formatRows(rows: readonly TrustRow[], { style }: Pick<Stream, 'style'>): string {
  const lines = rows.map(({ path, state, trusted_at }) => [
    show(path),
    style(state === 'trusted' ? 'green' : 'yellow', state),
    trusted_at ? show(trusted_at) : '-', // what somebody wrote into the store by hand has no time
  ])
  const [head = '', ...body] = formatTable([['FILE', 'STATE', 'TRUSTED'], ...lines]).split('\n')
  return `${style('bold', head)}\n${body.join('\n')}`
}

export const formatGranted = (item: TrustItem): string =>
  `${lostText(item)}${summaryText(summarize(item), 'whole')}`

export const digestJson = ({ path, text }: TrustItem): Record<string, unknown> => ({
  path,
  sha256: digestOf(text),
})

/** `trust show --json`: everything a program needs to decide, or to show in its own way. */
export const viewJson = (item: Seen, problems: readonly string[]): Record<string, unknown> => ({
  ...digestJson(item),
  trusted: item.was?.sha256 === digestOf(item.text),
  was: item.was ? { sha256: item.was.sha256, trusted_at: item.was.trusted_at } : null,
  grants: summarize(item),
  problems,
  difference: item.was?.text === undefined ? null : differenceOf(item.was.text, item.text),
  text: item.text,
})
