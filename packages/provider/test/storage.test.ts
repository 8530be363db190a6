import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AuditLog } from '../src/audit/log.ts'
import { chainOn, type Said } from '../src/audit/record.ts'
import { verifyAudit } from '../src/audit/verify.ts'
import { makeCheckpoint } from '../src/audit/checkpoint.ts'
import { registerKey } from '../src/keys/provider-key.ts'
import {
  type Database,
  type DatabaseChoice,
  DatabaseError,
  openAmbientDatabase,
} from '../src/storage/database.ts'
import { Replay } from '../src/pipeline/replay.ts'
import { SigningKey } from '../src/tokens/key.ts'
import { type Postgres, startPostgres } from './postgres.ts'

type Claimed = Parameters<Replay['require']>[0]

let postgres: Postgres
let made = 0

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const ENGINES: readonly [string, () => DatabaseChoice][] = [
  ['embedded', () => ({ file: join(mkdtempSync(join(tmpdir(), 'cordon-db-')), 'provider.db') })],
  ['postgres', () => ({ url: postgres.database(`storage_${made++}`) })],
]

/** As somebody would who wants the chain to end there. */
async function cutAfter({ queries }: Database, seq: number): Promise<void> {
  const { hash } = await queries
    .selectFrom('audit_records')
    .select('hash')
    .where('seq', '=', seq)
    .executeTakeFirstOrThrow()
  await queries.deleteFrom('audit_records').where('seq', '>', seq).execute()
  await queries.updateTable('audit_head').set({ seq, hash }).execute()
}

const event = (op: string): Said => ({
  kind: 'event',
  op,
  name: 'something',
  by: 'somebody',
  detail: {},
})

