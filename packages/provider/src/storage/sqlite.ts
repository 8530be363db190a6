import { chmodSync, closeSync, fsync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { Batcher } from './batcher.ts'
import type { Engine } from './engine.ts'
import { directly, retryWhileBusy, sqliteDialect, statementsOf } from './sqlite-dialect.ts'

const fsyncAsync = promisify(fsync)

/**
 * The embedded database: a file, nothing to start. Commits are written to the WAL at once and made durable by
 * `flush`, which asks the kernel on another thread and whose one fsync serves everybody who waits; SQLite's own
 * `synchronous=FULL` would stop all requests for every single one (decision 0151).
 */
export async function openAmbientSqlite(file: string): Promise<Engine> {
  const db = new DatabaseSync(file)
  chmodSync(file, 0o600) // SQLite gives its -wal and -shm the same mode
  await retryWhileBusy(() => db.exec('pragma journal_mode = wal'))
  // A checkpoint waits for the disk on this thread, so it comes every 40 MB and not every 4.
  db.exec('pragma synchronous = normal; pragma trusted_schema = off; pragma wal_autocheckpoint = 10000')
  let wal: number | undefined
  // The same file for as long as anybody has the database open: SQLite rewrites it, and removes it with the last.
  const flushes = new Batcher<undefined, undefined>(async (waiting) => {
    await fsyncAsync((wal ??= openSync(`${file}-wal`, 'r+')))
    return waiting
  })
  const statements = statementsOf(db)
  return {
    name: 'embedded',
    dialect: sqliteDialect(db, statements),
    ...directly(db, statements),
    lock: () => Promise.resolve(), // every transaction here is the only writer
    lockRow: (query) => query,
    flush: () => flushes.add(undefined),
    close: async () => {
      await flushes.idle()
      if (wal !== undefined) closeSync(wal)
    },
  }
}
