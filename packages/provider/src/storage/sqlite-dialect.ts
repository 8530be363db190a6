import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'

/** Another process may hold the write lock for the length of a transaction, never longer. */
const MOST_BUSY_MS = 10_000
const SQLITE_BUSY = 5

/**
 * SQLite itself would wait with everything standing still. Here only who asked waits; safe for a statement that is its
 * own transaction, and for `begin immediate`, because both have done nothing when they are told so.
 */
export async function retryWhileBusy<T>(act: () => T): Promise<T> {
  const until = performance.now() + MOST_BUSY_MS
  for (let wait = 1; ; wait = Math.min(wait * 2, 25)) {
    try {
      return act()
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY || performance.now() > until) throw error
    }
    await pause(wait)
  }
}

/** kysely on Node's own SQLite: one connection, writers take their lock at the start, statements are compiled once. */
export function sqliteDialect(db: DatabaseSync): Dialect {
  const connection = connectionTo(db)
  const run = async (sql: string): Promise<void> =>
    void (await connection.executeQuery(CompiledQuery.raw(sql)))
  const driver: Driver = {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(connection),
    beginTransaction: () => run('begin immediate'),
    commitTransaction: () => run('commit'),
    rollbackTransaction: () => run('rollback'),
    releaseConnection: () => Promise.resolve(),
    destroy: () => Promise.resolve(db.close()),
  }
  return {
    createAdapter: () => new SqliteAdapter(), // says that there is one connection; kysely takes turns on it
    createDriver: () => driver,
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

const MOST_STATEMENTS = 256

interface Prepared {
  readonly statement: StatementSync
  readonly returnsRows: boolean
}

function connectionTo(db: DatabaseSync): DatabaseConnection {
  const known = new Map<string, Prepared>()
  const prepare = (sql: string): Prepared => {
    const found = known.get(sql)
    if (found) return found
    const statement = db.prepare(sql)
    const made = { statement, returnsRows: statement.columns().length > 0 }
    if (known.size >= MOST_STATEMENTS) known.clear()
    known.set(sql, made)
    return made
  }
  return {
    executeQuery: <R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> =>
      retryWhileBusy(() => {
        const { statement, returnsRows } = prepare(sql)
        const bound = parameters as Parameters<StatementSync['all']>
        if (returnsRows) return { rows: statement.all(...bound) as R[] }
        return { rows: [], numAffectedRows: BigInt(statement.run(...bound).changes) }
      }),
    streamQuery: () => {
      throw new Error('nothing of ours streams rows; pages are read')
    },
  }
}
