import { hash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Admin } from '../src/admin.ts'
import { findApp } from '../src/apps/app.ts'
import { mintFor } from '../src/apps/delegations.ts'
import { readLast } from '../src/audit/read.ts'
import { openAmbientProviderKey } from '../src/keys/provider-key.ts'
import { Places } from '../src/pipeline/places.ts'
import { parsePrefix } from '../src/tokens/prefix.ts'
import { type Agent, ANYTHING, content, send, TestPlace } from './place.ts'

let place: TestPlace
let agent: Agent

beforeAll(async () => {
  place = await TestPlace.start()
  agent = await place.agent('told', ANYTHING)
})
afterAll(() => place.close())

const at = (name: string): string => join(place.files, name)

test('a wrong If-Match tells the hash to who may read, and to nobody else', async () => {
  writeFileSync(at('pin'), '1234')
  const writer = await place.agent(
    'writer',
    `permit (principal, action, resource) unless { action == Action::"/filesystem/file/read" };`,
  )
  const wrong = { path: at('pin'), if_match: hash('sha256', 'guess') }
  const edits = [{ old: '1', new: '2' }]
  for (const [command, args, body] of [
    ['/filesystem/file/write', { ...wrong, ...content('x') }, 'x'],
    ['/filesystem/file/delete', wrong, undefined],
    ['/filesystem/file/edit', { ...wrong, edits }, undefined],
  ] as const) {
    const sent = body === undefined ? {} : { body }
    const message = 'the content is not what it was: read it again'
    expect((await send(writer, command, args, sent)).error).toEqual({ code: 'changed', message })
    expect((await send(agent, command, args, sent)).error).toEqual({
      code: 'changed',
      message,
      sha256: hash('sha256', '1234'),
    })
  }
})

test('a refused move is recorded with where it would have gone', async () => {
  const reader = await place.agent('reader', [{ name: 'filesystem:read-only' }])
  const asked = { path: at('from'), destination: at('to') }
  expect((await send(reader, '/filesystem/file/move', asked)).code).toBe('policy_denied')
  await expect
    .poll(async () => {
      const [last] = await readLast(place.database.queries, 1, { app: 'reader' })
      return last && (JSON.parse(last.body) as object)
    })
    .toMatchObject({ kind: 'refused', ...asked, code: 'policy_denied' })
})

test('of move and copy an error says which of the two paths it is about', async () => {
  for (const name of ['a', 'b']) writeFileSync(at(name), name)
  mkdirSync(at('dir'))
  for (const verb of ['move', 'copy'] as const) {
    const ask = async (destination: string): Promise<string> =>
      (await send(agent, `/filesystem/file/${verb}`, { path: at('a'), destination })).message
    expect(await ask(at('b'))).toBe(
      `cannot ${verb} ${at('a')}: ${at('b')} exists already, and is replaced only with \`overwrite\``,
    )
    expect(await ask(at('none/b'))).toBe(`cannot ${verb} ${at('a')}: there is no directory ${at('none')}`)
  }
})

test('of a move or copy onto what is no file, the destination is told, and no flag that would not help', async () => {
  const socket = createServer().listen(at('socket'))
  await once(socket, 'listening')
  writeFileSync(at('a'), 'a')
  mkdirSync(at('taken'))
  try {
    for (const verb of ['move', 'copy'] as const)
      for (const [name, kind] of [
        ['socket', 'socket'],
        ['taken', 'directory'],
      ] as const)
        for (const [overwrite, code] of [
          [false, 'already_exists'],
          [true, 'wrong_kind'],
        ] as const) {
          const args = { path: at('a'), destination: at(name), overwrite }
          const told = await send(agent, `/filesystem/file/${verb}`, args)
          expect([told.status, told.code, told.message, told.error['path']]).toEqual([
            409,
            code,
            `cannot ${verb} ${at('a')}: ${at(name)} exists already, and is a ${kind}: only a file is replaced`,
            at(name),
          ])
        }
  } finally {
    socket.close()
  }
})

test('a name that no file can have is a bad request, and not out of scope', async () => {
  const path = at('n'.repeat(256))
  const told = await send(agent, '/filesystem/file/read', { path })
  expect([told.status, told.code]).toEqual([400, 'bad_request'])
  expect(told.message).toMatch(/: no file can have this name \(a component is too long\)$/)
})

/** For what root may do anyway. */
function asOrdinaryUser<T>(act: () => T): T {
  if (process.geteuid?.() !== 0) return act()
  process.seteuid!(65534)
  try {
    return act()
  } finally {
    process.seteuid!(0)
  }
}

