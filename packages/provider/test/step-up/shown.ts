import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Command } from '../../src/commands.ts'
import { type Agent, content, send, type Sent } from '../place.ts'
import { STEP_UP, type StepUpPlace } from './step-up-place.ts'

/** SPEC 7.5: what a person is shown, and what a person is not asked for. */
export function testShown(at: StepUpPlace): void {
  const { file, remove, asked } = at

  test('the blast radius of a recursive delete is everything below, and a new file in it is another request', async () => {
    const dir = join(at.place.files, `d${at.next()}`)
    mkdirSync(join(dir, 'sub'), { recursive: true })
    writeFileSync(join(dir, 'a'), '12345')
    writeFileSync(join(dir, 'sub/b'), '123')
    const ask = (more: object = {}): Promise<Sent> =>
      send(at.agent, '/filesystem/dir/delete_recursive', { path: dir, ...more })
    const dry = await ask({ dry_run: true })
    expect(JSON.parse(dry.body.toString())).toMatchObject({
      files: 2,
      directories: 2,
      bytes: 8,
      dry_run: true,
    })
    const id = String((await ask()).error['approval'])
    expect((await at.admin.approval(id))?.request).toMatchObject({ files: 2, directories: 2, bytes: 8 })
    await at.admin.decide(id, 'approve')
    writeFileSync(join(dir, 'sub/late'), 'x')
    expect((await ask()).code).toBe('step_up_required')
    expect(existsSync(join(dir, 'sub/late'))).toBe(true)
  })

  test('what is too many to name is counted, directories too; an empty directory has no bytes', async () => {
    const dir = join(at.place.files, `d${at.next()}`)
    const below = join(dir, ...Array.from({ length: 17 }, () => 'x'.repeat(200))) // paths together too long for a page
    mkdirSync(below, { recursive: true })
    for (let i = 0; i < 320; i++) mkdirSync(join(below, String(i).padStart(200, 'y')))
    writeFileSync(join(dir, 'f'), '123')
    const idOf = (sent: Sent): string => String(sent.error['approval'])
    const id = idOf(await send(at.agent, '/filesystem/dir/delete_recursive', { path: dir }))
    const { files, directories, bytes, paths, pathsLeftOut } = (await at.admin.approval(id))!.request
    expect({ files, directories, bytes }).toEqual({ files: 1, directories: 1 + 17 + 320, bytes: 3 })
    expect(paths.length).toBeLessThan(files + directories - 1)
    expect(paths.length + (pathsLeftOut ?? 0)).toBe(files + directories - 1)
    const one = idOf(
      await send(at.agent, '/filesystem/dir/delete', { path: join(below, '0'.padStart(200, 'y')) }),
    )
    expect((await at.admin.approval(one))!.request).toMatchObject({ files: 0, directories: 1, bytes: 0 })
  })

  test('what is too large to hash is bound as the very file, and a link as the very link', async () => {
    const large = file()
    truncateSync(large, 1024 ** 3 + 1) // has no blocks
    utimesSync(large, 1, 1) // whatever is done to it later is not done in the same instant
    await at.admin.decide(await asked(large), 'approve')
    const fd = openSync(large, 'r+')
    writeSync(fd, 'something else of the same size', 12)
    closeSync(fd)
    expect((await remove(large)).code).toBe('step_up_required')
    const link = join(at.place.files, `link${at.next()}`)
    symlinkSync('one', link)
    await at.admin.decide(await asked(link), 'approve')
    unlinkSync(link)
    symlinkSync('two', link)
    expect((await remove(link)).code).toBe('step_up_required')
  })

  test('that a file is replaced is said, and only then', async () => {
    const careful = await at.place.agent(`careful${at.next()}`, STEP_UP)
    const replaces = async (command: Command, args: object, body?: string): Promise<unknown> => {
      const { error } = await send(careful, command, { ...args }, body === undefined ? {} : { body })
      return (await at.admin.approval(String(error['approval'])))!.request.replaces
    }
    const [path, destination] = [file('a'), file('b')]
    const free = join(at.place.files, `free${at.next()}`)
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
    const dir = join(at.place.files, `d${at.next()}`)
    mkdirSync(dir)
    writeFileSync(join(dir, 'a'), 'x')
    const [path, missing] = [file('x'), join(at.place.files, `missing${at.next()}`)]
    const answer = async (who: Agent, command: Command, args: object): Promise<string> => {
      const body = 'sha256' in args ? { body: 'new' } : {}
      return (await send(who, command, { ...args }, body)).code
    }
    const wrong = content('something else').sha256
    const [withKept, unnameable] = [
      join(at.place.files, `d${at.next()}`),
      join(at.place.files, `d${at.next()}`),
    ]
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
    const reader = await at.place.agent(
      `reader${at.next()}`,
      `${STEP_UP} forbid (principal, action == Action::"/filesystem/dir/delete_recursive", resource) when { resource.name == "kept" };`,
    )
    for (const [code, command, args] of asks)
      expect([command, await answer(reader, command, args)]).toEqual([command, code])
    // Who may not look learns nothing by asking for what would not be done.
    const blind = await at.place.agent(
      `blind${at.next()}`,
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
      ['not_found', { ...edits('one'), path: join(at.place.files, `missing${at.next()}`) }],
      ['ok', { ...edits('one'), dry_run: true }],
      ['changed', { ...edits('three'), dry_run: true }],
    ]
    const [reader, blind] = [
      await at.place.agent(`reader${at.next()}`, STEP_UP),
      await at.place.agent(
        `blind${at.next()}`,
        'permit (principal, action, resource) when { context has cosigner && context.cosigner };',
      ),
    ]
    const shown: unknown[] = []
    for (const [code, args] of asks) {
      const told = await send(reader, '/filesystem/file/edit', { ...args })
      expect([args, told.status === 200 ? 'ok' : told.code]).toEqual([args, code])
      const withheld = await send(blind, '/filesystem/file/edit', { ...args })
      expect([args, withheld.code]).toEqual([args, 'step_up_required'])
      const { request } = (await at.admin.approval(String(withheld.error['approval'])))!
      shown.push(request.unshown ?? (request.diff === undefined ? 'nothing' : 'diff'))
    }
    const unfit = 'not what the edit expects'
    expect(shown).toEqual(['diff', unfit, unfit, unfit, 'diff', unfit])
  })
}
