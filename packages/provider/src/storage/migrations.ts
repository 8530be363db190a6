import { type Kysely, sql, SqliteAdapter } from 'kysely'
import { makeSecret } from '../sessions/secret.ts'
import type { Schema } from './schema.ts'

type Step = (db: Kysely<Schema>) => Promise<void>

/** In order, each once; a database newer than this list is refused. Never edit one that was released. */
const MIGRATIONS: readonly Step[] = [
  async (db) => {
    await table(db, 'apps')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('did', 'text', (c) => c.notNull().unique())
      .addColumn('enabled', 'integer', (c) => c.notNull())
      .addColumn('limits', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute()
    await table(db, 'policies')
      .addColumn('version', 'bigint', (c) => c.primaryKey())
      .addColumn('scope', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('text', 'text')
      .addColumn('cases', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema
      .createIndex('policies_by_scope')
      .on('policies')
      .columns(['scope', 'name', 'version'])
      .execute()
    await table(db, 'delegations')
      .addColumn('cid', 'text', (c) => c.primaryKey())
      .addColumn('app', 'text', (c) => c.notNull())
      .addColumn('audience', 'text', (c) => c.notNull())
      .addColumn('command', 'text', (c) => c.notNull())
      .addColumn('path_prefix', 'text', (c) => c.notNull())
      .addColumn('issued_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint')
      .execute()
    await db.schema.createIndex('delegations_by_app').on('delegations').column('app').execute()
    await table(db, 'revocations')
      .addColumn('cid', 'text', (c) => c.primaryKey())
      .addColumn('revoked_at', 'bigint', (c) => c.notNull())
      .execute()
    await table(db, 'nonces')
      .addColumn('nonce', 'text', (c) => c.primaryKey())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('nonces_by_expiry').on('nonces').column('expires_at').execute()
    await table(db, 'approvals')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('app', 'text', (c) => c.notNull())
      .addColumn('agent', 'text', (c) => c.notNull())
      .addColumn('command', 'text', (c) => c.notNull())
      .addColumn('binding', 'text', (c) => c.notNull())
      .addColumn('request', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('opened_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .addColumn('decided_at', 'bigint')
      .addColumn('decided_by', 'text')
      .addColumn('proof', 'text')
      .execute()
    await db.schema.createIndex('approvals_by_binding').on('approvals').column('binding').execute()
    await db.schema.createIndex('approvals_by_app').on('approvals').columns(['app', 'state']).execute()
    await table(db, 'provider_keys')
      .addColumn('did', 'text', (c) => c.primaryKey())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('retired_at', 'bigint')
      .execute()
    await table(db, 'audit_head')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('seq', 'bigint', (c) => c.notNull())
      .addColumn('hash', 'text', (c) => c.notNull())
      .execute()
    await db.insertInto('audit_head').values({ id: 1, seq: 0, hash: '' }).execute()
    await table(db, 'audit_records')
      .addColumn('seq', 'bigint', (c) => c.primaryKey())
      .addColumn('op', 'text', (c) => c.notNull())
      .addColumn('body', 'text', (c) => c.notNull())
      .addColumn('prev', 'text', (c) => c.notNull())
      .addColumn('hash', 'text', (c) => c.notNull())
      .execute()
    await table(db, 'audit_checkpoints')
      .addColumn('seq', 'bigint', (c) => c.primaryKey())
      .addColumn('hash', 'text', (c) => c.notNull())
      .addColumn('at', 'bigint', (c) => c.notNull())
      .addColumn('signer', 'text', (c) => c.notNull())
      .addColumn('signature', 'text', (c) => c.notNull())
      .execute()
    await db
      .insertInto('meta')
      .values([
        { name: 'generation', value: 1 },
        { name: 'clock_floor', value: 0 },
      ])
      .execute()
  },
  async (db) => {
    await db.schema.alterTable('approvals').addColumn('path', 'text').execute()
    await table(db, 'passkeys')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('public_key', 'text', (c) => c.notNull())
      .addColumn('counter', 'bigint', (c) => c.notNull())
      .addColumn('transports', 'text', (c) => c.notNull())
      .addColumn('rp_id', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('used_at', 'bigint')
      .execute()
    await table(db, 'links')
      .addColumn('hash', 'text', (c) => c.primaryKey())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute()
    await table(db, 'used_challenges')
      .addColumn('hash', 'text', (c) => c.primaryKey())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute()
    await table(db, 'secrets')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('value', 'text', (c) => c.notNull())
      .execute()
    await db.insertInto('secrets').values({ name: 'challenges', value: makeSecret() }).execute()
    await table(db, 'sessions')
      .addColumn('hash', 'text', (c) => c.primaryKey())
      .addColumn('previous', 'text')
      .addColumn('key', 'text', (c) => c.notNull())
      .addColumn('passkey', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('rotated_at', 'bigint', (c) => c.notNull())
      .addColumn('seen_at', 'bigint', (c) => c.notNull())
      .execute()
    await db.schema.createIndex('sessions_by_previous').on('sessions').column('previous').execute()
    await db.schema
      .createIndex('approvals_by_state')
      .on('approvals')
      .columns(['state', 'expires_at'])
      .execute()
  },
  async (db) => {
    await db.schema.alterTable('approvals').addColumn('meaning', 'text').execute()
    await db.schema.alterTable('approvals').addColumn('record', 'bigint').execute()
    await db.schema.alterTable('approvals').addColumn('size', 'bigint').execute()
    await db.schema.createIndex('approvals_by_meaning').on('approvals').column('meaning').execute()
  },
  // One tree instead of three, in the order of the claims: each commits by itself, and writes every page that it touches
  // (decision 0357). What was claimed before counts on.
  async (db) => {
    await db.schema.alterTable('nonces').renameTo('nonces_before').execute()
    const made = table(db, 'nonces')
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .addColumn('nonce', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('nonces_once', ['expires_at', 'nonce'])
    await (isEmbedded(db) ? made.modifyEnd(sql`without rowid`) : made).execute()
    await sql`insert into nonces (expires_at, nonce) select expires_at, nonce from nonces_before`.execute(db)
    await db.schema.dropTable('nonces_before').execute()
  },
  async (db) => {
    await db.schema.alterTable('sessions').addColumn('given_at', 'bigint').execute()
  },
]

const isEmbedded = (db: Kysely<Schema>): boolean => db.getExecutor().adapter instanceof SqliteAdapter

const table = (db: Kysely<Schema>, name: keyof Schema): ReturnType<typeof db.schema.createTable> =>
  db.schema.createTable(name)

/** Inside one exclusive transaction: of several processes that start at once, one migrates and the rest wait. */
export async function migrate(db: Kysely<Schema>): Promise<void> {
  await sql`create table if not exists meta (name text primary key, value bigint not null)`.execute(db)
  const found = await db.selectFrom('meta').select('value').where('name', '=', 'schema').executeTakeFirst()
  const version = found?.value ?? 0
  if (version > MIGRATIONS.length) throw new NewerSchema(version)
  for (const step of MIGRATIONS.slice(version)) await step(db)
  const value = MIGRATIONS.length
  await db
    .insertInto('meta')
    .values({ name: 'schema', value })
    .onConflict((row) => row.column('name').doUpdateSet({ value }))
    .execute()
}

/** Told by `openAmbientDatabase` with the database's name. */
export class NewerSchema extends Error {
  readonly version: number
  constructor(version: number) {
    super(`its schema has version ${version}, newer than this program's ${MIGRATIONS.length}`)
    this.version = version
  }
}
