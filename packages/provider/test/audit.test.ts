import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { Admin } from '../src/admin.ts'
import { chainOn } from '../src/audit/record.ts'
import { readRecords } from '../src/audit/read.ts'
import { signInvocation } from '../src/tokens/invocation.ts'
import { ConsoleUser } from './passkey.ts'
import { type Agent, ANYTHING, content, send, TestPlace } from './place.ts'

const opened: (() => Promise<void>)[] = []
let place: TestPlace
let admin: Admin
let agent: Agent
beforeEach(async () => {
  place = await TestPlace.start()
  const { database, serving } = place
  admin = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test', clock: place.clock })
  agent = await place.agent('bot', ANYTHING)
  opened.push(
    () => admin.close(),
    () => serving.stop(),
    () => database.close(),
  )
})
afterAll(async () => {
  for (const close of opened) await close()
})

const witness = (): string => join(place.dataDir, 'audit-witness.json')
const seen = (): { seq: number } => JSON.parse(readFileSync(witness(), 'utf8')) as { seq: number }
const headOf = async (): Promise<number> =>
  (await place.database.queries.selectFrom('audit_head').select('seq').executeTakeFirstOrThrow()).seq

/** By who can write the database: everything after a record goes, and the head with it. */
async function cut(last: number): Promise<void> {
  const { queries } = place.database
  await queries.deleteFrom('audit_records').where('seq', '>', last).execute()
  await queries.deleteFrom('audit_checkpoints').where('seq', '>', last).execute()
  const row = await queries
    .selectFrom('audit_records')
    .selectAll()
    .where('seq', '=', last)
    .executeTakeFirstOrThrow()
  await queries.updateTable('audit_head').set({ seq: row.seq, hash: row.hash }).execute()
}

/** All that a person can change, and the trail. */
async function everything(): Promise<unknown> {
  const { queries } = place.database
  const tables = ['apps', 'delegations', 'revocations', 'provider_keys', 'policies', 'links'] as const
  const rows = [...tables, 'passkeys', 'meta', 'audit_records', 'audit_head'] as const
  return Promise.all(rows.map((table) => queries.selectFrom(table).selectAll().execute()))
}

