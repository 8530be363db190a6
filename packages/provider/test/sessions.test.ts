import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseSite, SiteError } from '../src/console/site.ts'
import { readPage } from '../src/console/trail.ts'
import { findChallenge, makeChallenge, useChallenge } from '../src/passkeys/challenges.ts'
import { isLinkGood, makeLink, useLink } from '../src/passkeys/links.ts'
import { listPasskeys, removePasskey } from '../src/passkeys/passkeys.ts'
import {
  endReused,
  endSession,
  findSession,
  noteArrival,
  renewSession,
  type SessionHalves,
  startSession,
} from '../src/sessions/sessions.ts'
import { type DatabaseChoice } from '../src/storage/database.ts'
import { ConsoleProcess } from '../src/sessions/console-process.ts'
import { PageKey } from './page-key.ts'
import { TestPlace } from './place.ts'
import { type Postgres, startPostgres } from './postgres.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const ENGINES: readonly [string, () => DatabaseChoice | undefined][] = [
  ['embedded', () => undefined],
  ['postgres', () => ({ url: postgres.database('sessions') })],
]
const MINUTE = 60_000

describe.each(ENGINES)('SPEC 7.7 on %s', (_, choice) => {
  let place: TestPlace
  beforeAll(async () => {
    place = await TestPlace.start(choice())
    await place.database.queries
      .insertInto('passkeys')
      .values({
        id: 'credential',
        name: 'Ada',
        public_key: '',
        counter: 0,
        transports: '[]',
        rp_id: 'localhost',
        created_at: 0,
        used_at: null,
      })
      .execute()
  })
  afterAll(() => place.close())
  /** With a key of its own, as every page has. */
  const start = async (now: number): Promise<SessionHalves> => {
    const { shown: key } = new PageKey('http://localhost')
    return { key, cookies: [await startSession(place.database, { passkey: 'credential', key }, now)] }
  }

  test('a session needs its cookie and its key, and no secret is in the database', async () => {
    const made = await start(0)
    expect(await findSession(place.database, made, 1)).toMatchObject({ name: 'Ada' })
    expect(await findSession(place.database, { ...made, key: 'x' }, 1)).toBe(undefined)
    expect(await findSession(place.database, { ...made, cookies: ['x'] }, 1)).toBe(undefined)
    const stored = JSON.stringify(await place.database.queries.selectFrom('sessions').selectAll().execute())
    expect(stored.includes(made.cookies[0]!)).toBe(false)
  })

  test('the cookie is replaced every ten minutes; the one before counts for half a minute once the new one has come', async () => {
    const { database } = place
    const made = await start(0)
    const session = (await findSession(database, made, 11 * MINUTE))!
    const both = await Promise.all([
      renewSession(database, session, 11 * MINUTE),
      renewSession(database, session, 11 * MINUTE),
    ])
    const replaced = both.filter((cookie) => cookie !== undefined)
    expect(replaced).toHaveLength(1)
    const next = { ...made, cookies: [replaced[0]!] }
    const arrived = (await findSession(database, next, 11 * MINUTE + 1000))!
    await noteArrival(database, arrived)
    expect(await findSession(database, made, 11 * MINUTE + 29_000)).toMatchObject({ name: 'Ada' })
    expect(await findSession(database, made, 11 * MINUTE + 31_000)).toBe(undefined)
    expect(await findSession(database, next, 12 * MINUTE)).toMatchObject({ name: 'Ada' })
  })

  test('a new cookie that never came is given again; the one that was lost is worth nothing then', async () => {
    const { database } = place
    const made = await start(0)
    const at = async (halves: SessionHalves, now: number): Promise<string | undefined> =>
      renewSession(database, (await findSession(database, halves, now))!, now)
    const lost = (await at(made, 11 * MINUTE))!
    expect(await at(made, 11 * MINUTE + 29_000)).toBe(undefined) // it may be on its way
    const again = (await at(made, 20 * MINUTE))!
    expect(again).not.toBe(lost)
    expect(await findSession(database, { ...made, cookies: [lost] }, 20 * MINUTE)).toBe(undefined)
    const next = { ...made, cookies: [again] }
    await noteArrival(database, (await findSession(database, next, 20 * MINUTE + 1000))!)
    expect(await findSession(database, made, 21 * MINUTE)).toBe(undefined)
    expect(await endReused(database, made, 21 * MINUTE)).toEqual({ name: 'Ada', passkey: 'credential' })
  })

  test('the attack: whoever throws every new cookie away shares a session for ten minutes, and not for hours', async () => {
    const { database } = place
    const owner = await start(0)
    let [now, thrownAway] = [0, 0]
    for (; now < 60 * MINUTE; now += 31_000) {
      const found = await findSession(database, owner, now)
      if (!found) break
      if ((await renewSession(database, found, now)) !== undefined) thrownAway++
    }
    expect(thrownAway).toBeGreaterThan(2)
    expect(now).toBeLessThan(21 * MINUTE)
    expect(await endReused(database, owner, now)).toEqual({ name: 'Ada', passkey: 'credential' })
  })

  test('one that is over by itself was not ended because two used it', async () => {
    const made = await start(0)
    expect(await endReused(place.database, made, 31 * MINUTE)).toBe(undefined)
  })

  test('the attack: a copied session that is used for longer than one replacement end with the first old cookie', async () => {
    const { database } = place
    const owner = await start(0)
    let thief = owner
    for (const now of [11 * MINUTE, 22 * MINUTE, 33 * MINUTE]) {
      const found = (await findSession(database, thief, now))!
      thief = { ...thief, cookies: [(await renewSession(database, found, now))!] }
    }
    const other = await start(33 * MINUTE)
    await endReused(database, owner, 33 * MINUTE)
    expect(await findSession(database, thief, 34 * MINUTE)).toBe(undefined)
    expect(await findSession(database, other, 34 * MINUTE)).toMatchObject({ name: 'Ada' })
  })

  test('the attack: cookies that somebody planted beside ours, or instead, end nothing', async () => {
    const { database } = place
    const made = await start(0)
    const other = await start(0)
    const planted = ['', 'planted', 'A'.repeat(43), `${'A'.repeat(43)}.${'B'.repeat(43)}`, ...other.cookies]
    await endReused(database, { ...made, cookies: planted }, 1)
    expect(await findSession(database, { ...made, cookies: planted }, 1)).toBe(undefined)
    expect(await findSession(database, { ...made, cookies: [...planted, ...made.cookies] }, 1)).toMatchObject(
      {
        name: 'Ada',
      },
    )
  })

  test('it ends after half an hour of silence, after half a day, and when somebody ends it', async () => {
    const idle = await start(0)
    expect(await findSession(place.database, idle, 31 * MINUTE)).toBe(undefined)
    let busy = await start(0)
    for (let now = 0; now <= 12 * 60 * MINUTE; now += 20 * MINUTE) {
      const found = await findSession(place.database, busy, now)
      expect(found?.name).toBe('Ada')
      const renewed = await renewSession(place.database, found!, now)
      if (renewed !== undefined) busy = { ...busy, cookies: [renewed] }
    }
    expect(await findSession(place.database, busy, 12 * 60 * MINUTE + 1)).toBe(undefined)
    const ended = await start(0)
    await endSession(place.database, (await findSession(place.database, ended, 1))!.hash)
    expect(await findSession(place.database, ended, 1)).toBe(undefined)
  })

  test('a challenge is good once, for its purpose and subject, for five minutes', async () => {
    const { database } = place
    const made = await makeChallenge(database, 'step up', 'this', 0)
    const find = (purpose: 'step up' | 'sign in', subject: string, now = 1): Promise<string | undefined> =>
      findChallenge(database, purpose, subject, made.ceremony, now)
    expect(await find('sign in', 'this')).toBe(undefined)
    expect(await find('step up', 'that')).toBe(undefined)
    expect(await find('step up', 'this', 5 * MINUTE + 1)).toBe(undefined)
    expect(await find('step up', 'this', 5 * MINUTE)).toBe(made.challenge)
    const both = await Promise.all([
      useChallenge(database, made.ceremony, 1),
      useChallenge(database, made.ceremony, 1),
    ])
    expect(both.toSorted()).toEqual([false, true])
    expect((await makeChallenge(database, 'step up', 'this', 0)).challenge).not.toBe(made.challenge)
  })

  test('the attack: a question that nobody asked, or asked longer ago, is not one', async () => {
    const { ceremony } = await makeChallenge(place.database, 'sign in', '', 0)
    const [expires, secret, seal] = ceremony.split('.')
    for (const forged of [
      '',
      '..',
      `${Number(expires) + 1}.${secret}.${seal}`,
      `${expires}.x.${seal}`,
      `${ceremony}.`,
    ])
      expect(await findChallenge(place.database, 'sign in', '', forged, 1)).toBe(undefined)
  })

  test('the attack: whoever asks, however often, takes no question from anybody and fills nothing', async () => {
    const first = await makeChallenge(place.database, 'sign in', '', 0)
    for (let i = 0; i < 1100; i++) await makeChallenge(place.database, 'sign in', '', i)
    expect(await findChallenge(place.database, 'sign in', '', first.ceremony, 1)).toBe(first.challenge)
  })

  test('a link is good once, for ten minutes', async () => {
    const link = await makeLink(place.database, 0)
    expect(await isLinkGood(place.database, link, 10 * MINUTE)).toBe(true)
    expect(await isLinkGood(place.database, link, 10 * MINUTE + 1)).toBe(false)
    const both = await Promise.all([useLink(place.database, link, 1), useLink(place.database, link, 1)])
    expect(both.toSorted()).toEqual([false, true])
  })

  test('the trail is read from its end, by number, with filters that go on where they stopped', async () => {
    const agent = await place.agent('reader', 'permit (principal, action, resource);')
    const client = agent.client()
    for (let i = 0; i < 60; i++) await client.call('/filesystem/dir/list', { path: place.files })
    const first = await readPage(place.database, {})
    expect(first.records).toHaveLength(50)
    const second = await readPage(place.database, { before: first.next! })
    expect(second.records[0]!.seq).toBe(first.records.at(-1)!.seq - 1)
    const intents = await readPage(place.database, { kind: 'intent', app: 'reader' })
    expect(intents.records).toHaveLength(50)
    const rest = await readPage(place.database, { kind: 'intent', app: 'reader', before: intents.next! })
    expect([rest.records.length, rest.next]).toEqual([10, null])
    const outcomes = await readPage(place.database, { kind: 'outcome', app: 'reader' })
    expect(outcomes.records[0]!.body).toMatchObject({ command: '/filesystem/dir/list', path: place.files })
    expect((await readPage(place.database, { text: 'no such thing' })).records).toEqual([])
  })

  test('without its passkey nobody is signed in', async () => {
    const made = await start(0)
    await expect(removePasskey(place.database, 'Bob')).rejects.toThrow(
      'there is no passkey Bob; `cordon provider passkey ls` lists them',
    )
    expect(await removePasskey(place.database, 'cred')).toMatchObject({ id: 'credential', name: 'Ada' })
    expect(await findSession(place.database, made, 1)).toBe(undefined)
    expect(await listPasskeys(place.database)).toEqual([])
  })
})

