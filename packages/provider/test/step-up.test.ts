import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { type CompiledQuery, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Admin } from '../src/admin.ts'
import { AuditLog } from '../src/audit/log.ts'
import type { Command } from '../src/commands.ts'
import { type Serving } from '../src/http/serve.ts'
import { closeWhatExpired } from '../src/provider.ts'
import { listSummaries, requireApproval } from '../src/step-up/approvals.ts'
import type { Database, DatabaseChoice } from '../src/storage/database.ts'
import { delegateOn } from '../src/tokens/delegation.ts'
import { SigningKey } from '../src/tokens/key.ts'
import { ConsoleUser } from './passkey.ts'
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
      kinds: 'f',
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
      .filter((each) => each['approval'] === id && each['kind'] === 'intent')
    expect(uses.length).toBe(1)
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
      message: 'a person said no to this; it holds for an hour',
    })
    await expect(admin.decide(id, 'approve')).rejects.toThrow(`the approval ${id} is denied already`)
  })

  test('no is for what it would come to, however it is spelled and by whichever key of the app', async () => {
    const careful = await place.agent(`careful${made++}`, STEP_UP)
    const second = SigningKey.generate()
    const [root] = careful.delegations
    const link = delegateOn(careful.key, [root!], {
      audience: second.did,
      prefix: root!.prefix,
      command: '/filesystem',
      expires: Math.floor(place.clock() / 1000) + 60,
    })
    const [path, text] = [file('x'), file('x')]
    const dir = join(place.files, `d${made++}`)
    mkdirSync(dir)
    const to = join(place.files, `free${made++}`)
    const denied: readonly [Command, object, readonly object[]][] = [
      ['/filesystem/file/move', { path, destination: to }, [{ overwrite: false }, { overwrite: true }]],
      ['/filesystem/file/delete', { path }, [{ if_match: content('x').sha256 }]],
      ['/filesystem/dir/delete_recursive', { path: dir }, [{ dry_run: false }]],
      [
        '/filesystem/file/edit',
        { path: text, edits: [{ old: 'x', new: 'y' }] },
        [
          { edits: [{ old: 'x', new: 'y', all: true }] },
          {
            edits: [
              { old: 'x', new: 'z' },
              { old: 'z', new: 'y' },
            ],
          },
        ],
      ],
    ]
    for (const [command, args, others] of denied) {
      const ask = (more: object = {}): Promise<Sent> => send(careful, command, { ...args, ...more })
      await admin.decide(String((await ask()).error['approval']), 'deny')
      for (const more of [{}, ...others])
        expect([command, more, (await ask(more)).code]).toEqual([command, more, 'step_up_denied'])
      const byAnother = await send(careful, command, { ...args }, { key: second, chain: [root!, link] })
      expect(byAnother.code).toBe('step_up_denied')
    }
    // Another wish is another question.
    const another = { path: text, edits: [{ old: 'x', new: 'another' }] }
    expect((await send(careful, '/filesystem/file/edit', another)).code).toBe('step_up_required')
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

  test('what has expired stays so, when the clock is set back afterwards', async () => {
    const [open, signed] = [file(), file()]
    const ids = [await asked(open), await asked(signed)]
    await admin.decide(ids[1]!, 'approve')
    const user = new ConsoleUser(place.serving)
    const link = await admin.addPasskey(place.serving.origin)
    await closeWhatExpired(place.database, place.clock() + 601_000) // as every provider does, every few seconds
    await expect(admin.decide(ids[0]!, 'approve')).rejects.toThrow(
      `the approval ${ids[0]} is expired already`,
    )
    expect((await remove(signed)).code).toBe('step_up_required')
    expect((await admin.approval(ids[1]!))!.state).toBe('expired')
    expect((await user.register(link, 'late')).body.error.code).toBe('link_used')
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
    // Nor with a second row, for the key: the audit does not have that anybody gave it.
    const { queries } = place.database
    await queries
      .insertInto('provider_keys')
      .values({ did: stranger.did, created_at: 1, retired_at: null })
      .execute()
    const proof = `${stranger.did} ${signature}`
    expect(await forge(proof)).toBe('step_up_denied')
    // Nor with the record of another approval.
    await admin.decide(await asked(file()), 'approve')
    const { seq } = await queries.selectFrom('audit_head').select('seq').executeTakeFirstOrThrow()
    await queries.updateTable('approvals').set({ record: seq }).where('id', '=', id).execute()
    expect(await forge(proof)).toBe('step_up_denied')
    expect(existsSync(path)).toBe(true)
    await queries.deleteFrom('provider_keys').where('did', '=', stranger.did).execute()
  })

  test('an approval by a passkey that was removed since counts for nothing', async () => {
    const user = new ConsoleUser(place.serving)
    expect((await user.register(await admin.addPasskey(place.serving.origin), 'lost')).status).toBe(200)
    const [path, later] = [file(), file()]
    const [first, second] = [await asked(path), await asked(later)]
    for (const id of [first, second]) expect((await user.approve(id)).status).toBe(200)
    expect((await remove(path)).code).toBe('ok')
    await admin.removePasskey('lost')
    const { code, message } = await remove(later)
    expect([code, message]).toEqual([
      'step_up_denied',
      'the passkey that gave this approval was removed since',
    ])
    expect(existsSync(later)).toBe(true)
  })

  test('what was done with an approval that nobody gave is found in the trail', async () => {
    const path = file()
    const id = await asked(path)
    await admin.decide(id, 'approve')
    expect((await remove(path)).code).toBe('ok')
    expect((await admin.verify()).problems).toEqual([])
    const audit = new AuditLog(place.database)
    const intent = (approval: string): Promise<void> =>
      audit.append({
        kind: 'intent',
        op: approval,
        at: place.clock(),
        app: 'careful',
        agent: agent.key.did,
        command: '/filesystem/file/delete',
        path,
        invocation: 'c',
        approval,
      })
    await intent('0123')
    await intent(id) // a second time
    const told = (which: string): object => ({
      seq: expect.any(Number),
      kind: 'unapproved',
      detail: `it was done with the approval ${which}, which nobody gave, or which was used before`,
    })
    expect((await admin.verify()).problems).toEqual([told('0123'), told(id)])
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
    const one = idOf(
      await send(agent, '/filesystem/dir/delete', { path: join(below, '0'.padStart(200, 'y')) }),
    )
    expect((await admin.approval(one))!.request).toMatchObject({ files: 0, directories: 1, bytes: 0 })
  })

  test('what is too large to hash is bound as the very file, and a link as the very link', async () => {
    const large = file()
    truncateSync(large, 1024 ** 3 + 1) // has no blocks
    utimesSync(large, 1, 1) // whatever is done to it later is not done in the same instant
    await admin.decide(await asked(large), 'approve')
    const fd = openSync(large, 'r+')
    writeSync(fd, 'something else of the same size', 12)
    closeSync(fd)
    expect((await remove(large)).code).toBe('step_up_required')
    const link = join(place.files, `link${made++}`)
    symlinkSync('one', link)
    await admin.decide(await asked(link), 'approve')
    unlinkSync(link)
    symlinkSync('two', link)
    expect((await remove(link)).code).toBe('step_up_required')
  })

  test('that a file is replaced is said, and only then', async () => {
    const careful = await place.agent(`careful${made++}`, STEP_UP)
    const replaces = async (command: Command, args: object, body?: string): Promise<unknown> => {
      const { error } = await send(careful, command, { ...args }, body === undefined ? {} : { body })
      return (await admin.approval(String(error['approval'])))!.request.replaces
    }
    const [path, destination] = [file('a'), file('b')]
    const free = join(place.files, `free${made++}`)
    const write = (to: string): Promise<unknown> =>
      replaces('/filesystem/file/write', { path: to, ...content('new') }, 'new')
    expect(await write(path)).toBe(true)
    expect(await write(free)).toBe(undefined)
    for (const command of ['/filesystem/file/move', '/filesystem/file/copy'] as const) {
      expect(await replaces(command, { path, destination, overwrite: true })).toBe(true)
      expect(await replaces(command, { path, destination: free, overwrite: true })).toBe(undefined)
    }
  })

  test('nobody is asked to sign for what must fail, where the agent may know why', async () => {
    const dir = join(place.files, `d${made++}`)
    mkdirSync(dir)
    writeFileSync(join(dir, 'a'), 'x')
    const [path, missing] = [file('x'), join(place.files, `missing${made++}`)]
    const answer = async (who: Agent, command: Command, args: object): Promise<string> => {
      const body = 'sha256' in args ? { body: 'new' } : {}
      return (await send(who, command, { ...args }, body)).code
    }
    const wrong = content('something else').sha256
    const [withKept, unnameable] = [join(place.files, `d${made++}`), join(place.files, `d${made++}`)]
    for (const each of [withKept, unnameable]) mkdirSync(each)
    writeFileSync(join(withKept, 'kept'), '')
    writeFileSync(Buffer.concat([Buffer.from(`${unnameable}/`), Buffer.from([0x66, 0xff])]), '')
    const asks: readonly [string, Command, object][] = [
      ['not_found', '/filesystem/file/delete', { path: missing }],
      ['wrong_kind', '/filesystem/file/delete', { path: dir }],
      ['changed', '/filesystem/file/delete', { path, if_match: wrong }],
      ['changed', '/filesystem/file/write', { path, ...content('new'), if_match: wrong }],
      ['wrong_kind', '/filesystem/file/write', { path: dir, ...content('new') }],
      ['already_exists', '/filesystem/file/create', { path, ...content('new') }],
      ['not_found', '/filesystem/file/edit', { path: missing, edits: [{ old: 'a', new: 'b' }] }],
      ['already_exists', '/filesystem/file/move', { path, destination: join(dir, 'a') }],
      ['already_exists', '/filesystem/file/copy', { path, destination: join(dir, 'a') }],
      ['wrong_kind', '/filesystem/file/move', { path: dir, destination: missing }],
      ['already_exists', '/filesystem/dir/create', { path: dir }],
      ['not_empty', '/filesystem/dir/delete', { path: dir }],
      ['wrong_kind', '/filesystem/dir/delete_recursive', { path }],
      ['not_found', '/filesystem/file/create', { path: join(missing, 'x'), ...content('new') }],
      ['not_found', '/filesystem/file/write', { path: join(missing, 'x'), ...content('new') }],
      ['wrong_kind', '/filesystem/file/write', { path: join(path, 'x'), ...content('new') }],
      ['not_found', '/filesystem/dir/create', { path: join(missing, 'x') }],
      ['wrong_kind', '/filesystem/dir/create', { path: join(path, 'x', 'y'), parents: true }],
      ['not_found', '/filesystem/file/copy', { path, destination: join(missing, 'x') }],
      ['not_found', '/filesystem/file/move', { path, destination: join(missing, 'x') }],
      ['policy_denied', '/filesystem/dir/delete_recursive', { path: withKept }],
      ['bad_request', '/filesystem/dir/delete_recursive', { path: unnameable }],
    ]
    const reader = await place.agent(
      `reader${made++}`,
      `${STEP_UP} forbid (principal, action == Action::"/filesystem/dir/delete_recursive", resource) when { resource.name == "kept" };`,
    )
    for (const [code, command, args] of asks)
      expect([command, await answer(reader, command, args)]).toEqual([command, code])
    // Who may not look learns nothing by asking for what would not be done.
    const blind = await place.agent(
      `blind${made++}`,
      'permit (principal, action, resource) when { context has cosigner && context.cosigner };',
    )
    for (const [, command, args] of asks.slice(0, 4))
      expect(await answer(blind, command, args)).toBe('step_up_required')
    for (const dry_run of [false, true])
      for (const each of [dir, path, missing])
        expect(await answer(blind, '/filesystem/dir/delete_recursive', { path: each, dry_run })).toBe(
          'step_up_required',
        )
    expect(await answer(blind, '/filesystem/dir/delete', { path: dir })).toBe('step_up_required')
    for (const each of [dir, path, missing]) {
      const edit = { path: each, edits: [{ old: 'a', new: 'b' }] }
      expect(await answer(blind, '/filesystem/file/edit', edit)).toBe('step_up_required')
    }
    const possible = { path: join(missing, 'x', 'y'), parents: true }
    expect(await answer(reader, '/filesystem/dir/create', possible)).toBe('step_up_required')
  })

  test('whether a text is in a file is told to who may read it, also by an edit that would fail, and dry', async () => {
    const path = file('one')
    const edits = (old: string): object => ({ path, edits: [{ old, new: 'two' }] })
    const asks: readonly [string, object][] = [
      ['step_up_required', edits('one')],
      ['changed', edits('three')],
      ['changed', { ...edits('one'), if_match: content('something else').sha256 }],
      ['not_found', { ...edits('one'), path: join(place.files, `missing${made++}`) }],
      ['ok', { ...edits('one'), dry_run: true }],
      ['changed', { ...edits('three'), dry_run: true }],
    ]
    const [reader, blind] = [
      await place.agent(`reader${made++}`, STEP_UP),
      await place.agent(
        `blind${made++}`,
        'permit (principal, action, resource) when { context has cosigner && context.cosigner };',
      ),
    ]
    const shown: unknown[] = []
    for (const [code, args] of asks) {
      const told = await send(reader, '/filesystem/file/edit', { ...args })
      expect([args, told.status === 200 ? 'ok' : told.code]).toEqual([args, code])
      const withheld = await send(blind, '/filesystem/file/edit', { ...args })
      expect([args, withheld.code]).toEqual([args, 'step_up_required'])
      const { request } = (await admin.approval(String(withheld.error['approval'])))!
      shown.push(request.unshown ?? (request.diff === undefined ? 'nothing' : 'diff'))
    }
    const unfit = 'not what the edit expects'
    expect(shown).toEqual(['diff', unfit, unfit, unfit, 'diff', unfit])
  })

  test('no approval without the record of who gave it, and of what it is for', async () => {
    const path = file()
    const id = await asked(path)
    const { binding } = (await admin.approval(id))!
    const records = async (): Promise<unknown[]> => {
      const rows = await place.database.queries.selectFrom('audit_records').select('body').execute()
      return rows.map(({ body }) => JSON.parse(body) as unknown)
    }
    const refused = { kind: 'refused', code: 'step_up_required', path, approval: id }
    await expect.poll(records).toContainEqual(expect.objectContaining(refused))
    await noMoreRecords(place.database, 'approval given')
    await expect(admin.decide(id, 'approve')).rejects.toThrow('disk full')
    expect((await admin.approval(id))!.state).toBe('open')
    expect((await remove(path)).code).toBe('step_up_required')
    await recordsAgain(place.database)
    await admin.decide(id, 'deny')
    const detail = { approval: id, app: 'careful', command: '/filesystem/file/delete', path, binding }
    const denied = { name: 'approval denied', by: 'the test', detail }
    expect(await records()).toContainEqual(expect.objectContaining(denied))
  })

  test('what was asked for the same request before is not read again', async () => {
    const path = file()
    const id = await asked(path)
    const { queries } = place.database
    const row = await queries
      .selectFrom('approvals')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    for (const [i, state] of (['used', 'open', 'approved', 'denied'] as const).entries())
      await queries
        .insertInto('approvals')
        .values({ ...row, id: `old${made++}`, state, expires_at: i, decided_at: i })
        .execute()
    const read: CompiledQuery[] = []
    const watched: Database = {
      ...place.database,
      lockRow: (query) => {
        read.push(query.compile())
        return place.database.lockRow(query)
      },
    }
    const { app, agent: by, command, binding } = row
    const request = { path, files: 1, directories: 0, bytes: 1, paths: [path] }
    const again = { app, agent: by, command: command as Command, binding, meaning: row.meaning!, request }
    await expect(
      requireApproval(watched, again, place.clock(), { origin: 'http://localhost' }),
    ).rejects.toMatchObject({ detail: { approval: id } })
    const { rows } = await queries.executeQuery<Record<string, unknown>>(read[0]!)
    expect(rows.map((found) => ({ ...found }))).toEqual([
      { id, state: 'open', binding, expires_at: row.expires_at, proof: null, record: null },
    ])
  })

  test('what waits is in the list, first, however much was asked since', async () => {
    const path = file()
    const id = await asked(path)
    const { queries } = place.database
    const row = await queries
      .selectFrom('approvals')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const later = Array.from({ length: 210 }, (__, i) => ({
      ...row,
      id: `later${made}-${i}`,
      binding: `later${i}`,
      state: 'used' as const,
      opened_at: row.opened_at + 1 + i,
    }))
    await queries.insertInto('approvals').values(later).execute()
    const lists = [await admin.approvals(), await listSummaries(place.database, place.clock())]
    for (const list of lists) {
      expect(list.map((each) => each.id)).toContain(id)
      const states = list.map(({ state }) => state === 'open')
      expect(states.lastIndexOf(true)).toBe(states.indexOf(false) - 1)
    }
    await queries
      .deleteFrom('approvals')
      .where(
        'id',
        'in',
        later.map((each) => each.id),
      )
      .execute()
  })

  test('what one app asks does not fill the database: the newest is kept, and what still counts', async () => {
    const busy = await place.agent(`busy${made++}`, [{ name: 'filesystem:delete-step-up' }])
    const ask = async (): Promise<string> =>
      String((await send(busy, '/filesystem/file/delete', { path: file() })).error['approval'])
    const { queries } = place.database
    const first = await ask()
    await admin.decide(first, 'deny')
    const row = await queries
      .selectFrom('approvals')
      .selectAll()
      .where('id', '=', first)
      .executeTakeFirstOrThrow()
    const expires_at = place.clock() - 1000
    const asked20 = Array.from({ length: 20 }, (__, i) => ({
      ...row,
      id: `${busy.id}-${String(i).padStart(2, '0')}`,
      state: 'open' as const,
      size: 2 ** 20,
      opened_at: row.opened_at + 1 + i,
      expires_at,
    }))
    await queries.insertInto('approvals').values(asked20).execute()
    const last = await ask()
    const kept = await queries
      .selectFrom('approvals')
      .select('id')
      .where('app', '=', busy.id)
      .orderBy('opened_at')
      .execute()
    const newest = asked20.slice(4).map(({ id }) => id)
    expect(kept.map(({ id }) => id).sort()).toEqual([first, last, ...newest].sort())
  })

  test('one app cannot flood a person', async () => {
    const flood = await place.agent(`flood${made++}`, [{ name: 'filesystem:delete-step-up' }])
    const codes = []
    for (let i = 0; i < 18; i++)
      codes.push((await send(flood, '/filesystem/file/delete', { path: file() })).code)
    expect(codes.slice(0, 16)).toEqual(Array.from({ length: 16 }, () => 'step_up_required'))
    expect(codes.slice(16)).toEqual(['too_many_approvals', 'too_many_approvals'])
  })

  /** The last one: a clock that was ahead is a floor under everything that follows. */
  test('signed at the last moment, the agent has as long as for any other', async () => {
    place.stopClock()
    const path = file()
    const id = await asked(path)
    place.shift = 59_000
    await admin.decide(id, 'approve')
    place.shift = 118_000
    expect((await remove(path)).code).toBe('ok')
    const late = await asked(file())
    await admin.decide(late, 'approve')
    place.shift += 61_000
    expect(await admin.approval(late)).toMatchObject({ state: 'expired', decidedBy: 'the test' })
  })
})

/** May look, and do everything else with a person. */
const STEP_UP = `permit (principal, action in [Action::"/filesystem/file/read", Action::"/filesystem/file/stat", Action::"/filesystem/dir/list"], resource);
permit (principal, action, resource) when { context has cosigner && context.cosigner };`

/** As a full disk would, for one kind of record. */
async function noMoreRecords({ queries, engine }: Database, name: string): Promise<void> {
  const wanted = sql.lit(`%"name":"${name}"%`)
  if (engine === 'embedded')
    return void (await sql`create trigger full_disk before insert on audit_records when new.body like ${wanted} begin select raise(abort, 'disk full'); end`.execute(
      queries,
    ))
  await sql`create function full_disk() returns trigger as $$ begin if new.body like ${wanted} then raise exception 'disk full'; end if; return new; end $$ language plpgsql`.execute(
    queries,
  )
  await sql`create trigger full_disk before insert on audit_records for each row execute function full_disk()`.execute(
    queries,
  )
}

const recordsAgain = async ({ queries, engine }: Database): Promise<void> =>
  void (await (
    engine === 'embedded' ? sql`drop trigger full_disk` : sql`drop trigger full_disk on audit_records`
  ).execute(queries))