describe('SPEC 7.6 who signs the chain', () => {
  test('a provider whose key is gone makes no other, and signs nothing', async () => {
    const key = join(place.dataDir, 'provider.key')
    rmSync(key)
    await expect(admin.decide('none', 'approve')).rejects.toThrow('provider.key is gone')
    await place.serving.stop()
    expect(existsSync(key)).toBe(false)
    expect(await place.database.queries.selectFrom('audit_checkpoints').selectAll().execute()).toEqual([])
  })

  test.each([
    ['and was refused', true],
    ['and did not notice it yet', false],
  ])('a provider whose records were cut off signs nothing when it stops %s', async (_, asks) => {
    const path = join(place.files, 'a')
    writeFileSync(path, 'x')
    expect((await send(agent, '/filesystem/file/delete', { path })).code).toBe('ok')
    await cut((await headOf()) - 1)
    if (asks) expect((await send(agent, '/filesystem/file/stat', { path })).code).toBe('unavailable')
    await place.serving.stop()
    // What it had seen is all it says, and only here: the chain that is left is not signed.
    expect(seen().seq).toBe((await headOf()) + 1)
    expect(await place.database.queries.selectFrom('audit_checkpoints').selectAll().execute()).toEqual([])
  })

  test('a provider that is started on a chain that was cut meanwhile refuses everything, and says why', async () => {
    for (const id of ['one', 'two']) await admin.createApp({ id }) // each is witnessed
    await place.serving.stop()
    await cut((await headOf()) - 1)
    place.logged.length = 0
    const serving = await place.serve()
    const path = join(place.files, 'a')
    writeFileSync(path, 'x')
    const { url } = serving
    expect((await send(agent, '/filesystem/file/read', { path }, { url })).code).toBe('unavailable')
    const ready = await fetch(`${url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([
      503,
      `not ready: the audit chain ends at record ${await headOf()}, but record ${seen().seq} was written before; run \`cordon audit verify\`\n`,
    ])
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('cordon_ready 0')
    const told = `the audit chain ends at record ${await headOf()}, but record ${seen().seq} was written before`
    expect(place.logged.join('')).toContain(told)
    expect(place.logged.join('')).not.toContain('stack') // it is no bug
    // Nor is anything changed from the terminal; looking is possible.
    const later = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test' })
    await expect(later.setEnabled('bot', false)).rejects.toThrow(told)
    expect((await later.app('bot')).enabled).toBe(true)
    expect((await later.verify()).ok).toBe(false)
    await later.close()
    await serving.stop()
  })

  describe('records cut off by who leaves the head where it was', () => {
    const deleteAfter = (last: number, table: 'audit_records' | 'audit_checkpoints'): Promise<unknown> =>
      place.database.queries.deleteFrom(table).where('seq', '>', last).execute()
    const cuts: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['the last records', () => deleteAfter(2, 'audit_records')],
      [
        'the last records and checkpoints',
        () => Promise.all([deleteAfter(2, 'audit_records'), deleteAfter(2, 'audit_checkpoints')]),
      ],
      [
        'all of them',
        () => Promise.all([deleteAfter(0, 'audit_records'), deleteAfter(0, 'audit_checkpoints')]),
      ],
      ['the head itself', () => place.database.queries.deleteFrom('audit_head').execute()],
    ]
    const write = async (name: string, url: string): Promise<string> => {
      const args = { path: join(place.files, name), ...content('x') }
      return (await send(agent, '/filesystem/file/write', args, { url, body: 'x' })).code
    }
    const isRefused = async (url: string): Promise<void> => {
      expect((await fetch(`${url}/readyz`)).status).toBe(503)
      expect(await (await fetch(`${url}/metrics`)).text()).toContain('cordon_ready 0')
      const trail = (): Promise<unknown> =>
        place.database.queries.selectFrom('audit_records').selectAll().execute()
      const before = await trail()
      expect(await write('after', url)).toBe('unavailable')
      expect(existsSync(join(place.files, 'after'))).toBe(false)
      expect(await trail()).toEqual(before)
      expect(place.logged.join('')).toContain('"event":"audit broken"')
      expect(place.logged.join('')).not.toContain('stack') // it is no bug
    }

    test.each(cuts)('%s, while nobody was here: nothing is done by who starts on it', async (_, harm) => {
      for (const name of ['a', 'b', 'c']) expect(await write(name, place.serving.url)).toBe('ok')
      await place.serving.stop()
      await harm()
      const serving = await place.serve()
      await isRefused(serving.url)
      await serving.stop()
      const later = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test' })
      expect((await later.verify()).ok).toBe(false)
      await later.close()
    })

    test.each(cuts)('%s, under a provider that runs: it does nothing more', async (_, harm) => {
      for (const name of ['a', 'b', 'c']) expect(await write(name, place.serving.url)).toBe('ok')
      await harm()
      await isRefused(place.serving.url)
    })

    test('a head that was made up is no witness of what there was', async () => {
      expect(await write('a', place.serving.url)).toBe('ok')
      const before = await headOf()
      await place.serving.stop()
      await place.database.queries.updateTable('audit_head').set({ seq: 999, hash: 'x' }).execute()
      const serving = await place.serve()
      await isRefused(serving.url)
      await serving.stop()
      expect(seen().seq).toBe(before)
    })
  })

  test.each([
    ['taken out', (seq: number) => place.database.queries.deleteFrom('audit_records').where('seq', '=', seq)],
    [
      'edited',
      (seq: number) =>
        place.database.queries.updateTable('audit_records').set({ body: '{}' }).where('seq', '=', seq),
    ],
  ] as const)(
    'a record that is %s in the middle: nothing is signed, and nothing more is done',
    async (_, harm) => {
      const path = join(place.files, 'a')
      for (let i = 0; i < 3; i++) {
        writeFileSync(path, 'x')
        await send(agent, '/filesystem/file/delete', { path })
      }
      await harm((await headOf()) - 2).execute()
      const before = await headOf()
      await expect(admin.createApp({ id: 'one' })).rejects.toThrow('of the audit chain is')
      expect([(await admin.apps()).map(({ id }) => id), await headOf()]).toEqual([['bot'], before])
      expect(existsSync(admin.walletOf('one'))).toBe(false)
      await place.serving.stop()
      expect(() => readFileSync(witness())).toThrow('ENOENT')
      expect(await place.database.queries.selectFrom('audit_checkpoints').selectAll().execute()).toEqual([])
      expect(place.logged.join('')).toContain('of the audit chain is')
    },
  )

  test('nothing is changed where it cannot be recorded: not in the console, nor at the terminal', async () => {
    const user = new ConsoleUser(place.serving)
    await user.register(await admin.addPasskey(place.serving.origin), 'Ada') // which only the provider has seen
    await admin.setPolicy({ scope: '*', name: 'main', text: ANYTHING })
    const { cid } = (await admin.mint('bot', { prefix: place.files })).delegation
    const path = join(place.files, 'a')
    writeFileSync(path, 'x')
    await send(agent, '/filesystem/file/delete', { path }) // nor this, at the terminal
    await cut((await headOf()) - 1)
    const before = await everything()
    expect(await user.ask('apps/bot', { enabled: false })).toMatchObject({ status: 503 })
    const later = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test' })
    const did = (await later.keys()).current
    const changes: readonly (() => Promise<unknown>)[] = [
      () => later.createApp({ id: 'one' }),
      () => later.setEnabled('bot', false),
      () => later.removeApp('bot'),
      () => later.mint('bot', { prefix: place.files }),
      () => later.revoke(cid),
      () => later.rotateKey(),
      () => later.retireKey(did),
      () => later.setPolicy({ scope: '*', name: 'main', text: null }),
      () => later.addPasskey(place.serving.origin),
      () => later.removePasskey('Ada'),
      () => later.acceptClock(),
    ]
    for (const change of changes) await expect(change()).rejects.toThrow('but record')
    expect(await everything()).toEqual(before)
    expect((await later.keys()).current).toBe(did)
    await later.close()
  })

  test('what is done at the terminal is witnessed when it is done', async () => {
    await admin.createApp({ id: 'one' })
    expect(seen().seq).toBe(await headOf())
    await admin.removeApp('one')
    await cut((await headOf()) - 1)
    expect((await admin.verify()).problems).toMatchObject([{ kind: 'truncated' }])
  })

  test('a provider that wrote nothing itself witnesses what others wrote', async () => {
    const { queries } = place.database
    const head = await queries.selectFrom('audit_head').selectAll().executeTakeFirstOrThrow()
    const [record] = chainOn(head, 1, [
      { kind: 'event', op: 'x', name: 'by another host', by: 'somebody', detail: {} },
    ])
    await queries.insertInto('audit_records').values(record!).execute()
    await queries.updateTable('audit_head').set({ seq: record!.seq, hash: record!.hash }).execute()
    await place.serving.stop()
    expect(seen().seq).toBe(head.seq + 1)
  })

  test.each([
    ['empty', ''],
    ['something else', '{"seq":1}'],
  ])('a witness that is %s stops everything, with a sentence', async (_, text) => {
    await admin.createApp({ id: 'one' })
    writeFileSync(witness(), text, { mode: 0o600 })
    const message =
      `${witness()} is not the witness of an audit chain any more, so nothing is recorded or signed\n` +
      '  fix: put back a copy of it; or move it away, and what it had seen is proven by nobody'
    const options = { choice: place.choice, dir: place.dataDir, by: 'the test' }
    await expect(Admin.open(options)).rejects.toThrow(message)
    await expect(place.serve()).rejects.toThrow(message)
    await place.serving.stop()
    expect(readFileSync(witness(), 'utf8')).toBe(text)
    expect(place.logged.join('')).toContain('is not the witness of an audit chain any more')
  })
})

