import type { Kysely, Transaction } from 'kysely'
import type { Schema } from './schema.ts'

/**
 * What is forgotten would be accepted again if the clock were set back. So the clock may not fall below the time up to
 * which anything was forgotten; it is raised in the transaction that forgets.
 */
export async function raiseClockFloor(db: Transaction<Schema>, until: number): Promise<void> {
  await db
    .updateTable('meta')
    .set({ value: until })
    .where('name', '=', 'clock_floor')
    .where('value', '<', until)
    .execute()
}

export async function clockFloor({ queries }: { readonly queries: Kysely<Schema> }): Promise<number> {
  const query = queries.selectFrom('meta').select('value').where('name', '=', 'clock_floor')
  return (await query.executeTakeFirst())?.value ?? 0
}
