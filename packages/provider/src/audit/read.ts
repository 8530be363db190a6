import type { Kysely } from 'kysely'
import type { Schema } from '../storage/schema.ts'
import type { AuditBody, ChainedRecord } from './record.ts'

export interface AuditFilter {
  /** Only records after this one. */
  readonly after?: number
  readonly op?: string
}

const PAGE = 1000

/** In the order of the chain, a page at a time: the trail may be longer than memory. */
export async function* readRecords(
  queries: Kysely<Schema>,
  { after = 0, op }: AuditFilter = {},
): AsyncGenerator<ChainedRecord> {
  for (let last = after; ;) {
    let query = queries.selectFrom('audit_records').selectAll().where('seq', '>', last)
    if (op !== undefined) query = query.where('op', '=', op)
    const page = await query.orderBy('seq').limit(PAGE).execute()
    yield* page
    if (page.length < PAGE) return
    last = page.at(-1)!.seq
    await new Promise(setImmediate) // an embedded database answers at once: without this nobody else has a turn
  }
}

/** The last ones, oldest first; of one app, they are looked for from the end. */
export async function readLast(
  queries: Kysely<Schema>,
  count: number,
  { app }: { readonly app?: string } = {},
): Promise<ChainedRecord[]> {
  const found: ChainedRecord[] = []
  let before = Number.MAX_SAFE_INTEGER
  while (found.length < count) {
    const take = app === undefined ? count : PAGE
    const page = await readBefore(queries, before, take)
    found.push(...page.filter(({ body }) => app === undefined || appOf(parseBody(body)) === app))
    if (page.length < take) break
    before = page.at(-1)!.seq
  }
  return found.slice(0, count).toReversed()
}

/** Newest first. */
export const readBefore = (
  queries: Kysely<Schema>,
  before: number,
  count: number,
  after = 0,
): Promise<ChainedRecord[]> =>
  queries
    .selectFrom('audit_records')
    .selectAll()
    .where('seq', '<', before)
    .where('seq', '>', after)
    .orderBy('seq', 'desc')
    .limit(count)
    .execute()

/** Null: it is not JSON any more. */
export function parseBody(text: string): AuditBody | null {
  try {
    return JSON.parse(text) as AuditBody
  } catch {
    return null
  }
}

/** Whose a record is. A policy's scope is an app, or `*`: everybody's, and so nobody's own. */
export const appOf = (body: AuditBody | null): unknown =>
  body?.kind === 'event' ? (body.detail['app'] ?? body.detail['scope']) : body?.app
