import { hash } from 'node:crypto'
import { CordonError, show } from '@cordon/policy'
import { type CompiledQuery, Kysely, type Transaction } from 'kysely'
import type { Engine, Steps } from './engine.ts'
import { migrate, NewerSchema } from './migrations.ts'
import { openAmbientPostgres } from './postgres.ts'
import type { Schema } from './schema.ts'
import { openAmbientSqlite } from './sqlite.ts'

/** Where state is kept: a file of our own, or a PostgreSQL server that several providers share. */
export type DatabaseChoice = { readonly file: string } | { readonly url: string }

/** The database cannot be used at all, or is gone for now. Whoever needed it answers no. */
export class DatabaseError extends CordonError {
  readonly code = 'DATABASE'
  constructor(problem: string) {
    super(`the provider's database cannot be used: ${problem}`)
  }
}

export interface Database {
  readonly engine: Engine['name']
  /** The file in which this host keeps what it saw of this database's audit: another database is another chain. */
  readonly witness: string
  readonly queries: Kysely<Schema>
  /** All or nothing, and the only writer of the rows it locks. */
  transaction<T>(act: (db: Transaction<Schema>) => Promise<T>): Promise<T>
  /** The same, for what every request does. */
  runSteps<T>(steps: () => Steps<T>): Promise<T>
  /** A query that is its own transaction. */
  runQuery<R>(query: CompiledQuery<R>): Promise<readonly R[]>
  lock: Engine['lock']
  lockRow: Engine['lockRow']
  /** Resolves when everything committed before the call survives a power cut. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** Opens, and brings the schema up to date; safe while others do the same (SPEC 7.1, decision 0150). */
export async function openAmbientDatabase(choice: DatabaseChoice): Promise<Database> {
  let queries: Kysely<Schema> | undefined
  try {
    const engine = 'file' in choice ? await openAmbientSqlite(choice.file) : openAmbientPostgres(choice.url)
    queries = new Kysely<Schema>({ dialect: engine.dialect })
    await queries.transaction().execute(async (db) => {
      await engine.lock(db, 'migration')
      await migrate(db)
    })
    return databaseOf(engine, queries, witnessFor(choice))
  } catch (error) {
    await queries?.destroy().catch(() => undefined)
    throw new DatabaseError(
      error instanceof NewerSchema ? `${error.message}; use the newer cordon` : reasonOf(error, choice),
    )
  }
}

/** The same database inside a transaction that is under way: what is done with it is a part of that. */
export const within = (database: Database, db: Transaction<Schema>): Database => ({
  ...database,
  queries: db,
  transaction: (act) => act(db),
  runSteps: (steps) => stepsIn(db, steps()),
  runQuery: async (query) => (await db.executeQuery(query)).rows,
  flush: async () => {}, // whoever has begun it does, once it is committed
})

/** As a part of a transaction that is under way. */
export async function stepsIn<T>(db: Transaction<Schema>, steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (step.done !== true) step = steps.next((await db.executeQuery(step.value)).rows)
  return step.value
}

/** By where it is, so that a new password does not lose it. */
function witnessFor(choice: DatabaseChoice): string {
  if ('file' in choice) return 'audit-witness.json'
  const { host, pathname } = new URL(choice.url)
  return `audit-witness-${hash('sha256', `${host}${pathname}`).slice(0, 16)}.json`
}

const databaseOf = (engine: Engine, queries: Kysely<Schema>, witness: string): Database => ({
  engine: engine.name,
  witness,
  queries,
  transaction: (act) => queries.transaction().execute(act),
  runSteps:
    engine.runSteps?.bind(engine) ?? ((steps) => queries.transaction().execute((db) => stepsIn(db, steps()))),
  runQuery: engine.runQuery?.bind(engine) ?? (async (query) => (await queries.executeQuery(query)).rows),
  lock: (db, name) => engine.lock(db, name),
  lockRow: (query) => engine.lockRow(query),
  flush: () => engine.flush(),
  close: async () => {
    await engine.close()
    await queries.destroy()
  },
})

/** Without the URL, which may hold a password. */
function reasonOf(error: unknown, choice: DatabaseChoice): string {
  const text = error instanceof Error ? error.message || error.name : String(error)
  return 'file' in choice ? `${show(choice.file)}: ${text}` : text
}
