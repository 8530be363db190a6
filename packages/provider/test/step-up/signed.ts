import { existsSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { delegateOn } from '../../src/tokens/delegation.ts'
import { SigningKey } from '../../src/tokens/key.ts'
import { content, send, type Sent } from '../place.ts'
import type { StepUpPlace } from './step-up-place.ts'

/** SPEC 7.5: what a person signed for passes once, and nothing else does. */
export function testSigned(at: StepUpPlace): void {
  const { file, remove, asked } = at

  test('a request that needs a person opens an approval; signed for, it passes once', async () => {
    const path = file('content')
    const refused = await remove(path)
    const id = String(refused.error['approval'])
    expect(refused).toMatchObject({
      status: 428,
      code: 'step_up_required',
      message: `a person must approve this: at ${at.place.serving.origin}/approvals/${id}, or by \`cordon provider approve ${id}\` on the host; then ask again`,
    })
    expect(refused.error['url']).toBe(`${at.place.serving.origin}/approvals/${id}`)
    const shown = (await (await fetch(`${at.place.serving.url}/approvals/${id}`)).json()) as object
    // Not what it is about: who asked may not be allowed to read that.
    expect(shown).toEqual({
      id,
      app: 'careful',
      agent: at.agent.key.did,
      command: '/filesystem/file/delete',
      state: 'open',
      opened_at: expect.any(String),
      expires_at: expect.any(String),
    })
    expect((await at.admin.approval(id))!.request).toEqual({
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
    await at.admin.decide(id, 'approve')
    expect((await remove(path, {}, at.other.url)).code).toBe('ok') // at whichever provider it arrives
    expect(existsSync(path)).toBe(false)
    writeFileSync(path, 'content')
    expect((await remove(path)).code).toBe('step_up_required')
    expect((await at.admin.approval(id))?.state).toBe('used')
  })

  test('used by many at once, at two providers: one passes', async () => {
    const path = file()
    const id = await asked(path)
    await at.admin.decide(id, 'approve')
    const all = await Promise.all(
      Array.from({ length: 12 }, (__, i) => remove(path, {}, i % 2 ? at.other.url : at.place.serving.url)),
    )
    expect(all.filter(({ code }) => code === 'ok').length).toBe(1)
    const asks = (await at.admin.approvals()).filter(
      ({ state, request }) => state === 'open' && request.path === path,
    )
    // Those who came late asked once, together: about the file, or about its being gone.
    expect(new Set(asks.map(({ binding }) => binding)).size).toBe(asks.length)
    const rows = await at.place.database.queries.selectFrom('audit_records').select('body').execute()
    const uses = rows
      .map(({ body }) => JSON.parse(body) as Record<string, unknown>)
      .filter((each) => each['approval'] === id && each['kind'] === 'intent')
    expect(uses.length).toBe(1)
  })

  test('for another path, another content, other arguments or by another agent it counts for nothing', async () => {
    const path = file('one')
    const id = await asked(path)
    await at.admin.decide(id, 'approve')
    expect((await remove(file('one'))).code).toBe('step_up_required')
    expect((await remove(path, { if_match: content('one').sha256 })).code).toBe('step_up_required')
    const stranger = await at.place.agent(`stranger${at.next()}`, [{ name: 'filesystem:delete-step-up' }])
    expect((await send(stranger, '/filesystem/file/delete', { path })).code).toBe('step_up_required')
    writeFileSync(path, 'two')
    expect((await remove(path)).code).toBe('step_up_required')
    expect(existsSync(path)).toBe(true)
    expect((await at.admin.approval(id))?.state).toBe('approved')
  })

  test('signed for one of an app’s agents, it is not for another one', async () => {
    const path = file()
    const second = SigningKey.generate()
    const [root] = at.agent.delegations
    const link = delegateOn(at.agent.key, [root!], {
      audience: second.did,
      prefix: root!.prefix,
      command: '/filesystem',
      expires: Math.floor(at.place.clock() / 1000) + 60,
    })
    await at.admin.decide(await asked(path), 'approve')
    const sent = await send(
      at.agent,
      '/filesystem/file/delete',
      { path },
      { key: second, chain: [root!, link] },
    )
    expect(sent.code).toBe('step_up_required')
    expect((await remove(path)).code).toBe('ok')
  })

  test('signed for where a link led, it is not for where it leads now', async () => {
    const linker = await at.place.agent(
      `linker${at.next()}`,
      `permit (principal, action, resource);
       forbid (principal, action == Action::"/filesystem/file/write", resource) unless { context has cosigner && context.cosigner };`,
    )
    const [first, second] = [file('same'), file('same')]
    const path = join(at.place.files, `link${at.next()}`)
    symlinkSync(first, path)
    const ask = (): Promise<Sent> =>
      send(linker, '/filesystem/file/write', { path, ...content('new') }, { body: 'new' })
    await at.admin.decide(String((await ask()).error['approval']), 'approve')
    unlinkSync(path)
    symlinkSync(second, path)
    expect((await ask()).code).toBe('step_up_required')
    expect(readFileSync(second, 'utf8')).toBe('same')
  })
}