describe.each(ENGINES)('%s', (engine, fresh) => {
  const opened: Database[] = []
  const open = async (choice: DatabaseChoice): Promise<Database> => {
    const database = await openAmbientDatabase(choice)
    opened.push(database)
    return database
  }
  afterAll(() => Promise.all(opened.map((database) => database.close())))

  test('SPEC 7.1 ten processes that start at once migrate it once', async () => {
    const choice = fresh()
    const all = await Promise.all(Array.from({ length: 10 }, () => open(choice)))
    const meta = await all[9]!.queries.selectFrom('meta').selectAll().orderBy('name').execute()
    expect(meta.map((row) => ({ ...row }))).toEqual([
      { name: 'clock_floor', value: 0 },
      { name: 'generation', value: 1 },
      { name: 'schema', value: 5 },
    ])
  })

  test('a schema of a newer program is refused', async () => {
    const choice = fresh()
    const database = await open(choice)
    await database.queries.updateTable('meta').set({ value: 99 }).where('name', '=', 'schema').execute()
    const refused = openAmbientDatabase(choice)
    await expect(refused).rejects.toThrow(
      new DatabaseError("its schema has version 99, newer than this program's 5; use the newer cordon"),
    )
  })

  test('decision 0357: what was claimed before the table of claims changed stays claimed', async () => {
    const choice = fresh()
    const { queries } = await open(choice)
    await queries.schema.dropTable('nonces').execute()
    await queries.schema
      .createTable('nonces')
      .addColumn('nonce', 'text', (c) => c.primaryKey())
      .addColumn('expires_at', 'bigint', (c) => c.notNull())
      .execute()
    await queries.schema.createIndex('nonces_by_expiry').on('nonces').column('expires_at').execute()
    const use = (nonce: string): Claimed => ({ agent, nonce: Buffer.from(nonce), expires: 60 })
    const agent = SigningKey.generate().did
    const claimed = `${agent} ${Buffer.from('used').toString('base64url')}`
    await queries.insertInto('nonces').values({ nonce: claimed, expires_at: 60_000 }).execute()
    await queries.schema.alterTable('sessions').dropColumn('given_at').execute() // of a later step
    await queries.updateTable('meta').set({ value: 3 }).where('name', '=', 'schema').execute()
    const replay = new Replay(await open(choice), () => true)
    await expect(replay.require(use('used'), 1000)).rejects.toThrow('this invocation was used before')
    await replay.require(use('new'), 1000)
    await expect(replay.require(use('new'), 1000)).rejects.toThrow('this invocation was used before')
  })

  test('what every request writes is no part of a transaction that somebody else has open', async () => {
    const database = await open(fresh())
    const [entered, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const undone = database.transaction(async (db) => {
      await db.insertInto('nonces').values({ nonce: 'undone', expires_at: 1 }).execute()
      entered.resolve()
      await goOn.promise
      throw new Error('undone')
    })
    await entered.promise
    const claim = database.queries.insertInto('nonces').values({ nonce: 'kept', expires_at: 1 }).compile()
    const kept = [
      database.runQuery(claim),
      new AuditLog(database, { isAlone: () => true }).append(event('kept')),
    ]
    goOn.resolve()
    await expect(undone).rejects.toThrow('undone')
    await Promise.all(kept)
    const nonces = await database.queries.selectFrom('nonces').select('nonce').execute()
    const records = await database.queries.selectFrom('audit_records').select('op').execute()
    expect([...nonces, ...records].map((row) => ({ ...row }))).toEqual([{ nonce: 'kept' }, { op: 'kept' }])
  })

  test('SPEC 7.6 what nobody waits for goes with the next record, before it, and alone when none comes', async () => {
    const database = await open(fresh())
    const log = new AuditLog(database, { isAlone: () => true })
    const later = [log.noteLater(event('first')), log.noteLater(event('second'))]
    await Promise.all([log.note(event('third')), ...later])
    await log.noteLater(event('fourth'))
    const last = log.noteLater(event('fifth'))
    await log.idle()
    await last
    const records = await database.queries.selectFrom('audit_records').select('op').orderBy('seq').execute()
    expect(records.map(({ op }) => op)).toEqual(['first', 'second', 'third', 'fourth', 'fifth'])
  })

  test('SPEC 7.6 many writers make one chain, and every acknowledged record is in it', async () => {
    const choice = fresh()
    const databases = await Promise.all(Array.from({ length: 4 }, () => open(choice)))
    const logs = databases.map((database) => new AuditLog(database))
    await Promise.all(Array.from({ length: 400 }, (_, i) => logs[i % logs.length]!.append(event(`op-${i}`))))
    const rows = await databases[0]!.queries
      .selectFrom('audit_records')
      .select(['seq', 'op'])
      .orderBy('seq')
      .execute()
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 400 }, (_, i) => i + 1))
    expect(new Set(rows.map(({ op }) => op)).size).toBe(400)
    expect(await verifyAudit(databases[0]!, undefined)).toMatchObject({ ok: true, records: 400 })
  })

  test('SPEC 7.6 the time of a record is taken when it gets its place: one clock does not go back', async () => {
    const choice = fresh()
    let now = 0
    const clock = (): number => ++now // so that an earlier look is an earlier time, however quick it all is
    const databases = await Promise.all(Array.from({ length: 3 }, () => open(choice)))
    const logs = databases.map((database) => new AuditLog(database, { clock }))
    await Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        const log = logs[i % logs.length]!
        if (i % 5 > 0) return log.append(event(`op-${i}`))
        return log.appendWith(async () => {
          await new Promise(setImmediate)
          return [undefined, event(`op-${i}`)]
        })
      }),
    )
    const { records, clockWentBack } = await verifyAudit(databases[0]!, undefined)
    expect({ records, clockWentBack }).toEqual({ records: 300, clockWentBack: [] })
  })

  describe('SPEC 7.6 verify finds', () => {
    async function chain(): Promise<{ database: Database; key: SigningKey }> {
      const database = await open(fresh())
      const key = SigningKey.generate()
      await registerKey(database, key, 1)
      const log = new AuditLog(database)
      for (let i = 1; i <= 5; i++) await log.append(event(`op-${i}`))
      await makeCheckpoint(database, key, 5)
      for (let i = 6; i <= 8; i++) await log.append(event(`op-${i}`))
      return { database, key }
    }
    const problemsOf = async (database: Database): Promise<string[]> =>
      (await verifyAudit(database, undefined)).problems.map(({ seq, kind }) => `${seq} ${kind}`)

    test('nothing in a chain that nobody touched', async () => {
      const { database } = await chain()
      expect(await verifyAudit(database, undefined)).toEqual({
        ok: true,
        records: 8,
        checkpoints: 1,
        problems: [],
        unfinished: [],
        clockWentBack: [],
      })
    })

    test('an edited record', async () => {
      const { database } = await chain()
      const body = JSON.stringify({ ...event('op-3'), at: 4 })
      await database.queries.updateTable('audit_records').set({ body }).where('seq', '=', 3).execute()
      expect(await problemsOf(database)).toEqual(['3 edited'])
    })

    test('an edited record whose hash was made to fit', async () => {
      const { database } = await chain()
      const [before] = await database.queries
        .selectFrom('audit_records')
        .selectAll()
        .where('seq', '=', 2)
        .execute()
      const [forged] = chainOn({ seq: 2, hash: before!.hash }, 77, [event('op-3')])
      await database.queries.updateTable('audit_records').set(forged!).where('seq', '=', 3).execute()
      expect(await problemsOf(database)).toEqual(['4 reordered'])
    })

    test('a chain rewritten from a record on: the checkpoint signed another one', async () => {
      const { database } = await chain()
      const [before] = await database.queries
        .selectFrom('audit_records')
        .selectAll()
        .where('seq', '=', 2)
        .execute()
      const forged = chainOn(
        { seq: 2, hash: before!.hash },
        1,
        [3, 4, 5, 6, 7, 8].map((i) => event(`other-${i}`)),
      )
      for (const record of forged)
        await database.queries
          .updateTable('audit_records')
          .set(record)
          .where('seq', '=', record.seq)
          .execute()
      const { seq, hash } = forged.at(-1)!
      await database.queries.updateTable('audit_head').set({ seq, hash }).execute()
      expect(await problemsOf(database)).toEqual(['5 forked'])
    })

    test('a record taken out, and two in each other’s place', async () => {
      const { database } = await chain()
      await database.queries.deleteFrom('audit_records').where('seq', '=', 4).execute()
      expect(await problemsOf(database)).toEqual(['4 missing'])
      const other = await chain()
      for (const [from, to] of [
        [2, 102],
        [3, 2],
        [102, 3],
      ] as const)
        await other.database.queries
          .updateTable('audit_records')
          .set({ seq: to })
          .where('seq', '=', from)
          .execute()
      expect(await problemsOf(other.database)).toEqual([
        '2 reordered',
        '2 edited',
        '3 reordered',
        '3 edited',
        '4 reordered',
      ])
    })

    test('a cut end, with the head set back: the checkpoint knows better', async () => {
      const { database } = await chain()
      const [last] = await database.queries
        .selectFrom('audit_records')
        .selectAll()
        .where('seq', '=', 3)
        .execute()
      await database.queries.deleteFrom('audit_records').where('seq', '>', 3).execute()
      expect(await problemsOf(database)).toEqual(['4 truncated', '4 truncated'])
      await database.queries.updateTable('audit_head').set({ seq: 3, hash: last!.hash }).execute()
      expect(await problemsOf(database)).toEqual(['4 truncated'])
    })

    test('a cut end whose checkpoints were cut, too: the host’s own witness knows better', async () => {
      const { database, key } = await chain()
      const witness = await makeCheckpoint(database, key, 9)
      await cutAfter(database, 3)
      await database.queries.deleteFrom('audit_checkpoints').execute()
      expect(await problemsOf(database)).toEqual([])
      const { ok, problems } = await verifyAudit(database, witness)
      expect(ok).toBe(false)
      expect(problems.map(({ kind, detail }) => ({ kind, detail }))).toEqual([
        { kind: 'truncated', detail: 'a checkpoint signed record 8, and the chain ends at 3' },
      ])
    })

    test('checkpoints that were taken out, by the one that the host’s own witness has, too', async () => {
      const { database, key } = await chain()
      const witness = await makeCheckpoint(database, key, 9)
      expect((await verifyAudit(database, witness)).problems).toEqual([])
      await database.queries.deleteFrom('audit_checkpoints').execute()
      expect(await verifyAudit(database, witness)).toMatchObject({
        ok: false,
        checkpoints: 0,
        problems: [
          {
            seq: 8,
            kind: 'checkpoint',
            detail: 'this host’s witness has a checkpoint here, and the database has it no more',
          },
        ],
      })
    })

    test('nothing is signed any more once what the witness saw is gone, however long the chain has become', async () => {
      const { database, key } = await chain()
      const witness = await makeCheckpoint(database, key, 9)
      await cutAfter(database, 3)
      await database.queries.deleteFrom('audit_checkpoints').execute()
      await expect(makeCheckpoint(database, key, 10, witness)).rejects.toThrow(
        'but record 8 was written before',
      )
      const log = new AuditLog(database)
      for (let i = 0; i < 9; i++) await log.append(event(`after-${i}`))
      await expect(makeCheckpoint(database, key, 11, witness)).rejects.toThrow(
        'record 8 of the audit chain is not',
      )
      const { problems } = await verifyAudit(database, witness)
      expect(problems.map(({ seq, kind }) => `${seq} ${kind}`)).toEqual(['8 forked'])
    })

    test('a checkpoint that no key of this provider signed', async () => {
      const { database } = await chain()
      await makeCheckpoint(database, SigningKey.generate(), 9)
      expect(await problemsOf(database)).toEqual(['8 checkpoint'])
    })

    test('a witness that no key of this provider signed, however well it fits', async () => {
      const { database, key } = await chain()
      const good = (await makeCheckpoint(database, key, 9))!
      expect((await verifyAudit(database, good)).ok).toBe(true)
      for (const forged of [
        { ...good, signature: 'AAAA' },
        { ...good, signer: SigningKey.generate().did },
      ])
        expect((await verifyAudit(database, forged)).problems).toEqual([
          {
            seq: 8,
            kind: 'checkpoint',
            detail: 'the signature of this host’s witness is not by a key of this provider',
          },
        ])
    })

    test('operations without an outcome, and a clock that was set back: told, and no problem of the chain', async () => {
      const { database } = await chain()
      const log = new AuditLog(database, { clock: () => 2 })
      await log.append({
        kind: 'intent',
        op: 'half',
        app: 'a',
        agent: 'b',
        command: '/filesystem/file/read',
        path: '/x',
        invocation: 'c',
      })
      expect(await verifyAudit(database, undefined)).toMatchObject({
        ok: true,
        problems: [],
        unfinished: ['half'],
        clockWentBack: [9],
      })
    })
  })

  test('SPEC 7.6 who sees the chain cut behind its back records, and so does, nothing more', async () => {
    const database = await open(fresh())
    const log = new AuditLog(database)
    for (let i = 1; i <= 3; i++) await log.append(event(`op-${i}`))
    await cutAfter(database, 1)
    const message =
      'the audit chain ends at record 1, but record 3 was written before; run `cordon audit verify`'
    await expect(log.append(event('next'))).rejects.toThrow(message)
    await expect(log.append(event('next'))).rejects.toThrow(message)
    expect(log.isBroken).toBe(true)
  })

  test('SPEC 7.6 nor who sees it rewritten, and longer than before', async () => {
    const database = await open(fresh())
    const log = new AuditLog(database)
    for (let i = 1; i <= 3; i++) await log.append(event(`op-${i}`))
    await database.queries.deleteFrom('audit_records').execute()
    const forged = chainOn(
      { seq: 0, hash: '' },
      1,
      [1, 2, 3, 4].map((i) => event(`forged-${i}`)),
    )
    await database.queries.insertInto('audit_records').values(forged).execute()
    const { seq, hash } = forged.at(-1)!
    await database.queries.updateTable('audit_head').set({ seq, hash }).execute()
    await expect(log.append(event('next'))).rejects.toThrow(
      'record 3 of the audit chain is not the one that was written; run `cordon audit verify`',
    )
    expect(log.isBroken).toBe(true)
  })

  test('another database is another chain, with a witness of its own', async () => {
    const { witness } = await open(fresh())
    expect(witness).toMatch(
      engine === 'embedded' ? /^audit-witness\.json$/ : /^audit-witness-[0-9a-f]{16}\.json$/,
    )
  })

  if (engine === 'embedded')
    test('its files are the user’s alone', async () => {
      const choice = fresh() as { file: string }
      const database = await open(choice)
      await new AuditLog(database).append(event('one'))
      for (const suffix of ['', '-wal', '-shm'])
        expect(statSync(`${choice.file}${suffix}`).mode & 0o777, suffix).toBe(0o600)
    })
})