test('SPEC 7.5 an origin is a host name with TLS, or localhost', () => {
  expect(parseSite('http://localhost:7420')).toEqual({
    origin: 'http://localhost:7420',
    host: 'localhost:7420',
    rpId: 'localhost',
    secure: false,
  })
  expect(parseSite('https://files.example.com')).toMatchObject({ rpId: 'files.example.com', secure: true })
  const refused: [string, string][] = [
    [
      'http://127.0.0.1:7420',
      'passkeys cannot be made for an address such as 127.0.0.1: use a host name, or http://localhost:7420',
    ],
    [
      'http://10.0.0.1:80', // a URL without its port, which says nothing here
      'passkeys cannot be made for an address such as 10.0.0.1: use a host name, or http://localhost:80',
    ],
    [
      'https://[::1]',
      'passkeys cannot be made for an address such as [::1]: use a host name, or http://localhost:80',
    ],
    [
      'http://files.example.com',
      'browsers use passkeys over https only, or on localhost: write https://files.example.com',
    ],
    [
      'https://files.example.com/console',
      '"https://files.example.com/console" is not an origin: write https://files.example.com, without a path',
    ],
    ['localhost:7420', '"localhost:7420" is not an origin: write https://files.example.com, without a path'],
    ['ftp://localhost', 'ftp://localhost'],
  ]
  for (const [origin, message] of refused.slice(0, 4))
    expect(() => parseSite(origin)).toThrow(new SiteError(message))
  for (const [origin] of refused) expect(() => parseSite(origin)).toThrow(SiteError)
})

test('SPEC 7.7 a process remembers so much of what it answered, and then takes another id', () => {
  const process = new ConsoleProcess(3)
  const { id } = process
  for (const each of ['a', 'b']) process.remember(each)
  expect(['a', 'b', 'c'].map((each) => process.hasAnswered(each))).toEqual([true, true, false])
  expect(process.id).toBe(id)
  process.remember('c')
  expect(process.hasAnswered('a')).toBe(false) // and was signed for an id that counts no more
  expect(process.id).not.toBe(id)
})
