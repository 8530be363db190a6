import type { CompiledQuery, Dialect, Kysely, SelectQueryBuilder } from 'kysely'
import type { Schema } from './schema.ts'

/**
 * What is done in one transaction: it yields a query, is given the rows, and returns what comes of them. Written this way
 * it runs on either database: on a server with a wait after each, in a file without any.
 */
export type Steps<T> = Generator<CompiledQuery, T, readonly unknown[]>

/** One query with the type of its rows, inside `Steps`. */
export function* ask<R>(query: CompiledQuery<R>): Generator<CompiledQuery, readonly R[], readonly unknown[]> {
  return (yield query) as readonly R[]
}

/** All that differs between the two databases. Queries are the same. */
export interface Engine {
  readonly name: 'embedded' | 'postgres'
  readonly dialect: Dialect
  /** Inside a transaction: others who take the lock of this name wait until it ends. */
  lock(db: Kysely<Schema>, name: string): Promise<void>
  /** Inside a transaction: the selected rows are ours until it ends. */
  lockRow<DB, TB extends keyof DB, O>(query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O>
  /** For every request: both without the layers that kysely lays over a connection (decision 0309). */
  runSteps?<T>(steps: () => Steps<T>): Promise<T>
  runQuery?<R>(query: CompiledQuery<R>): Promise<readonly R[]>
  /** Resolves when everything committed before the call survives a power cut. */
  flush(): Promise<void>
  close(): Promise<void>
}
