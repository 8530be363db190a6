import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Admin } from '../src/admin.ts'
import { PageKey } from './page-key.ts'
import { ConsoleUser, SoftPasskey } from './passkey.ts'
import { content, send, TestPlace } from './place.ts'
import { ownPort } from './ports.ts'

/** Attacks on the console that need no browser. */
let place: TestPlace
let admin: Admin
beforeAll(async () => {
  place = await TestPlace.start()
  admin = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test', clock: place.clock })
})
afterAll(async () => {
  await admin.close()
  await place.close()
})

/** Somebody who is signed in. */
async function person(name: string, passkey?: SoftPasskey): Promise<ConsoleUser> {
  const user = new ConsoleUser(place.serving, passkey)
  const told = await user.register(await admin.addPasskey(place.serving.origin), name)
  expect(told).toMatchObject({ status: 200 })
  return user
}

/** What a person did, the newest first. */
async function events(name: string): Promise<Record<string, unknown>[]> {
  const rows = await place.database.queries
    .selectFrom('audit_records')
    .select('body')
    .orderBy('seq', 'desc')
    .execute()
  const all = rows.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
  return all.filter((each) => each['name'] === name)
}

const answers = async (url: string): Promise<string> =>
  fetch(`${url}/healthz`).then(
    (answer) => answer.text(),
    (error: Error) => (error.cause as NodeJS.ErrnoException).code ?? error.message,
  )

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)
if (!hasIpv6) console.warn('skipped: this machine has no ::1')

describe.skipIf(!hasIpv6)('SPEC 7.7 who is at localhost', () => {
  test('the console is at both loopback addresses, and ends at both', async () => {
    const serving = await place.serve()
    const { port } = new URL(serving.url)
    const both = [`http://127.0.0.1:${port}`, `http://[::1]:${port}`]
    expect(await Promise.all(both.map(answers))).toEqual(['ok\n', 'ok\n'])
    await serving.stop()
    expect(await Promise.all(both.map(answers))).toEqual(['ECONNREFUSED', 'ECONNREFUSED'])
  })

  test('127.0.0.1 as IPv6 writes it is 127.0.0.1, and not in the way of itself', async () => {
    const serving = await place.serve({ host: '::ffff:127.0.0.1' })
    const { port } = new URL(serving.url)
    const both = [`http://127.0.0.1:${port}`, `http://[::1]:${port}`]
    expect(await Promise.all(both.map(answers))).toEqual(['ok\n', 'ok\n'])
    await serving.stop()
  })

  test('somebody else at ::1 would be the console for a browser: then it does not start', async () => {
    const port = await ownPort()
    const other = createServer((_, answer) => answer.end('not the console'))
    other.listen(port, '::1')
    await once(other, 'listening')
    await expect(place.serve({ port })).rejects.toThrow(
      `cannot listen on ::1 port ${port}: another program has that port\n` +
        '  browsers take whoever listens there for the console: both addresses of localhost must be ours\n' +
        '  fix: another --port, or --origin with the name and port that browsers use',
    )
    expect(await answers(`http://127.0.0.1:${port}`)).toBe('ECONNREFUSED') // nor half of it
    const named = await place.serve({ port, origin: 'https://files.example.com' })
    await named.stop()
    other.close()
  })
})

