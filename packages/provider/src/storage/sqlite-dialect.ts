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
import type { Engine, Steps } from './engine.ts'

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

/** Statements are compiled once. */
export interface Statements {
  run<R>(query: Pick<CompiledQuery<R>, 'sql' | 'parameters'>): QueryResult<R>
}

export function statementsOf(db: DatabaseSync): Statements {
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
    run: <R>({ sql, parameters }: Pick<CompiledQuery<R>, 'sql' | 'parameters'>): QueryResult<R> => {
      const { statement, returnsRows } = prepare(sql)
      const bound = parameters as Parameters<StatementSync['all']>
      if (returnsRows) return { rows: statement.all(...bound) as R[] }
      return { rows: [], numAffectedRows: BigInt(statement.run(...bound).changes) }
    },
  }
}

const MOST_STATEMENTS = 256

interface Prepared {
  readonly statement: StatementSync
  readonly returnsRows: boolean
}

/** kysely on Node's own SQLite: one connection, writers take their lock at the start. */
export function sqliteDialect(db: DatabaseSync, statements: Statements): Dialect {
  const connection = connectionTo(statements)
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

const connectionTo = (statements: Statements): DatabaseConnection => ({
  executeQuery: (query) => retryWhileBusy(() => statements.run(query)),
  streamQuery: () => {
    throw new Error('nothing of ours streams rows; pages are read')
  },
})

/**
 * Without kysely: a whole transaction in one go. No statement of another can come between, because nothing is waited for;
 * and while a transaction of kysely's is open on the connection, this one waits until it is not.
 */
export const directly = (
  db: DatabaseSync,
  statements: Statements,
): Required<Pick<Engine, 'runSteps' | 'runQuery'>> => {
  const alone = <T>(act: () => T): Promise<T> =>
    retryWhileBusy(() => {
      if (db.isTransaction) throw new InTransaction()
      return act()
    })
  const inTransaction = <T>(steps: Steps<T>): T => {
    statements.run(BEGIN)
    try {
      let step = steps.next()
      while (step.done !== true) step = steps.next(statements.run(step.value).rows)
      statements.run(COMMIT)
      return step.value
    } catch (error) {
      if (db.isTransaction) statements.run(ROLLBACK)
      throw error
    }
  }
  return {
    runSteps: (steps) => alone(() => inTransaction(steps())),
    runQuery: <R>(query: CompiledQuery<R>) => alone(() => statements.run<R>(query).rows),
  }
}

class InTransaction extends Error {
  readonly errcode = SQLITE_BUSY
}

const raw = (sql: string): Pick<CompiledQuery, 'sql' | 'parameters'> => ({ sql, parameters: [] })
const [BEGIN, COMMIT, ROLLBACK] = [raw('begin immediate'), raw('commit'), raw('rollback')]