describe('a clock that was ahead for a moment', () => {
  test('keeps everybody out, says so, and is put right at the host', async () => {
    const DAYS = 24 * 3_600_000
    place.stopClock()
    const path = join(place.files, 'a')
    writeFileSync(path, 'x')
    const read = async (): Promise<string> => (await send(agent, '/filesystem/file/read', { path })).code
    const user = new ConsoleUser(place.serving)
    await user.register(await admin.addPasskey(place.serving.origin), 'ada')
    const ready = async (): Promise<string> => (await fetch(`${place.serving.url}/readyz`)).text()
    place.shift = 20 * DAYS
    expect((await user.signIn()).status).toBe(200)
    place.shift = 0
    expect(await read()).toBe('token_expired')
    expect(await ready()).toBe(
      `not ready: the clock is ${(20 * DAYS) / 1000 - 1} s behind what it was; if it is right now, run \`cordon provider clock accept\`\n`,
    )
    expect(await admin.clockBehind()).toBe(20 * DAYS - 1000)
    const token = invocationAt(place.clock())
    // As long as anything is good that was signed before, and may have been used and forgotten.
    expect(await admin.acceptClock()).toBe(300_000)
    expect((await send(agent, '/filesystem/file/read', { path }, { token })).code).toBe('token_expired')
    expect((await user.ask('overview')).status).toBe(401) // it would have lasted for twenty days
    place.shift = 301_000
    expect(await read()).toBe('ok')
    expect(await ready()).toBe('ready\n')
    expect((await user.signIn()).status).toBe(200)
    expect(await admin.clockBehind()).toBe(0)
    const events = []
    for await (const { body } of readRecords(place.database.queries))
      if (body.includes('"clock accepted"')) events.push(JSON.parse(body))
    expect(events).toMatchObject([{ by: 'the test' }])
  })

  const invocationAt = (now: number): string =>
    signInvocation({
      key: agent.key,
      chain: agent.delegations,
      command: '/filesystem/file/read',
      args: { path: join(place.files, 'a') },
      expires: Math.floor(now / 1000) + 290,
    })
})