describe('SPEC 7.7 passkeys', () => {
  test('one whose id is another one’s name can be removed, and only that one', async () => {
    const ada = await person('Ada')
    await person(ada.passkey.id)
    const removed = await admin.removePasskey(ada.passkey.id)
    expect(removed).toMatchObject({ id: ada.passkey.id, name: 'Ada' })
    await admin.removePasskey(ada.passkey.id) // the other one, by its name
    expect(await admin.passkeys()).toEqual([])
  })

  test('a name is one passkey’s; a taken one, or a passkey that is known, does not use the link up', async () => {
    const bob = await person('Bob')
    const link = await admin.addPasskey(place.serving.origin)
    const second = new ConsoleUser(place.serving)
    const taken = { code: 'bad_request', message: 'another passkey has that name: choose another one' }
    expect(await second.register(link, 'Bob')).toEqual({ status: 400, body: { error: taken } })
    const known = {
      code: 'bad_request',
      message: 'this provider knows that passkey already: sign in with it',
    }
    expect(await second.register(link, 'Bob\u200e')).toMatchObject({
      status: 400,
      body: {
        error: {
          message: '"Bob\\u{200e}" is not a name for a passkey: 1 to 64 characters, all of them visible',
        },
      },
    })
    const before = (await events('passkey added')).length
    expect(await new ConsoleUser(place.serving, bob.passkey).register(link, 'Bobby')).toEqual({
      status: 400,
      body: { error: known },
    })
    expect((await events('passkey added')).length).toBe(before)
    expect((await second.register(link, 'Bobby')).status).toBe(200)
    expect((await events('passkey added'))[0]).toMatchObject({
      by: 'passkey Bobby',
      detail: { passkey: second.passkey.id, rp_id: 'localhost', public_key: expect.any(String) },
    })
    expect((await second.ask('sign-out', {})).status).toBe(200)
    expect((await events('signed out'))[0]).toMatchObject({ detail: { passkey: second.passkey.id } })
  })

  test('the attack: a name that is read as another passkey’s is refused; blanks and composition make no other name', async () => {
    await person('Zoé Laptop 1')
    const link = await admin.addPasskey(place.serving.origin)
    const mallory = new ConsoleUser(place.serving)
    for (const [name, why] of [
      ['Zoe\u0301  Laptop 1 ', 'another passkey has that name'],
      ['Zoé\u00a0Laptop 1', 'another passkey has that name'],
      ['Zоé Laptop 1', 'has letters that pass for others'],
      ['Zoé Laptop l', 'looks like the name of another passkey'],
      ['Zoé Lɑptop 2', 'has letters that pass for others'],
      ['Zoé З', 'has letters that pass for others'],
      ['Zoé-З', 'has letters that pass for others'],
      ['Zoé б', 'has letters that pass for others'],
      ['Zoé ०', 'has letters that pass for others'],
      ['Zoé ဝ', 'has letters that pass for others'],
      ['Zoé 1 אב', 'drawn in another order than they are written'],
      ['Zoé–1', 'has letters that pass for others'],
    ] as const) {
      const told = await mallory.register(link, name)
      expect([name, told.status, String(told.body.error?.message)]).toEqual([
        name,
        400,
        expect.stringContaining(why),
      ])
    }
    expect(await mallory.register(link, '  Zoé   Laptop 2 ')).toMatchObject({
      body: { name: 'Zoé Laptop 2' },
    })
  })

  test('who could not sign in is recorded, ten times a minute, and then counted', async () => {
    const eve = new ConsoleUser(place.serving)
    for (let i = 0; i < 15; i++)
      expect((await eve.signIn()).body).toMatchObject({ error: { code: 'passkey_refused' } })
    const refused = await events('sign-in refused')
    expect(refused.length).toBe(10)
    expect(refused[0]).toMatchObject({ by: 'somebody', detail: { passkey: eve.passkey.id } })
    place.shift += 61_000
    await eve.signIn()
    expect((await events('sign-in refused'))[1]).toMatchObject({ detail: { more: 5 } })
  })

  test('nor is their number lost when nobody tries again, and the provider stops', async () => {
    const serving = await place.serve()
    const eve = new ConsoleUser(serving)
    for (let i = 0; i < 13; i++) await eve.signIn()
    await serving.stop()
    expect((await events('sign-in refused'))[0]).toMatchObject({ detail: { more: 3 } })
  })

  test('a wrong link, and a wrong signature for an approval, are recorded', async () => {
    const eve = new ConsoleUser(place.serving)
    const link = `${place.serving.origin}/console/link#nothing`
    expect((await eve.register(link, 'Eve')).body).toMatchObject({ error: { code: 'link_used' } })
    expect(await events('passkey link refused')).toMatchObject([
      { by: 'somebody', detail: { link_sha256: createHash('sha256').update('nothing').digest('hex') } },
    ])
    const agent = await place.agent('asks', [{ name: 'filesystem:delete-step-up' }])
    const sent = await send(agent, '/filesystem/file/delete', { path: join(place.files, 'x') })
    const id = String(sent.error['approval'])
    const heidi = await person('Heidi')
    const wrong = await heidi.answer('sign-in/options')
    expect((await heidi.ask(`approvals/${id}/approve`, wrong)).body).toMatchObject({
      error: { code: 'too_late' },
    })
    expect(await events('approval signature refused')).toMatchObject([
      { by: 'passkey Heidi', detail: { approval: id, passkey: heidi.passkey.id } },
    ])
  })

  test('the attack: what a passkey signed for an approval is for the page that asked, and can be checked again', async () => {
    const agent = await place.agent('asks-two', [{ name: 'filesystem:delete-step-up' }])
    const sent = await send(agent, '/filesystem/file/delete', { path: join(place.files, 'x') })
    const id = String(sent.error['approval'])
    const quinn = await person('Quinn')
    const rosa = await person('Rosa')
    const refused = { error: { code: 'too_late' } }
    // Rosa asks, and has Quinn's passkey sign it.
    const { ceremony, options } = (await rosa.ask(`approvals/${id}/question`, {})).body
    const got = { ceremony, response: quinn.passkey.sign(options, place.serving.origin) }
    expect((await quinn.ask(`approvals/${id}/approve`, got)).body).toMatchObject(refused)
    expect((await quinn.ask('sign-in', got)).body).toMatchObject(refused)
    // What Quinn's own page asked is nothing in Rosa's.
    const own = await quinn.answer(`approvals/${id}/question`)
    expect((await rosa.ask(`approvals/${id}/approve`, own)).body).toMatchObject(refused)
    expect((await quinn.ask(`approvals/${id}/approve`, own)).status).toBe(200)
    const detail = (await events('approval given'))[0]!['detail'] as Record<string, string>
    const said = ['ceremony', 'approval', 'page_key', 'binding', 'shown_sha256'].map((name) => detail[name])
    const text = ['cordon passkey 1', 'step up', ...said].join('\n')
    const client = JSON.parse(Buffer.from(detail['client_data']!, 'base64url').toString())
    expect(client.challenge).toBe(createHash('sha256').update(text).digest('base64url'))
    expect(detail['page_key']).toBe(quinn.key.shown)
  })

  test('the attack: what was signed in a frame of another page makes no passkey, signs nobody in and approves nothing', async () => {
    const agent = await place.agent('asks-three', [{ name: 'filesystem:delete-step-up' }])
    const sent = await send(agent, '/filesystem/file/delete', { path: join(place.files, 'x') })
    const id = String(sent.error['approval'])
    const sam = await person('Sam')
    for (const framed of [
      { crossOrigin: true },
      { topOrigin: 'http://evil.example' },
      { crossOrigin: 'x' },
    ]) {
      const refused = { status: 403, body: { error: { code: 'passkey_refused' } } }
      const link = await admin.addPasskey(place.serving.origin)
      expect(await new ConsoleUser(place.serving).register(link, 'Framed', framed)).toMatchObject(refused)
      const other = new ConsoleUser(place.serving, sam.passkey)
      const signIn = await other.answer('sign-in/options', framed)
      expect(await other.ask('sign-in', signIn)).toMatchObject(refused)
      const approval = await sam.answer(`approvals/${id}/question`, framed)
      expect(await sam.ask(`approvals/${id}/approve`, approval)).toMatchObject(refused)
    }
    const silent = await sam.answer('sign-in/options', { crossOrigin: undefined }) // as browsers of before
    expect((await sam.ask('sign-in', silent)).status).toBe(200)
    expect((await sam.approve(id)).status).toBe(200)
  })

  test('an answer that was used does not count again after the clock was set back', async () => {
    const carol = await person('Carol')
    const answer = await carol.answer('sign-in/options')
    expect((await carol.ask('sign-in', answer)).status).toBe(200)
    const now = place.shift
    place.shift += 6 * 60_000
    expect((await new ConsoleUser(place.serving, carol.passkey).signIn()).status).toBe(200) // forgets what is old
    place.shift = now
    const again = Object.assign(new ConsoleUser(place.serving), { key: carol.key })
    expect((await again.ask('sign-in', answer)).body).toMatchObject({ error: { code: 'too_late' } })
    place.shift += 6 * 60_000 // the clock is never behind what was forgotten
  })
})

