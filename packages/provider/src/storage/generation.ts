import type { Transaction } from 'kysely'
import type { Schema } from './schema.ts'

/**
 * Apps, policies, revocations and keys are remembered in memory. Whoever changes one of them raises this number in the
 * same transaction, and every request reads it: nobody ever decides by what was true before.
 */
export async function raiseGeneration(db: Transaction<Schema>): Promise<void> {
  await db
    .updateTable('meta')
    .set((row) => ({ value: row('value', '+', 1) }))
    .where('name', '=', 'generation')
    .execute()
}
