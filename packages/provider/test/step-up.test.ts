import { existsSync, mkdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Admin } from '../src/admin.ts'
import { type Serving } from '../src/http/serve.ts'
import { type DatabaseChoice } from '../src/storage/database.ts'
import { delegateOn } from '../src/tokens/delegation.ts'
import { SigningKey } from '../src/tokens/key.ts'
import { type Agent, content, send, type Sent, TestPlace } from './place.ts'
import { type Postgres, startPostgres } from './postgres.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const ENGINES: readonly [string, () => DatabaseChoice | undefined][] = [
  ['embedded', () => undefined],
  ['postgres', () => ({ url: postgres.database('step_up') })],
]

describe.each(ENGINES)('SPEC 7.5 on %s', (_, choice) => {
  let place: TestPlace
  let other: Serving
  let agent: Agent
  let admin: Admin
  let made = 0

  beforeAll(async () => {
    place = await TestPlace.start(choice())
    other = await place.serve()
    agent = await place.agent('careful', [
      { name: 'filesystem:write-subdir', prefix: place.files as never },
      { name: 'filesystem:subdir-read', prefix: place.files as never },
      { name: 'filesystem:delete-step-up' },
    ])
    admin = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test', clock: place.clock })
  })
  afterAll(async () => {
    await admin.close()
    await other.stop()
    await place.close()
  })

  const file = (text = 'x'): string => {
    const path = join(place.files, `f${made++}`)
    writeFileSync(path, text)
    return path
  }
  const remove = (path: string, more: object = {}, url?: string): Promise<Sent> =>
    send(agent, '/filesystem/file/delete', { path, ...more }, url === undefined ? {} : { url })
  const asked = async (path: string): Promise<string> => {
    const { status, code, error } = await remove(path)
    expect({ status, code }).toEqual({ status: 428, code: 'step_up_required' })
    return String(error['approval'])
  }

  test('a request that needs a person opens an approval; signed for, it passes once', async () => {
    const path = file('content')
    const refused = await remove(path)
    const id = String(refused.error['approval'])
    expect(refused).toMatchObject({
      status: 428,
      code: 'step_up_required',
      message: `a person must approve this: at ${place.serving.origin}/approvals/${id}, or by \`cordon provider approve ${id}\` on the host; then ask again`,
    })
    expect(refused.error['url']).toBe(`${place.serving.origin}/approvals/${id}`)
    const shown = (await (await fetch(`${place.serving.url}/approvals/${id}`)).json()) as object
    // Not what it is about: who asked may not be allowed to read that.
    expect(shown).toEqual({
      id,
      app: 'careful',
      agent: agent.key.did,
      command: '/filesystem/file/delete',
      state: 'open',
      opened_at: expect.any(String),
      expires_at: expect.any(String),
    })
    expect((await admin.approval(id))!.request).toEqual({
      path,
      files: 1,
      directories: 0,
      bytes: 7,
      paths: [path],
    })
    expect(id).toMatch(/^[0-9a-f]+$/) // `cordon provider approve -x` would be an option
    expect(existsSync(path)).toBe(true)
    expect((await remove(path)).error['approval']).toBe(id) // asking again does not ask the person again
    await admin.decide(id, 'approve')
    expect((await remove(path, {}, other.url)).code).toBe('ok') // at whichever provider it arrives
    expect(existsSync(path)).toBe(false)
    writeFileSync(path, 'content')
    expect((await remove(path)).code).toBe('step_up_required')
    expect((await admin.approval(id))?.state).toBe('used')
  })

  test('used by many at once, at two providers: one passes', async () => {
    const path = file()
    const id = await asked(path)
    await admin.decide(id, 'approve')
    const all = await Promise.all(
      Array.from({ length: 12 }, (__, i) => remove(path, {}, i % 2 ? other.url : place.serving.url)),
    )
    expect(all.filter(({ code }) => code === 'ok').length).toBe(1)
    const asks = (await admin.approvals()).filter(
      ({ state, request }) => state === 'open' && request.path === path,
    )
    // Those who came late asked once, together: about the file, or about its being gone.
    expect(new Set(asks.map(({ binding }) => binding)).size).toBe(asks.length)
    const rows = await place.database.queries.selectFrom('audit_records').select('body').execute()
    const uses = rows
      .map(({ body }) => JSON.parse(body) as Record<string, unknown>)
      .filter((each) => each['approval'] === id)
    expect(uses.map(({ kind }) => kind)).toEqual(['intent'])
  })

  test('for another path, another content, other arguments or by another agent it counts for nothing', async () => {
    const path = file('one')
    const id = await asked(path)
    await admin.decide(id, 'approve')
    expect((await remove(file('one'))).code).toBe('step_up_required')
    expect((await remove(path, { if_match: content('one').sha256 })).code).toBe('step_up_required')
    const stranger = await place.agent(`stranger${made++}`, [{ name: 'filesystem:delete-step-up' }])
    expect((await send(stranger, '/filesystem/file/delete', { path })).code).toBe('step_up_required')
    writeFileSync(path, 'two')
    expect((await remove(path)).code).toBe('step_up_required')
    expect(existsSync(path)).toBe(true)
    expect((await admin.approval(id))?.state).toBe('approved')
  })

  test('signed for one of an app’s agents, it is not for another one', async () => {
    const path = file()
    const second = SigningKey.generate()
    const [root] = agent.delegations
    const link = delegateOn(agent.key, [root!], {
      audience: second.did,
      prefix: root!.prefix,
      command: '/filesystem',
      expires: Math.floor(place.clock() / 1000) + 60,
    })
    await admin.decide(await asked(path), 'approve')
    const sent = await send(agent, '/filesystem/file/delete', { path }, { key: second, chain: [root!, link] })
    expect(sent.code).toBe('step_up_required')
    expect((await remove(path)).code).toBe('ok')
  })

  test('signed for where a link led, it is not for where it leads now', async () => {
    const linker = await place.agent(
      `linker${made++}`,
      `permit (principal, action, resource);
       forbid (principal, action == Action::"/filesystem/file/write", resource) unless { context has cosigner && context.cosigner };`,
    )
    const [first, second] = [file('same'), file('same')]
    const path = join(place.files, `link${made++}`)
    symlinkSync(first, path)
    const ask = (): Promise<Sent> =>
      send(linker, '/filesystem/file/write', { path, ...content('new') }, { body: 'new' })
    await admin.decide(String((await ask()).error['approval']), 'approve')
    unlinkSync(path)
    symlinkSync(second, path)
    expect((await ask()).code).toBe('step_up_required')
    expect(readFileSync(second, 'utf8')).toBe('same')
  })

  test('no is remembered', async () => {
    const path = file()
    const id = await asked(path)
    await admin.decide(id, 'deny')
    const { status, code, message } = await remove(path)
    expect({ status, code, message }).toEqual({
      status: 403,
      code: 'step_up_denied',
      message: 'a person said no to exactly this request',
    })
    await expect(admin.decide(id, 'approve')).rejects.toThrow(`the approval ${id} is denied already`)
  })

  test('it expires, open or signed', async () => {
    const [open, signed] = [file(), file()]
    const ids = [await asked(open), await asked(signed)]
    await admin.decide(ids[1]!, 'approve')
    place.shift = 61_000
    try {
      await expect(admin.decide(ids[0]!, 'approve')).rejects.toThrow(
        `the approval ${ids[0]} is expired already`,
      )
      const again = await remove(signed)
      expect(again.code).toBe('step_up_required')
      expect(again.error['approval']).not.toBe(ids[1])
    } finally {
      place.shift = 0
    }
  })

  test('a row that was only written to the database is no signature', async () => {
    const path = file()
    const id = await asked(path)
    const forge = async (proof: string | null): Promise<string> => {
      await place.database.queries
        .updateTable('approvals')
        .set({ state: 'approved', proof })
        .where('id', '=', id)
        .execute()
      return (await remove(path)).code
    }
    expect(await forge(null)).toBe('step_up_denied')
    const stranger = SigningKey.generate()
    const { binding } = (await admin.approval(id))!
    const text = Buffer.from(`cordon cosign 1\n${id}\n${binding}\n`)
    const signature = Buffer.from(stranger.sign(text)).toString('base64url')
    expect(await forge(`${stranger.did} ${signature}`)).toBe('step_up_denied')
    expect(existsSync(path)).toBe(true)
  })

  test('the blast radius of a recursive delete is everything below, and a new file in it is another request', async () => {
    const dir = join(place.files, `d${made++}`)
    mkdirSync(join(dir, 'sub'), { recursive: true })
    writeFileSync(join(dir, 'a'), '12345')
    writeFileSync(join(dir, 'sub/b'), '123')
    const ask = (more: object = {}): Promise<Sent> =>
      send(agent, '/filesystem/dir/delete_recursive', { path: dir, ...more })
    const dry = await ask({ dry_run: true })
    expect(JSON.parse(dry.body.toString())).toMatchObject({
      files: 2,
      directories: 2,
      bytes: 8,
      dry_run: true,
    })
    const id = String((await ask()).error['approval'])
    expect((await admin.approval(id))?.request).toMatchObject({ files: 2, directories: 2, bytes: 8 })
    await admin.decide(id, 'approve')
    writeFileSync(join(dir, 'sub/late'), 'x')
    expect((await ask()).code).toBe('step_up_required')
    expect(existsSync(join(dir, 'sub/late'))).toBe(true)
  })

  test('what is too many to name is counted, directories too; an empty directory has no bytes', async () => {
    const dir = join(place.files, `d${made++}`)
    const below = join(dir, ...Array.from({ length: 17 }, () => 'x'.repeat(200))) // paths together too long for a page
    mkdirSync(below, { recursive: true })
    for (let i = 0; i < 320; i++) mkdirSync(join(below, String(i).padStart(200, 'y')))
    writeFileSync(join(dir, 'f'), '123')
    const idOf = (sent: Sent): string => String(sent.error['approval'])
    const id = idOf(await send(agent, '/filesystem/dir/delete_recursive', { path: dir }))
    const { files, directories, bytes, paths, pathsLeftOut } = (await admin.approval(id))!.request
    expect({ files, directories, bytes }).toEqual({ files: 1, directories: 1 + 17 + 320, bytes: 3 })
    expect(paths.length).toBeLessThan(files + directories - 1)
    expect(paths.length + (pathsLeftOut ?? 0)).toBe(files + directories - 1)
    const one = idOf(await send(agent, '/filesystem/dir/delete', { path: join(dir, 'x'.repeat(200)) }))
    expect((await admin.approval(one))!.request).toMatchObject({ files: 0, directories: 1, bytes: 0 })
  })

  test('one app cannot flood a person', async () => {
    const flood = await place.agent(`flood${made++}`, [{ name: 'filesystem:delete-step-up' }])
    const codes = []
    for (let i = 0; i < 18; i++)
      codes.push((await send(flood, '/filesystem/file/delete', { path: file() })).code)
    expect(codes.slice(0, 16)).toEqual(Array.from({ length: 16 }, () => 'step_up_required'))
    expect(codes.slice(16)).toEqual(['too_many_approvals', 'too_many_approvals'])
  })
})