describe('SPEC 7.7 sessions', () => {
  const MINUTE = 60_000

  test('what the page asks by itself keeps nobody signed in; what a person does, does', async () => {
    const dave = await person('Dave')
    for (let i = 0; i < 3; i++) {
      place.shift += 14 * MINUTE
      expect((await dave.ask('overview', undefined, { 'x-cordon-present': '1' })).status).toBe(200)
    }
    for (let i = 0; i < 2; i++) {
      place.shift += 14 * MINUTE
      expect((await dave.ask('overview')).status).toBe(200)
    }
    place.shift += 14 * MINUTE
    expect((await dave.ask('overview')).body).toMatchObject({ error: { code: 'signed_out' } })
  })

  test('a second provider of the host has a cookie of its own', async () => {
    const erin = await person('Erin')
    const other = await TestPlace.start()
    expect(erin.cookie).toMatch(`cordon-${new URL(place.serving.origin).port}=`)
    expect(new URL(other.serving.origin).port).not.toBe(new URL(place.serving.origin).port)
    await other.close()
  })

  test('whoever comes with the cookie of before, when it is too late for that, ends the session for both', async () => {
    const frank = await person('Frank')
    const thief = new ConsoleUser(place.serving)
    ;[thief.cookie, thief.key] = [frank.cookie, frank.key]
    place.shift += 11 * MINUTE
    expect((await thief.ask('overview', undefined, { 'x-cordon-present': '1' })).status).toBe(200)
    expect(thief.cookie).not.toBe(frank.cookie)
    place.shift += MINUTE
    expect((await thief.ask('overview')).status).toBe(200)
    expect((await frank.ask('overview')).status).toBe(401)
    expect((await thief.ask('overview')).status).toBe(401)
    expect(await events('reused session ended')).toMatchObject([
      { by: 'the provider', detail: { name: 'Frank', passkey: frank.passkey.id } },
    ])
  })

  test('an answer with a new cookie that is lost signs nobody out', async () => {
    const gina = await person('Gina')
    const present = { 'x-cordon-present': '1' }
    place.shift += 11 * MINUTE
    const before = gina.cookie
    expect((await gina.ask('overview', undefined, present)).status).toBe(200)
    expect(gina.cookie).not.toBe(before)
    gina.cookie = before // it never came
    for (const wait of [1000, 5 * MINUTE]) {
      place.shift += wait
      expect((await gina.ask('overview', undefined, present)).status).toBe(200)
    }
    expect(gina.cookie).not.toBe(before)
    place.shift += MINUTE
    expect((await gina.ask('overview', undefined, present)).status).toBe(200)
    expect(await events('reused session ended')).toHaveLength(1) // Frank's
  })

  test('the attack: cookies of our name that another port planted, with a longer path or of before, keep nobody out', async () => {
    const https = await place.serve({ origin: 'https://localhost:8443', plain: true })
    for (const [serving, prefix] of [
      [place.serving, ''],
      [https, '__Secure-'],
    ] as const) {
      const mia = new ConsoleUser(serving)
      expect(await mia.register(await admin.addPasskey(serving.origin), `Mia${prefix}`)).toMatchObject({
        status: 200,
      })
      const name = `${prefix}cordon-${new URL(serving.origin).port}`
      expect(mia.cookie).toMatch(new RegExp(`^${name}=`))
      const sessions = (): Promise<unknown[]> =>
        place.database.queries.selectFrom('sessions').selectAll().orderBy('hash').execute()
      const before = await sessions()
      const own = mia.cookie
      mia.cookie = `${name}=planted; ${own}` // the longer path comes first
      expect((await mia.ask('overview')).status).toBe(200)
      mia.cookie = `${name}=planted`
      expect((await mia.ask('overview')).status).toBe(401)
      expect(await sessions()).toEqual(before)
      mia.key = new PageKey(serving.origin)
      expect((await mia.signIn()).status).toBe(200)
      mia.cookie = `${name}=planted; ${own}; ${mia.cookie}`
      expect((await mia.ask('overview')).status).toBe(200)
    }
    await https.stop()
  })

  test('the attack: a signature is for one process, method, path, query and body, and of the key of the session', async () => {
    const ivan = await person('Ivan')
    const { key, processes } = ivan
    const codeOf = async (
      target: string,
      body: string | undefined,
      headers: Record<string, string>,
    ): Promise<unknown> => {
      const told = await ivan.send(target, body, headers)
      return told.body.error?.code ?? told.status
    }
    const [list, all] = ['/console/api/audit?kind=event', '/console/api/audit']
    const [first, second] = ['/console/api/apps/none', '/console/api/apps/other']
    const [on, off] = ['{"enabled":true}', '{"enabled":false}']
    expect(await codeOf(list, undefined, key.headers(processes, 'GET', list))).toBe(200)
    expect(await codeOf(first, on, key.headers(processes, 'POST', first, on))).toBe('not_found') // let in
    for (const [target, body, headers] of [
      [all, undefined, key.headers(processes, 'GET', list)],
      [list, undefined, key.headers(processes, 'POST', list)],
      [second, on, key.headers(processes, 'POST', first, on)],
      [first, off, key.headers(processes, 'POST', first, on)],
      [list, undefined, new PageKey(place.serving.origin).headers(processes, 'GET', list)],
      [
        list,
        undefined,
        { ...new PageKey(place.serving.origin).headers(processes, 'GET', list), 'x-cordon-key': key.shown },
      ],
      [list, undefined, { ...key.headers(processes, 'GET', list), 'x-cordon-processes': `${processes} x` }],
      [list, undefined, { ...key.headers(processes, 'GET', list), 'x-cordon-signature': '' }],
      [list, undefined, { ...key.headers(processes, 'GET', list), 'x-cordon-key': 'BAAA' }],
      [list, undefined, {}],
    ] as const)
      expect([target, await codeOf(target, body, headers)]).toEqual([target, 'signed_out'])
    for (const other of ['', 'x', `x${processes}`])
      expect(await codeOf(list, undefined, key.headers(other, 'GET', list))).toBe('other_process')
    expect((await ivan.ask('overview')).status).toBe(200) // and nobody ended it
  })

  test('the attack: what a page signed counts once, and who sends it again neither renews nor ends the session', async () => {
    const olga = await person('Olga')
    const { key, processes } = olga
    const sessions = (): Promise<unknown[]> =>
      place.database.queries.selectFrom('sessions').selectAll().where('key', '=', key.shown).execute()
    const [list, app, on] = ['/console/api/audit', '/console/api/apps/none', '{"enabled":true}']
    const recorded = [
      [list, undefined, key.headers(processes, 'GET', list)],
      ['/console/api/session', undefined, key.headers(processes, 'GET', '/console/api/session')],
      [app, on, key.headers(processes, 'POST', app, on)],
    ] as const
    for (const [target, body, headers] of recorded)
      expect((await olga.send(target, body, headers)).body.error?.code).not.toBe('signed_out')
    place.shift += 11 * MINUTE // a person who did something would get a new cookie
    const before = await sessions()
    const name = olga.cookie.split('=', 1)[0]!
    for (const [target, body, headers] of recorded) {
      const again = await olga.send(target, body, headers)
      expect([target, again.status, again.body.error?.code]).toEqual([target, 409, 'request_replayed'])
      const present = await olga.send(target, body, { ...headers, 'x-cordon-present': '1' })
      expect(present.body.error?.code ?? present.body.name).toBe(target.endsWith('n') ? null : 'signed_out')
      const guessed = await olga.send(target, body, { ...headers, cookie: `${name}=x` })
      expect(guessed.body.error?.code ?? guessed.body.name).toBe(target.endsWith('n') ? null : 'signed_out')
      const renamed = await olga.send(target, body, { ...headers, 'x-cordon-nonce': 'another-nonce-of-his' })
      expect(renamed.body.error?.code ?? renamed.body.name).toBe(target.endsWith('n') ? null : 'signed_out')
    }
    expect(await sessions()).toEqual(before)
    // Nor does one that is only on its way become somebody's who is there.
    const byItself = { ...key.headers(processes, 'GET', list), 'x-cordon-present': '1' }
    expect((await olga.send(list, undefined, byItself)).status).toBe(401)
    // Of many at once one is answered.
    const signed = key.headers(processes, 'GET', list)
    const all = await Promise.all(Array.from({ length: 10 }, () => olga.send(list, undefined, signed)))
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(409)])
    expect((await olga.ask('overview')).status).toBe(200)
  })

  test('the attack: what was signed at one origin is nothing to a provider of the same database at another one', async () => {
    const pia = await person('Pia')
    const other = await place.serve()
    const there = Object.assign(new ConsoleUser(other), { key: pia.key })
    const [hers, his] = [place.serving.origin, other.origin]
    there.cookie = pia.cookie.replace(new URL(hers).port, new URL(his).port)
    const [target, on] = ['/console/api/apps/none', '{"enabled":true}']
    await there.send('/console/api/session', undefined, {}) // so that he knows its process
    const refusedAs = async (): Promise<unknown> =>
      (await there.send(target, on, pia.key.headers(there.processes, 'POST', target, on))).body.error.code
    expect(await refusedAs()).toBe('signed_out')
    pia.key.origin = his // which no browser does
    expect(await refusedAs()).toBe('not_found') // let in: it was the origin
    await other.stop()
  })

  test('the attack: whoever knows the public key alone ends no session, and begins none for it', async () => {
    const judy = await person('Judy')
    const eve = await person('Eve')
    const { shown } = judy.key
    eve.processes = judy.processes
    const target = '/console/api/overview'
    const forged = { ...eve.key.headers(eve.processes, 'GET', target), 'x-cordon-key': shown }
    expect((await eve.send(target, undefined, forged)).body).toMatchObject({ error: { code: 'signed_out' } })
    expect(await eve.ask('sign-in/options', {}, { 'x-cordon-key': shown })).toMatchObject({
      status: 400,
      body: { error: { message: 'this request is not signed by the page' } },
    })
    expect((await judy.ask('overview')).status).toBe(200)
  })

  test('the attack: what a passkey signed for one page does not sign in another one', async () => {
    const kim = await person('Kim')
    const answer = await kim.answer('sign-in/options')
    const eve = new ConsoleUser(place.serving)
    expect((await eve.ask('sign-in', answer)).body).toMatchObject({ error: { code: 'too_late' } })
    expect((await kim.ask('sign-in', answer)).status).toBe(200)
  })

  test('who signs in with a passkey that was removed is told so, and what to do', async () => {
    const mona = await person('Mona')
    await admin.removePasskey('Mona')
    expect((await mona.signIn()).body.error.message).toBe(
      'this provider does not know that passkey: it was removed on the host, or made for another provider; `cordon provider passkey add` there prints a link for a new one',
    )
  })

  test('several providers of one database, asked in turn, are one to who has heard of them', async () => {
    const liz = await person('Liz')
    const other = await place.serve({ origin: place.serving.origin })
    const there = Object.assign(new ConsoleUser(other), { key: liz.key, cookie: liz.cookie })
    expect((await there.ask('overview')).status).toBe(200)
    const both = `${liz.processes} ${there.processes}`
    expect(new Set(both.split(' ')).size).toBe(2)
    const target = '/console/api/overview'
    for (const user of [liz, there, liz, there])
      expect((await user.send(target, undefined, liz.key.headers(both, 'GET', target))).status).toBe(200)
    await other.stop()
  })

  test('a record is found by its hash', async () => {
    const grace = await person('Grace')
    const { hash } = await place.database.queries
      .selectFrom('audit_head')
      .select('hash')
      .executeTakeFirstOrThrow()
    const { body } = await grace.ask(`audit?text=${hash}`)
    expect((body as { records: { hash: string }[] }).records.map((each) => each.hash)).toEqual([hash])
  })
})