test('SPEC 7.6 a record that is filed under another operation is found', async () => {
  await admin.createApp({ id: 'one' })
  const seq = await headOf()
  await place.database.queries
    .updateTable('audit_records')
    .set({ op: 'gone' })
    .where('seq', '=', seq)
    .execute()
  expect((await admin.verify()).problems).toEqual([
    { seq, kind: 'edited', detail: 'it is filed under another operation than it says' },
  ])
})

describe('SPEC 7.6 the key of a host that is new to the database', () => {
  const keysAdded = async (): Promise<unknown[]> => {
    const found: unknown[] = []
    for await (const { body } of readRecords(place.database.queries)) {
      const { name, by, detail } = JSON.parse(body) as Record<string, unknown>
      if (name === 'key added') found.push({ by, detail })
    }
    return found
  }
  const openAt = async (dir: string): Promise<string> => {
    const other = await Admin.open({ choice: place.choice, dir, by: 'another host', clock: place.clock })
    const { current } = await other.keys()
    await other.close()
    return current
  }

  test('is in the trail, once, with who brought it; and what was added is signed for', async () => {
    const dir = join(place.files, '..', 'other')
    const first = { by: 'provider serve', detail: { did: (await admin.keys()).current } }
    expect(await keysAdded()).toEqual([first])
    const did = await openAt(dir)
    const second = { by: 'another host', detail: { did } }
    expect(await keysAdded()).toEqual([first, second])
    expect(JSON.parse(readFileSync(join(dir, 'audit-witness.json'), 'utf8'))).toMatchObject({
      seq: await headOf(),
      signer: did,
    })
    expect(await openAt(dir)).toBe(did)
    expect(await keysAdded()).toEqual([first, second])
  })

  test('does not count while its record cannot be written', async () => {
    await admin.createApp({ id: 'one' })
    await place.database.queries
      .deleteFrom('audit_records')
      .where('seq', '=', await headOf())
      .execute()
    const before = await everything()
    await openAt(join(place.files, '..', 'other'))
    expect(await everything()).toEqual(before)
  })
})

test('SPEC 7.6 reading the whole trail lets others have their turn', async () => {
  const bodies = Array.from({ length: 5000 }, (_, i) => ({
    kind: 'event' as const,
    op: `${i}`,
    name: 'something',
    by: 'somebody',
    detail: {},
  }))
  const before = await headOf()
  const records = chainOn({ seq: before, hash: '' }, 1, bodies)
  for (let i = 0; i < records.length; i += 500)
    await place.database.queries
      .insertInto('audit_records')
      .values(records.slice(i, i + 500))
      .execute()
  let turns = 0
  let reading = true
  const others = (): void => {
    turns++
    if (reading) setImmediate(others)
  }
  setImmediate(others)
  let read = 0
  for await (const _ of readRecords(place.database.queries)) read++
  reading = false
  expect(read).toBe(before + 5000)
  expect(turns).toBeGreaterThanOrEqual(4) // one between pages
})