test('errors.md: what the provider’s own user may not look at is not_permitted, at a request and at the mint', async () => {
  const top = realpathSync(mkdtempSync('/tmp/cordon-closed-')) // anybody gets as far as this
  chmodSync(top, 0o755)
  for (const name of ['own', 'files', 'files/closed', 'files/closed/inner'])
    mkdirSync(join(top, name), { mode: 0o755 })
  chmodSync(join(top, 'files/closed'), 0)
  const places = new Places(join(top, 'own'))
  const visit = places.visit()
  const find = (prefix: string, path: string): unknown => {
    try {
      return visit.find(parsePrefix(join(top, prefix)), join(top, path), 'object')
    } catch (error) {
      return error
    }
  }
  try {
    const inner = 'files/closed/inner'
    for (const prefix of ['files', inner])
      expect(asOrdinaryUser(() => find(prefix, `${inner}/f`))).toMatchObject({
        code: 'not_permitted',
        status: 403,
        message: `${join(top, prefix === inner ? inner : `${inner}/f`)} lies where the provider’s own user may not look`,
      })
    const minted = (prefix: string): Promise<unknown> =>
      asOrdinaryUser(() => mintFor(place.database, key, app, { prefix: join(top, prefix) }, place.clock()))
    const key = openAmbientProviderKey(place.dataDir)
    const app = await findApp(place.database, 'told')
    await expect(minted(inner)).rejects.toThrow(
      `${join(top, inner)} cannot be looked at: this user, who serves it, has no permission`,
    )
    await expect(minted('files/none')).rejects.toThrow(`${join(top, 'files/none')} does not exist`)
  } finally {
    visit.end()
    places.close()
    chmodSync(join(top, 'files/closed'), 0o755)
    rmSync(top, { recursive: true })
  }
})

test('nothing of the provider’s own directory is minted', async () => {
  const admin = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test' })
  try {
    mkdirSync(join(place.dataDir, 'agents'), { recursive: true, mode: 0o700 })
    for (const prefix of [place.dataDir, join(place.dataDir, 'agents')])
      await expect(admin.mint('told', { prefix })).rejects.toThrow(
        `${prefix} is the provider’s own directory, or in it: nothing of it is served`,
      )
    expect((await admin.delegations('told')).map(({ prefix }) => prefix)).toEqual([place.files])
  } finally {
    await admin.close()
  }
})

test('arguments that do not fit are told in words', async () => {
  const ask = async (command: Parameters<typeof send>[1], args: object): Promise<string> =>
    (await send(agent, command, { ...args })).message
  const path = at('a')
  expect(await ask('/filesystem/file/read', {})).toBe(
    'the arguments of /filesystem/file/read: path is missing',
  )
  expect(await ask('/filesystem/file/read', { path: '', start: -1, length: 'all', if_match: 'x' })).toBe(
    'the arguments of /filesystem/file/read: path must have at least 1 character; start must be at least 0; ' +
      'length must be a whole number; if_match must be a SHA-256 in lower-case hexadecimal',
  )
  expect(await ask('/filesystem/dir/list', { path, cosigner: true, 'a\nb': 1 })).toBe(
    'the arguments of /filesystem/dir/list: there is no argument "a\\nb", cosigner',
  )
  expect(await ask('/filesystem/file/edit', { path, edits: [{ old: 1, new: 'x', more: 1 }] })).toBe(
    'the arguments of /filesystem/file/edit: edits[0].old must be a text; there is no argument edits.0.more',
  )
  expect(await ask('/filesystem/file/edit', { path, edits: [] })).toBe(
    'the arguments of /filesystem/file/edit: edits must have at least 1 entry',
  )
})

test('requests that waited for a person are forgotten a month later', async () => {
  const stepping = await place.agent(
    'stepping',
    'permit (principal, action, resource) when { context has cosigner && context.cosigner };',
  )
  const count = async (): Promise<number> =>
    (
      await place.database.queries
        .selectFrom('approvals')
        .select('id')
        .where('app', '=', 'stepping')
        .execute()
    ).length
  const ask = async (name: string): Promise<void> => {
    writeFileSync(at(name), name)
    const { code } = await send(stepping, '/filesystem/file/delete', { path: at(name) })
    expect(code).toBe('step_up_required')
  }
  const day = 24 * 3_600_000
  await ask('one')
  await ask('two')
  expect(await count()).toBe(2)
  await place.database.queries
    .updateTable('approvals')
    .set((row) => ({ expires_at: row('expires_at', '-', 29 * day) }))
    .where('app', '=', 'stepping')
    .execute()
  await ask('three')
  expect(await count()).toBe(3)
  await place.database.queries
    .updateTable('approvals')
    .set((row) => ({ expires_at: row('expires_at', '-', 2 * day) }))
    .where('app', '=', 'stepping')
    .execute()
  await ask('four')
  expect(await count()).toBe(2) // three, which is two days old, and four
})