test('SPEC 7.7 what is not there, or waits for a person, is no denial on the overview', async () => {
  const agent = await place.agent('looks', [
    { name: 'filesystem:subdir-read', prefix: place.files as never },
    { name: 'filesystem:delete-step-up' },
  ])
  const path = join(place.files, 'looked-at')
  writeFileSync(path, 'x')
  const codes: string[] = []
  for (const [command, at] of [
    ['/filesystem/file/read', path],
    ['/filesystem/file/read', join(place.files, 'nothing')],
    ['/filesystem/file/delete', join(place.files, 'nothing')], // refused, so that nobody is asked in vain
    ['/filesystem/file/delete', path],
    ['/filesystem/file/write', path],
  ] as const)
    codes.push(
      (await send(agent, command, { path: at, ...(command.endsWith('write') ? content('') : {}) })).code,
    )
  expect(codes).toEqual(['ok', 'not_found', 'not_found', 'step_up_required', 'policy_denied'])
  const nina = await person('Nina')
  const { active } = (await nina.ask('overview')).body
  expect((active as { app: string }[]).find(({ app }) => app === 'looks')).toMatchObject({
    requests: 5,
    refused: 1,
  })
})

test('SPEC 7.2 not ready while nothing can be recorded', async () => {
  const { queries } = place.database
  const ready = async (): Promise<number> => (await fetch(`${place.serving.url}/readyz`)).status
  await expect.poll(ready).toBe(200)
  await sql`create trigger full_disk before update on audit_head begin select raise(abort, 'disk full'); end`.execute(
    queries,
  )
  await expect.poll(ready).toBe(503)
  await sql`drop trigger full_disk`.execute(queries)
  await expect.poll(ready).toBe(200)
})

