import { PostgresDialect, sql } from 'kysely'
import { Pool, types } from 'pg'
import type { Engine } from './engine.ts'

const INT8 = types.builtins.INT8

/** Any number of providers on one server (SPEC 7.1). A commit is durable when the server says so. */
export function openAmbientPostgres(url: string): Engine {
  const pool = new Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 30_000,
    // A lock that somebody died with must not hold everybody: refused, and asked again.
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 15_000,
    statement_timeout: 30_000,
    types: {
      getTypeParser: (id, format) =>
        id === INT8 && format !== 'binary' ? Number : types.getTypeParser(id, format),
    },
  })
  // A connection that the server closed is replaced by the next use. Who was using it is told by his query; without
  // a listener the news of it would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    name: 'postgres',
    dialect: new PostgresDialect({ pool }),
    lock: async (db, name) => {
      await sql`select pg_advisory_xact_lock(hashtextextended(${`cordon ${name}`}, 0))`.execute(db)
    },
    lockRow: (query) => query.forUpdate(),
    flush: () => Promise.resolve(), // every commit is durable when the server answers
    close: () => Promise.resolve(), // kysely ends the pool
  }
}
