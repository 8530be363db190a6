import type { Kysely } from 'kysely'
import type { Schema } from '../storage/schema.ts'
import type { ChainedRecord } from './record.ts'

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
  }
}

/** The last ones, oldest first. */
export async function readLast(queries: Kysely<Schema>, count: number): Promise<ChainedRecord[]> {
  const page = await queries
    .selectFrom('audit_records')
    .selectAll()
    .orderBy('seq', 'desc')
    .limit(count)
    .execute()
  return page.toReversed()
}