test('SPEC 7.7 what the API does not have is not the page, and nothing is framed or sniffed', async () => {
  const headersOf = async (path: string): Promise<(string | null)[]> => {
    const { headers } = await fetch(`${place.serving.url}${path}`, { redirect: 'manual' })
    return [headers.get('x-frame-options'), headers.get('x-content-type-options')]
  }
  const anybody = new ConsoleUser(place.serving)
  for (const path of ['sign-in', 'register'])
    expect(await anybody.ask(path)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
  for (const path of [
    '/',
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/nothing',
    '/approvals/none',
    '/console/assets/none',
  ])
    expect([path, ...(await headersOf(path))]).toEqual([path, 'DENY', 'nosniff'])
})

test('SPEC 7.7 an approval is not told to a page that a name led here', async () => {
  const ask = (host: string): Promise<string> =>
    new Promise((done) => {
      const socket = connect(Number(new URL(place.serving.url).port), '127.0.0.1')
      let said = ''
      socket.on('data', (piece) => (said += piece.toString()))
      socket.on('close', () => done(said.split(' ')[1]!))
      socket.end(`GET /approvals/none HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    })
  const { port } = new URL(place.serving.url)
  expect(await ask(`evil.example:${port}`)).toBe('421')
  for (const host of [`127.0.0.1:${port}`, `[::1]:${port}`, `localhost:${port}`])
    expect(await ask(host)).toBe('404')
})
