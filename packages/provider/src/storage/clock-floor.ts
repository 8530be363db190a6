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

/** An invocation, and a question to a passkey, last no longer than this. */
const LONGEST_MS = 5 * 60_000

/**
 * For a person at the host who says that the clock is right now, and was ahead before. The floor comes down to where
 * nothing that was forgotten meanwhile is good any more: whatever was signed by the right clock has expired by then. What the
 * wrong clock began (sessions, approvals, links) would last for as long as it was ahead, and ends. Returns the floor.
 */
export async function lowerClockFloor(db: Transaction<Schema>, now: number): Promise<number> {
  const floor = Math.min(now + LONGEST_MS, await clockFloor({ queries: db }))
  await db.updateTable('meta').set({ value: floor }).where('name', '=', 'clock_floor').execute()
  await db.deleteFrom('sessions').where('seen_at', '>', now).execute()
  await db
    .deleteFrom('links')
    .where('expires_at', '>', now + 2 * LONGEST_MS)
    .execute()
  await db
    .updateTable('approvals')
    .set({ state: 'expired' })
    .where('state', 'in', ['open', 'approved'])
    .where('expires_at', '>', now + LONGEST_MS)
    .execute()
  return floor
}
