import type { Dialect, Kysely, SelectQueryBuilder } from 'kysely'
import type { Schema } from './schema.ts'

/** All that differs between the two databases. Queries are the same. */
export interface Engine {
  readonly name: 'embedded' | 'postgres'
  readonly dialect: Dialect
  /** Inside a transaction: others who take the lock of this name wait until it ends. */
  lock(db: Kysely<Schema>, name: string): Promise<void>
  /** Inside a transaction: the selected rows are ours until it ends. */
  lockRow<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>
  /** Resolves when everything committed before the call survives a power cut. */
  flush(): Promise<void>
  close(): Promise<void>
}
