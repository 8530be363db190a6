import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { isTempName } from '@cordon/files'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp, findApp, removeApp, setEnabled } from '../src/apps/app.ts'
import { mintFor, revoke } from '../src/apps/delegations.ts'
import { type Command } from '../src/commands.ts'
import { TextFinder } from '../src/operations/finder.ts'
import { openAmbientProviderKey, registerKey, retireKey, rotateKey } from '../src/keys/provider-key.ts'
import { listPolicies, PolicyRefused, setPolicy } from '../src/policies/store.ts'
import { delegateOn, type Delegation, mintDelegation } from '../src/tokens/delegation.ts'
import { signInvocation } from '../src/tokens/invocation.ts'
import { SigningKey } from '../src/tokens/key.ts'
import { parsePrefix } from '../src/tokens/prefix.ts'
import { type Agent, ANYTHING, content, send, TestPlace } from './place.ts'

let place: TestPlace
let agent: Agent
let files: string

beforeAll(async () => {
  place = await TestPlace.start()
  files = place.files
  agent = await place.agent('agent', ANYTHING)
  writeFileSync(join(files, 'a.txt'), 'a')
})
afterAll(() => place.close())

const read = (path: string, raw: Parameters<typeof send>[3] = {}): ReturnType<typeof send> =>
  send(agent, '/filesystem/file/read', { path }, raw)
const now = (): number => Math.floor(place.clock() / 1000)

describe('what the agent sends is no context', () => {
  test.each([
    ['cosigner', { cosigner: true }],
    ['an extension of its own', { extension: '.ts' }],
    ['a second path', { paths: ['/etc/passwd'] }],
    ['a destination where there is none', { destination: '/etc/passwd' }],
    ['a resource', { resource: { path: '/x', size: 0 } }],
  ])('SPEC 7.4 %s in the arguments is refused', async (_, more) => {
    const { status, code, message } = await send(agent, '/filesystem/file/read', {
      path: join(files, 'a.txt'),
      ...more,
    })
    expect({ status, code, message }).toEqual({
      status: 400,
      code: 'args_invalid',
      message: `the arguments of /filesystem/file/read: there is no argument ${Object.keys(more)[0]}`,
    })
  })

  test('a path or a cosigner in the URL, the headers or the body changes nothing', async () => {
    const token = signInvocation({
      key: agent.key,
      chain: agent.delegations,
      command: '/filesystem/file/read',
      args: { path: join(files, 'a.txt') },
      expires: now() + 60,
    })
    const url = new URL('/filesystem/file/read?path=/etc/passwd&cosigner=true', place.serving.url)
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'x-path': '/etc/passwd', 'x-cosigner': 'true' },
      body: JSON.stringify({ path: '/etc/passwd', cosigner: true }),
    })
    expect(await response.text()).toBe('a')
  })

  test('SPEC 7.3 another command’s route does not change the command', async () => {
    const { status, code, message } = await read(join(files, 'a.txt'), { route: '/filesystem/file/delete' })
    expect({ status, code, message }).toEqual({
      status: 400,
      code: 'command_mismatch',
      message: 'the invocation is for /filesystem/file/read, and was sent to /filesystem/file/delete',
    })
    expect(existsSync(join(files, 'a.txt'))).toBe(true)
  })
})

describe('SPEC 7.3 the path prefix', () => {
  const cases: readonly [string, string][] = [
    ['/agent-4 for /agent-42', 'agent-42'],
    ['/agent-4 for "/agent-4 "', 'agent-4 '],
    ['/agent-4 for /agent-4"', 'agent-4"'],
    ['/foo for /foobar', 'foobar'],
  ]
  beforeAll(() => {
    for (const name of ['agent-4', 'agent-42', 'agent-4 ', 'agent-4"', 'foo', 'foobar']) {
      mkdirSync(join(files, name))
      writeFileSync(join(files, name, 'f'), 'secret')
    }
  })
  test.each(cases)('%s', async (_, name) => {
    const prefix = parsePrefix(join(files, name.startsWith('foo') ? 'foo' : 'agent-4'))
    const chain = await narrowed(prefix)
    const path = join(files, name, 'f')
    const { status, code, message } = await read(path, { chain })
    expect({ status, code }).toEqual({ status: 403, code: 'resource_out_of_scope' })
    expect(message).toContain(`the delegation is for ${prefix}`)
  })

  test.each(['..', '.', ''])('a component "%s" is refused, not cleaned up', async (part) => {
    const { code } = await read(`${files}/${part}/a.txt`)
    expect(code).toBe('resource_out_of_scope')
  })

  test('a relative path, and one that ends in /', async () => {
    expect((await read('a.txt')).code).toBe('resource_out_of_scope')
    expect((await read(`${files}/a.txt/`)).code).toBe('resource_out_of_scope')
  })

  test.each(['$HOME', '`id`', '${x}', '$(id)', 'a\nb', 'a\\b', 'a\rb', 'a\u0000b'])(
    'SPEC 7.3 the metacharacters of %j',
    async (name) => {
      const { status, code } = await read(`${files}/${name}`)
      expect({ status, code }).toEqual({ status: 400, code: 'path_metacharacter' })
    },
  )

  test('a name that no listing shows is nobody’s: of a file, a directory on the way, a destination', async () => {
    const hidden = join(files, '.cordon-tmp-mine')
    const asked = await Promise.all([
      send(agent, '/filesystem/file/write', { path: hidden, ...content('x') }, { body: 'x' }),
      send(agent, '/filesystem/dir/create', { path: hidden }),
      send(agent, '/filesystem/dir/create', { path: join(hidden, 'a'), parents: true }),
      send(agent, '/filesystem/file/copy', { path: join(files, 'a.txt'), destination: hidden }),
      read(hidden),
    ])
    expect(asked.map(({ status, code }) => [status, code])).toEqual(asked.map(() => [400, 'bad_request']))
    expect(asked[0].message).toBe(
      `${hidden}: names like .cordon-tmp-mine are for files that the provider is still writing; take another`,
    )
    expect(readdirSync(files).filter((name) => isTempName(name))).toEqual([])
  })

  test('the destination is held to the same', async () => {
    const args = { path: join(files, 'a.txt'), destination: '/etc/cordon-test' }
    expect((await send(agent, '/filesystem/file/copy', args)).code).toBe('resource_out_of_scope')
    const beside = { ...args, destination: `${files}-beside` } // longer than the prefix: cut off, it would be inside
    expect((await send(agent, '/filesystem/file/copy', beside)).code).toBe('resource_out_of_scope')
    const odd = { path: join(files, 'a.txt'), destination: `${files}/$(id)` }
    expect((await send(agent, '/filesystem/file/copy', odd)).code).toBe('path_metacharacter')
  })

  test('a prefix that is itself a link, or below one, is decided by its real path', async () => {
    mkdirSync(join(files, 'real/below'), { recursive: true })
    writeFileSync(join(files, 'real/below/f'), 'secret')
    symlinkSync(join(files, 'real'), join(files, 'linked'))
    for (const prefix of ['linked', 'linked/below']) {
      const chain = await narrowed(parsePrefix(join(files, prefix)))
      const { status, code, message } = await read(join(files, 'linked/below/f'), { chain })
      expect({ status, code, message }).toEqual({
        status: 403,
        code: 'resource_out_of_scope',
        message: `the delegation’s directory ${join(files, prefix)} is, or lies below, a symbolic link`,
      })
    }
    await expect(mintIn(join(files, 'linked'))).rejects.toThrow(
      `${join(files, 'linked')} is, or lies below, a symbolic link; mint for ${join(files, 'real')}`,
    )
  })

  test('a prefix whose directory became a link since', async () => {
    mkdirSync(join(files, 'turned'))
    writeFileSync(join(files, 'turned/f'), 'mine')
    const chain = await narrowed(parsePrefix(join(files, 'turned')))
    expect((await read(join(files, 'turned/f'), { chain })).body.toString()).toBe('mine')
    renameSync(join(files, 'turned'), join(files, 'turned-away'))
    symlinkSync('/etc', join(files, 'turned'))
    expect((await read(join(files, 'turned/passwd'), { chain })).code).toBe('resource_out_of_scope')
    // And another directory of that name is that directory, not the one that was held open.
    unlinkSync(join(files, 'turned'))
    mkdirSync(join(files, 'turned'))
    writeFileSync(join(files, 'turned/f'), 'new')
    expect((await read(join(files, 'turned/f'), { chain })).body.toString()).toBe('new')
  })

  test('SPEC 7.2 the prefix itself is not deleted, moved or replaced', async () => {
    for (const [command, args] of [
      ['/filesystem/dir/delete', { path: files }],
      ['/filesystem/dir/delete_recursive', { path: files }],
      ['/filesystem/file/move', { path: files, destination: join(files, 'x') }],
      ['/filesystem/file/write', { path: files, ...content('x') }],
    ] as const) {
      const { code } = await send(agent, command, args, command.endsWith('write') ? { body: 'x' } : {})
      expect(code, command).toBe('resource_out_of_scope')
    }
  })
})

describe('SPEC 7.3 links', () => {
  beforeAll(() => {
    mkdirSync(join(place.dir, 'outside'))
    writeFileSync(join(place.dir, 'outside/secret'), 'secret')
    symlinkSync(join(place.dir, 'outside/secret'), join(files, 'leaf'))
    symlinkSync(join(place.dir, 'outside'), join(files, 'parent'))
    symlinkSync(join(place.dir, 'outside/new'), join(files, 'dangling'))
    symlinkSync(join(files, 'a.txt'), join(files, 'inside'))
    symlinkSync('loop', join(files, 'loop'))
  })

  test.each([
    ['a leaf', '/filesystem/file/read', 'leaf', undefined],
    ['a parent', '/filesystem/file/read', 'parent/secret', undefined],
    ['a parent of a stat', '/filesystem/file/stat', 'parent/secret', undefined],
    ['a directory', '/filesystem/dir/list', 'parent', undefined],
    ['a directory below', '/filesystem/dir/tree', 'parent', undefined],
    ['a search', '/filesystem/file/search', 'parent', undefined],
    ['the source of a copy', '/filesystem/file/copy', 'leaf', 'stolen'],
    ['the destination of a copy', '/filesystem/file/copy', 'a.txt', 'parent/x'],
    ['the destination of a move', '/filesystem/file/move', 'a.txt', 'parent/x'],
    ['a dangling destination', '/filesystem/file/copy', 'a.txt', 'dangling'],
    ['a delete below', '/filesystem/file/delete', 'parent/secret', undefined],
    ['a recursive delete below', '/filesystem/dir/delete_recursive', 'parent/x', undefined],
    ['a directory below it', '/filesystem/dir/create', 'parent/x', undefined],
    ['a loop', '/filesystem/file/read', 'loop', undefined],
  ] as const)('leaving the prefix by %s', async (_, command, path, destination) => {
    const text = command.endsWith('search') ? { text: 'secret' } : {}
    const args = {
      path: join(files, path),
      ...text,
      ...(destination === undefined ? {} : { destination: join(files, destination) }),
    }
    const { status, code } = await send(agent, command, args)
    expect({ status, code }).toEqual({ status: 403, code: 'resource_out_of_scope' })
    expect(readFileSync(join(place.dir, 'outside/secret'), 'utf8')).toBe('secret')
    expect(existsSync(join(place.dir, 'outside/new'))).toBe(false)
    expect(existsSync(join(files, 'stolen'))).toBe(false)
  })

  test.each(['leaf', 'dangling'])('a write through the %s', async (name) => {
    for (const command of ['/filesystem/file/write', '/filesystem/file/create'] as const) {
      const sent = await send(agent, command, { path: join(files, name), ...content('x') }, { body: 'x' })
      expect(sent.code).toBe('resource_out_of_scope')
    }
    expect(existsSync(join(place.dir, 'outside/new'))).toBe(false)
  })

  test('one that stays inside is followed, and decided on by both names', async () => {
    expect((await read(join(files, 'inside'))).body.toString()).toBe('a')
    const other = await place.agent(
      'both-names',
      `permit (principal, action, resource);
       forbid (principal, action, resource) when { resource.name == "a.txt" };`,
    )
    const { code } = await send(other, '/filesystem/file/read', { path: join(files, 'inside') })
    expect(code).toBe('policy_denied')
    const reverse = await place.agent(
      'other-names',
      `permit (principal, action, resource);
       forbid (principal, action, resource) when { resource.name == "inside" };`,
    )
    expect((await send(reverse, '/filesystem/file/read', { path: join(files, 'inside') })).code).toBe(
      'policy_denied',
    )
  })

  test('one whose target, which is not UTF-8, is shown as its own name', async () => {
    const path = join(files, 'odd\ufffd')
    const target = Buffer.concat([Buffer.from(join(files, 'odd')), Uint8Array.of(0xff)])
    writeFileSync(target, 'odd')
    symlinkSync(target, path)
    const { status, code, message } = await send(agent, '/filesystem/file/read', { path })
    rmSync(target)
    rmSync(path)
    expect({ status, code, message }).toEqual({
      status: 403,
      code: 'resource_out_of_scope',
      message: `${path} is out of scope: cannot resolve path: odd\ufffd (a name on the way is not valid UTF-8)`,
    })
  })

  test('SPEC 7.2 deleting a link removes the link', async () => {
    symlinkSync(join(place.dir, 'outside/secret'), join(files, 'to-go'))
    expect((await send(agent, '/filesystem/file/delete', { path: join(files, 'to-go') })).code).toBe('ok')
    expect(lstatSync(join(files, 'to-go'), { throwIfNoEntry: false })).toBeUndefined()
    expect(readFileSync(join(place.dir, 'outside/secret'), 'utf8')).toBe('secret')
  })

  test('swapped in while requests run: never anything from outside', async () => {
    const dir = join(files, 'swapped')
    mkdirSync(dir)
    writeFileSync(join(dir, 'secret'), 'harmless')
    const swapping = new AbortController()
    const swap = (async () => {
      while (!swapping.signal.aborted) {
        renameSync(dir, `${dir}-away`)
        symlinkSync(join(place.dir, 'outside'), dir)
        await new Promise(setImmediate)
        unlinkSync(dir)
        renameSync(`${dir}-away`, dir)
        await new Promise(setImmediate)
      }
    })()
    const seen = new Map<string, number>()
    for (let round = 0; round < 20; round++) {
      const all = await Promise.all([
        ...Array.from({ length: 8 }, () => read(join(dir, 'secret'))),
        send(agent, '/filesystem/file/write', { path: join(dir, 'w'), ...content('x') }, { body: 'x' }),
      ])
      for (const { code, body } of all) {
        expect(body.toString()).not.toBe('secret')
        seen.set(code, (seen.get(code) ?? 0) + 1)
      }
    }
    swapping.abort()
    await swap
    expect(existsSync(join(place.dir, 'outside/w'))).toBe(false)
    expect([...seen.keys()].toSorted().filter((code) => !ALLOWED_IN_A_RACE.has(code))).toEqual([])
    rmSync(dir, { recursive: true })
  })
})

const ALLOWED_IN_A_RACE = new Set(['ok', 'resource_out_of_scope', 'not_found', 'changed', 'wrong_kind'])

describe('SPEC 7.3 what is no file of a disk', () => {
  test('a FIFO, a socket and a device are refused at once', async () => {
    execFileSync('mkfifo', [join(files, 'fifo')])
    const server = createServer().listen(join(files, 'socket'))
    await once(server, 'listening')
    for (const name of ['fifo', 'socket']) {
      const { status, code } = await read(join(files, name))
      expect({ status, code }, name).toEqual({ status: 409, code: 'wrong_kind' })
      const copied = await send(agent, '/filesystem/file/copy', {
        path: join(files, name),
        destination: join(files, `${name}-copy`),
      })
      expect(copied.code, name).toBe('wrong_kind')
      const written = { path: join(files, name), ...content('x') }
      expect((await send(agent, '/filesystem/file/write', written, { body: 'x' })).code).toBe('wrong_kind')
    }
    server.close()
    if (process.getuid?.() === 0) {
      execFileSync('mknod', [join(files, 'null'), 'c', '1', '3'])
      expect((await read(join(files, 'null'))).code).toBe('wrong_kind')
    }
  })

  test('/proc, /sys and /dev, also with the whole filesystem delegated and by a link', async () => {
    const chain = [await mintIn('/')]
    symlinkSync('/proc/self/environ', join(files, 'environ'))
    for (const path of ['/proc/self/environ', '/sys/kernel/notes', '/dev/null', join(files, 'environ')])
      expect((await read(path, { chain })).code, path).toBe('resource_out_of_scope')
    const within = { path: '/proc', ...(await Promise.resolve({})) }
    expect((await send(agent, '/filesystem/dir/list', within, { chain })).code).toBe('resource_out_of_scope')
  })
})

describe('SPEC 7.3 tokens', () => {
  const good = (): { key: SigningKey; chain: Delegation[] } => ({ key: agent.key, chain: agent.delegations })
  const invoke = (more: Partial<Parameters<typeof signInvocation>[0]> = {}): string =>
    signInvocation({
      ...good(),
      command: '/filesystem/file/read',
      args: { path: join(files, 'a.txt') },
      expires: now() + 60,
      ...more,
    })
  const answer = async (token: string): Promise<string> => {
    const { status, code } = await read(join(files, 'a.txt'), { token })
    return `${status} ${code}`
  }

  test('none, a malformed one, one that is too large', async () => {
    const response = await fetch(new URL('/filesystem/file/read', place.serving.url), { method: 'POST' })
    expect(await response.json()).toEqual({
      error: { code: 'token_missing', message: 'send the invocation as `Authorization: Bearer …`' },
    })
    expect(await answer('Cabc')).toBe('401 token_malformed')
    expect(await answer(`C${'a'.repeat(70_000)}`)).toBe('401 token_too_large')
  })

  test('expired, not yet valid, for too long', async () => {
    expect(await answer(invoke({ expires: now() - 1 }))).toBe('401 token_expired')
    expect(await answer(invoke({ expires: now() + 3600 }))).toBe('401 token_lifetime')
    const key = openAmbientProviderKey(place.dataDir)
    const terms = { audience: agent.key.did, prefix: parsePrefix(files), command: '/filesystem' }
    const late = mintDelegation(key, { ...terms, expires: now() + 900, notBefore: now() + 600 })
    expect(await answer(invoke({ chain: [late] }))).toBe('401 token_not_yet_valid')
    const past = mintDelegation(key, { ...terms, expires: now() - 5 })
    expect(await answer(invoke({ chain: [past] }))).toBe('401 token_expired')
  })

  test('replayed, at this provider and at another one of the same database', async () => {
    const token = invoke()
    expect(await answer(token)).toBe('200 ok')
    expect(await answer(token)).toBe('401 token_replayed')
    const other = await place.serve()
    expect((await read(join(files, 'a.txt'), { token, url: other.url })).code).toBe('token_replayed')
    const fresh = invoke()
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        read(join(files, 'a.txt'), { token: fresh, url: i % 2 ? other.url : place.serving.url }),
      ),
    )
    expect(all.filter(({ code }) => code === 'ok').length).toBe(1)
    await other.stop()
  })

  test('the clock set back does not bring a used invocation back', async () => {
    const token = invoke()
    expect(await answer(token)).toBe('200 ok')
    place.shift = 3_600_000
    expect(await answer(invoke())).toBe('200 ok') // forgets what has expired
    await expect
      .poll(async () => {
        const [floor] = await place.database.queries
          .selectFrom('meta')
          .select('value')
          .where('name', '=', 'clock_floor')
          .execute()
        return floor!.value > Date.now()
      })
      .toBe(true)
    place.shift = 0
    expect(await answer(token)).toBe('401 token_expired')
    // Nobody's clock is believed until it is past what was forgotten; the test's is put right.
    await place.database.queries
      .updateTable('meta')
      .set({ value: 0 })
      .where('name', '=', 'clock_floor')
      .execute()
    expect(await answer(invoke())).toBe('200 ok')
  })

  test('forged, of another key, for another provider', async () => {
    const stranger = SigningKey.generate()
    expect(await answer(invoke({ key: stranger }))).toBe('401 token_broken_chain')
    const forged = mintDelegation(stranger, {
      audience: stranger.did,
      prefix: parsePrefix(files),
      command: '/filesystem',
      expires: now() + 60,
    })
    expect(await answer(invoke({ key: stranger, chain: [forged] }))).toBe('401 token_wrong_audience')
    const named = { did: agent.key.did, sign: (bytes: Uint8Array) => stranger.sign(bytes) }
    expect(await answer(invoke({ key: named as SigningKey }))).toBe('401 token_signature')
    const token = invoke()
    const broken = Buffer.from(token.slice(1), 'base64url')
    broken[broken.length - 100]! ^= 1
    expect(await answer(`C${broken.toString('base64url')}`)).toMatch(/^401 token_/)
  })

  test('delegated on: narrower passes, re-ordered, wider and too deep do not', async () => {
    mkdirSync(join(files, 'deep/er'), { recursive: true })
    writeFileSync(join(files, 'deep/f'), 'deep')
    const second = SigningKey.generate()
    const [root] = agent.delegations
    const link = delegateOn(agent.key, [root!], {
      audience: second.did,
      prefix: parsePrefix(join(files, 'deep')),
      command: '/filesystem/file',
      expires: now() + 60,
    })
    const raw = { key: second, chain: [root!, link] }
    expect((await read(join(files, 'deep/f'), raw)).body.toString()).toBe('deep')
    expect((await read(join(files, 'a.txt'), raw)).code).toBe('resource_out_of_scope')
    const listed = await send(agent, '/filesystem/dir/list', { path: join(files, 'deep') }, raw)
    expect(listed.code).toBe('token_command_not_covered')
    expect((await read(join(files, 'deep/f'), { key: second, chain: [link, root!] })).code).toBe(
      'token_broken_chain',
    )
    await revoke(place.database, link.cid, place.clock())
    expect((await read(join(files, 'deep/f'), raw)).code).toBe('token_revoked')
  })

  test('revoked, from the next request on, at every provider', async () => {
    const own = await place.agent('revoked', ANYTHING)
    const other = await place.serve()
    for (const url of [place.serving.url, other.url])
      expect((await send(own, '/filesystem/file/read', { path: join(files, 'a.txt') }, { url })).code).toBe(
        'ok',
      )
    await revoke(place.database, own.delegations[0]!.cid, place.clock())
    for (const url of [place.serving.url, other.url]) {
      const { status, code } = await send(
        own,
        '/filesystem/file/read',
        { path: join(files, 'a.txt') },
        { url },
      )
      expect({ status, code }).toEqual({ status: 401, code: 'token_revoked' })
    }
    await other.stop()
  })

  test('SPEC 7.1 an app that is disabled, or gone', async () => {
    const own = await place.agent('disabled', ANYTHING)
    const ask = (): ReturnType<typeof send> =>
      send(own, '/filesystem/file/read', { path: join(files, 'a.txt') })
    await setEnabled(place.database, 'disabled', false)
    expect(await ask()).toMatchObject({
      status: 403,
      code: 'app_disabled',
      message: 'the app disabled is disabled',
    })
    // SPEC 7.3: before its command and arguments are looked at.
    expect((await send(own, '/filesystem/file/read', { path: 3 })).code).toBe('app_disabled')
    await setEnabled(place.database, 'disabled', true)
    expect((await ask()).code).toBe('ok')
    await place.database.queries.deleteFrom('apps').where('id', '=', 'disabled').execute()
    await place.database.queries
      .updateTable('meta')
      .set((row) => ({ value: row('value', '+', 1) }))
      .where('name', '=', 'generation')
      .execute()
    expect((await ask()).code).toBe('app_unknown')
  })

  test('SPEC 7.1 a rotated key: what the old one signed counts until it is retired', async () => {
    const old = openAmbientProviderKey(place.dataDir).did
    await rotateKey(place.dataDir, (key) => registerKey(place.database, key, place.clock()))
    expect(await answer(invoke())).toBe('200 ok')
    const own = await place.agent('by-the-new-key', ANYTHING)
    expect((await send(own, '/filesystem/file/read', { path: join(files, 'a.txt') })).code).toBe('ok')
    await retireKey(place.database, old, place.clock())
    expect(await answer(invoke())).toBe('401 token_wrong_audience')
    expect((await send(own, '/filesystem/file/read', { path: join(files, 'a.txt') })).code).toBe('ok')
    await place.database.queries.updateTable('provider_keys').set({ retired_at: null }).execute()
    await place.database.queries
      .updateTable('meta')
      .set((row) => ({ value: row('value', '+', 1) }))
      .where('name', '=', 'generation')
      .execute()
  })
})

describe('SPEC 7.4 policies', () => {
  test('a fragment as people write it is refused with its correction, and nothing of it is stored', async () => {
    const text = `permit (principal, action == Action::"/filesystem/file/write", resource)
when { resource.extension in [".ts", ".tsx", ".md"] };
forbid (principal, action == Action::"/filesystem/file/delete", resource) when { !context.cosigner };`
    const stored = setPolicy(place.database, { scope: 'agent', name: 'fragment', text }, place.clock())
    const refused = await stored.then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(refused).toBeInstanceOf(PolicyRefused)
    const { corrected } = (refused as PolicyRefused).refused
    expect(corrected).toContain('.contains(resource.extension)')
    expect(corrected).toContain('context has cosigner')
    expect(
      await place.database.queries
        .selectFrom('policies')
        .select('name')
        .where('name', '=', 'fragment')
        .execute(),
    ).toEqual([])
    await setPolicy(place.database, { scope: 'agent', name: 'fragment', text: corrected! }, place.clock())
    await setPolicy(place.database, { scope: 'agent', name: 'fragment', text: null }, place.clock())
  })

  test('without a policy nothing is permitted; a new one counts from the next request on', async () => {
    const own = await place.agent('bare', '')
    const ask = (): ReturnType<typeof send> =>
      send(own, '/filesystem/file/read', { path: join(files, 'a.txt') })
    expect(await ask()).toMatchObject({
      status: 403,
      code: 'policy_denied',
      message: `/filesystem/file/read on ${join(files, 'a.txt')}: no policy permits it`,
    })
    await setPolicy(
      place.database,
      {
        scope: '*',
        name: 'shared',
        text: 'permit (principal in App::"bare", action == Action::"/filesystem/file/read", resource);',
      },
      place.clock(),
    )
    expect((await ask()).code).toBe('ok')
    await setPolicy(place.database, { scope: '*', name: 'shared', text: null }, place.clock())
    expect((await ask()).code).toBe('policy_denied')
  })

  test('an app that is let in again begins without a policy, and no version of one comes again', async () => {
    const own = await place.agent('again', ANYTHING)
    const ask = (): ReturnType<typeof send> => send(own, '/filesystem/dir/list', { path: files })
    expect((await ask()).code).toBe('ok')
    const before = Math.max(...(await listPolicies(place.database)).map(({ version }) => version))
    await removeApp(place.database, 'again', place.clock())
    const app = await createApp(place.database, { id: 'again', did: own.key.did }, place.clock())
    const key = openAmbientProviderKey(place.dataDir)
    own.delegations.splice(0, 1, await mintFor(place.database, key, app, { prefix: files }, place.clock()))
    expect((await ask()).code).toBe('policy_denied')
    const policy = { scope: 'again', name: 'main', text: ANYTHING }
    expect(await setPolicy(place.database, policy, place.clock())).toBeGreaterThan(before)
    expect((await ask()).code).toBe('ok')
  })

  test('SPEC 7.2 move and copy overwrite only when asked, and then need the delete decision', async () => {
    const own = await place.agent(
      'overwriter',
      `permit (principal, action, resource);
       forbid (principal, action == Action::"/filesystem/file/delete", resource);`,
    )
    writeFileSync(join(files, 'from'), 'from')
    writeFileSync(join(files, 'there'), 'there')
    for (const command of ['/filesystem/file/move', '/filesystem/file/copy'] as const) {
      const args = { path: join(files, 'from'), destination: join(files, 'there') }
      expect((await send(own, command, args)).code).toBe('already_exists')
      expect((await send(own, command, { ...args, overwrite: true })).code).toBe('policy_denied')
      expect(readFileSync(join(files, 'there'), 'utf8')).toBe('there')
    }
    const args = { path: join(files, 'from'), destination: join(files, 'there'), overwrite: true }
    expect((await send(agent, '/filesystem/file/move', args)).code).toBe('ok')
    expect(readFileSync(join(files, 'there'), 'utf8')).toBe('from')
  })

  test('decision 0481: who may not read a file cannot put it where he may', async () => {
    const prefix = parsePrefix(files)
    const own = await place.agent('mover', [
      { name: 'filesystem:subdir-read', prefix: parsePrefix(join(files, 'pub')) },
      { name: 'filesystem:write-subdir', prefix },
    ])
    for (const name of ['priv', 'pub']) mkdirSync(join(files, name))
    const secret = join(files, 'priv', 's')
    writeFileSync(secret, 'secret')
    symlinkSync(secret, join(files, 'pub', 'link'))
    const there = join(files, 'pub', 's')
    for (const command of ['/filesystem/file/move', '/filesystem/file/copy'] as const) {
      const { status, code, message } = await send(own, command, { path: secret, destination: there })
      expect({ status, code, message }).toEqual({
        status: 403,
        code: 'policy_denied',
        message: `${command} on ${secret}: it would be open there to /filesystem/file/read, which is asked about it here: no policy permits it`,
      })
      expect([existsSync(secret), existsSync(there)]).toEqual([true, false])
    }
    const copyLink = { path: join(files, 'pub', 'link'), destination: there }
    expect((await send(own, '/filesystem/file/copy', copyLink)).code).toBe('policy_denied')
    // A link goes as a link, and who reads through it is asked about both names.
    expect((await send(own, '/filesystem/file/move', copyLink)).code).toBe('ok')
    expect((await send(own, '/filesystem/file/read', { path: there })).code).toBe('policy_denied')
    const hidden = { path: secret, destination: join(files, 'priv', 't') }
    expect((await send(own, '/filesystem/file/copy', hidden)).code).toBe('ok')
    writeFileSync(join(files, 'pub', 'open'), 'open')
    const open = { path: join(files, 'pub', 'open'), destination: join(files, 'pub', 'open too') }
    expect((await send(own, '/filesystem/file/copy', open)).code).toBe('ok')
  })

  test('decision 0481: nor where a person would have to sign for reading it, unless one signs', async () => {
    const own = await place.agent(
      'careful-mover',
      `permit (principal, action, resource);
       forbid (principal, action == Action::"/filesystem/file/read", resource in Directory::"${join(files, 'kept')}")
       unless { context has cosigner && context.cosigner };`,
    )
    mkdirSync(join(files, 'kept'))
    writeFileSync(join(files, 'kept', 's'), 'secret')
    const args = { path: join(files, 'kept', 's'), destination: join(files, 'free') }
    expect((await send(own, '/filesystem/file/copy', args)).code).toBe('step_up_required')
    expect((await send(own, '/filesystem/file/move', args)).code).toBe('step_up_required')
    expect(existsSync(join(files, 'free'))).toBe(false)
  })

  test('what is withheld below is not shown by tree or search, and not removed by a recursive delete', async () => {
    mkdirSync(join(files, 'mixed/secret'), { recursive: true })
    writeFileSync(join(files, 'mixed/open.txt'), 'needle')
    writeFileSync(join(files, 'mixed/secret/key.txt'), 'needle')
    const own = await place.agent(
      'withheld',
      `permit (principal, action, resource);
       forbid (principal, action, resource) when { resource.path like "*/secret*" };`,
    )
    const json = async (command: Command, args: object): Promise<unknown> =>
      JSON.parse((await send(own, command, { path: join(files, 'mixed'), ...args })).body.toString())
    expect(await json('/filesystem/dir/tree', {})).toEqual({
      entries: [
        { path: join(files, 'mixed/open.txt'), kind: 'file' },
        { path: join(files, 'mixed/secret'), kind: 'directory' },
      ],
      truncated: false,
      withheld: 1,
      unreadable: 0,
    })
    expect(await json('/filesystem/file/search', { text: 'needle' })).toMatchObject({
      matches: [{ path: join(files, 'mixed/open.txt'), line: 1, text: 'needle' }],
      withheld: 1,
    })
    const removed = await send(own, '/filesystem/dir/delete_recursive', { path: join(files, 'mixed') })
    expect(removed.code).toBe('policy_denied')
    expect(readFileSync(join(files, 'mixed/open.txt'), 'utf8')).toBe('needle')
  })

  test('a directory that alone is withheld is not entered by a search either, and counted', async () => {
    const secret = join(files, 'searched/secret')
    mkdirSync(secret, { recursive: true })
    writeFileSync(join(files, 'searched/open'), 'needle')
    for (const name of ['a', 'b']) writeFileSync(join(secret, name), 'needle')
    const own = await place.agent(
      'searcher',
      `permit (principal, action, resource);
       forbid (principal, action == Action::"/filesystem/file/search", resource == Directory::"${secret}");`,
    )
    const search = (path: string): ReturnType<typeof send> =>
      send(own, '/filesystem/file/search', { path, text: 'needle' })
    expect((await search(secret)).code).toBe('policy_denied')
    expect(JSON.parse((await search(join(files, 'searched'))).body.toString())).toEqual({
      matches: [{ path: join(files, 'searched/open'), line: 1, text: 'needle' }],
      truncated: false,
      searched: 1,
      skipped: 0,
      withheld: 1,
    })
  })

  test('an edit shows its diff only to who may read', async () => {
    writeFileSync(join(files, 'edited'), 'one\ntwo\n')
    const own = await place.agent(
      'editor',
      'permit (principal, action == Action::"/filesystem/file/edit", resource);',
    )
    const args = { path: join(files, 'edited'), edits: [{ old: 'two', new: '2' }], dry_run: true }
    const blind = JSON.parse((await send(own, '/filesystem/file/edit', args)).body.toString()) as object
    expect(blind).toEqual({ size: 6, dry_run: true })
    const seeing = JSON.parse((await send(agent, '/filesystem/file/edit', args)).body.toString()) as {
      diff: string
    }
    expect(seeing.diff).toBe(
      `--- ${join(files, 'edited')}\n+++ ${join(files, 'edited')}\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n`,
    )
    expect(readFileSync(join(files, 'edited'), 'utf8')).toBe('one\ntwo\n')
  })

  test('a PIN is not guessed from its hash: who may not read is told the hash of nothing but what it sent', async () => {
    const path = join(files, 'pin')
    writeFileSync(path, 'pin: 4711\n')
    const blind = await place.agent(
      'guessing',
      'permit (principal, action, resource) unless { action == Action::"/filesystem/file/read" };',
    )
    const edits = [{ old: 'pin: ', new: 'PIN: ' }]
    const calls = [
      ['/filesystem/file/stat', { path, hash: true }],
      ['/filesystem/file/edit', { path, edits, dry_run: true }],
      ['/filesystem/file/copy', { path, destination: join(files, 'pin-copy') }],
      ['/filesystem/file/copy', { path, destination: join(files, 'pin-copy'), overwrite: true }],
      ['/filesystem/file/edit', { path, edits }],
      ['/filesystem/file/move', { path, destination: join(files, 'pin-moved') }],
    ] as const
    for (const [command, args] of calls) {
      const { code, body } = await send(blind, command, args)
      expect([code, body.toString()], command).toEqual(['ok', expect.not.stringMatching(/[0-9a-f]{64}/)])
    }
    expect(readFileSync(join(files, 'pin-moved'), 'utf8')).toBe('PIN: 4711\n')
  })
})

test('SPEC 7.6 what was refused to somebody known is recorded, with its code', async () => {
  const own = await place.agent('recorded', '')
  await send(own, '/filesystem/file/read', { path: join(files, 'a.txt') })
  await expect
    .poll(async () => {
      const rows = await place.database.queries
        .selectFrom('audit_records')
        .select('body')
        .orderBy('seq', 'desc')
        .limit(5)
        .execute()
      return rows
        .map(({ body }) => JSON.parse(body) as Record<string, unknown>)
        .find(({ app }) => app === 'recorded')
    })
    .toMatchObject({
      kind: 'refused',
      command: '/filesystem/file/read',
      path: join(files, 'a.txt'),
      code: 'policy_denied',
    })
})

test('logs hold no token, no path and no content', () => {
  const all = place.logged.join('')
  expect(all).not.toContain(files)
  expect(all).not.toMatch(/Bearer|did:key|Co[\w-]{40}/)
})

/** A chain that ends at a narrower directory, for the same agent. */
async function narrowed(prefix: ReturnType<typeof parsePrefix>): Promise<Delegation[]> {
  const [root] = agent.delegations
  const link = delegateOn(agent.key, [root!], {
    audience: agent.key.did,
    prefix,
    command: '/filesystem',
    expires: now() + 600,
  })
  return Promise.resolve([root!, link])
}

async function mintIn(prefix: string): Promise<Delegation> {
  const app = await findApp(place.database, 'agent')
  return mintFor(place.database, openAmbientProviderKey(place.dataDir), app, { prefix }, place.clock())
}

describe('what others do meanwhile', () => {
  /** A delegation for one directory below, made by the agent itself: it can have as many as it likes. */
  const below = (name: string): readonly Delegation[] => {
    mkdirSync(join(files, name), { recursive: true })
    const prefix = parsePrefix(join(files, name))
    const terms = { audience: agent.key.did, prefix, command: '/filesystem', expires: now() + 60 }
    return [...agent.delegations, delegateOn(agent.key, agent.delegations, terms)]
  }

  test('an agent that uses many prefixes does not close the one that another is writing below', async () => {
    const sent = Promise.withResolvers<undefined>()
    const other = await place.agent('uploader', ANYTHING)
    const upload = send(
      other,
      '/filesystem/file/write',
      { path: join(files, 'uploaded'), ...content('ab') },
      {
        body: ReadableStream.from(
          (async function* () {
            yield Buffer.from('a')
            await sent.promise
            yield Buffer.from('b')
          })(),
        ),
      },
    )
    await expect.poll(() => readdirSync(files).some((name) => isTempName(name))).toBe(true)
    for (let i = 0; i < 70; i++) {
      const { code } = await send(
        agent,
        '/filesystem/dir/list',
        { path: join(files, `many${i}`) },
        { chain: below(`many${i}`) },
      )
      expect(code).toBe('ok')
    }
    sent.resolve(undefined)
    expect((await upload).code).toBe('ok')
    expect(readFileSync(join(files, 'uploaded'), 'utf8')).toBe('ab')
  })

  test('a prefix that is a file is refused, not an error of ours', async () => {
    const prefix = parsePrefix(join(files, 'a.txt'))
    const terms = { audience: agent.key.did, prefix, command: '/filesystem', expires: now() + 60 }
    const chain = [...agent.delegations, delegateOn(agent.key, agent.delegations, terms)]
    expect(await read(prefix, { chain })).toMatchObject({ status: 409, code: 'wrong_kind' })
  })
})

describe('the provider’s own directory', () => {
  let wide: Agent
  beforeAll(async () => {
    wide = await place.agent('wide', ANYTHING, { prefix: place.dir })
  })
  const key = (): string => join(place.dataDir, 'provider.key')

  test.each([
    ['/filesystem/file/read', {}],
    ['/filesystem/file/stat', { hash: true }],
    ['/filesystem/file/delete', {}],
    ['/filesystem/file/edit', { edits: [{ old: 'z', new: 'y', all: true }] }],
  ] as const)('no delegation reaches into it: %s', async (command, more) => {
    const { status, code, message } = await send(wide, command, { path: key(), ...more })
    expect({ status, code, message }).toEqual({
      status: 403,
      code: 'not_permitted',
      message: 'cannot look at data/provider.key: data is not for anybody here',
    })
    expect(existsSync(key())).toBe(true)
  })

  test('nor a copy out of it or into it, a search, a tree, a delegation for a part of it, nor its removal', async () => {
    const copy = join(files, 'stolen')
    const asked = await Promise.all([
      send(wide, '/filesystem/file/copy', { path: key(), destination: copy }),
      send(wide, '/filesystem/file/copy', {
        path: join(files, 'a.txt'),
        destination: key(),
        overwrite: true,
      }),
      send(wide, '/filesystem/file/create', { path: `${key()}.2`, ...content('x') }, { body: 'x' }),
      send(wide, '/filesystem/dir/list', { path: place.dataDir }),
      send(wide, '/filesystem/dir/delete_recursive', { path: place.dataDir }),
    ])
    expect(asked.map(({ code }) => code)).toEqual(Array(5).fill('not_permitted'))
    expect(existsSync(copy)).toBe(false)

    const secret = readFileSync(key(), 'utf8').trim()
    const found = await send(wide, '/filesystem/file/search', { path: place.dir, text: secret })
    expect(JSON.parse(found.body.toString())).toMatchObject({ matches: [], skipped: 1 })
    const tree = await send(wide, '/filesystem/dir/tree', { path: place.dir })
    expect(tree.body.toString()).not.toContain('provider.key')

    mkdirSync(join(place.dataDir, 'agents'), { mode: 0o700 })
    const part = await place.agent('part', ANYTHING, { prefix: join(place.dataDir, 'agents') })
    const { code } = await send(part, '/filesystem/dir/list', { path: join(place.dataDir, 'agents') })
    expect(code).toBe('resource_out_of_scope')
  })

  test('nor a directory of it that is mounted elsewhere, also of an agent that came since', async () => {
    const wallets = join(place.dataDir, 'agents')
    const wallet = join(wallets, 'demo')
    mkdirSync(wallet, { recursive: true, mode: 0o700 })
    writeFileSync(join(wallet, 'agent.key'), 'secret', { mode: 0o600 })
    for (const [what, name] of [
      [wallets, 'mounted-wallets'],
      [wallet, 'mounted-wallet'],
    ] as const) {
      const mounted = join(files, name)
      mkdirSync(mounted)
      if (spawnSync('mount', ['--bind', what, mounted]).status !== 0)
        return console.log('nothing can be mounted here: not tried')
      try {
        const secret = join(mounted, ...(what === wallet ? [] : ['demo']), 'agent.key')
        expect(readFileSync(secret, 'utf8')).toBe('secret')
        const { status, code } = await read(secret)
        expect({ status, code }).toEqual({ status: 403, code: 'not_permitted' })
        const found = await send(agent, '/filesystem/file/search', { path: files, text: 'secret' })
        expect(found.body.toString()).not.toContain('agent.key')
        const direct = await place.agent(name, ANYTHING, { prefix: mounted })
        expect((await send(direct, '/filesystem/file/read', { path: secret })).code).toBe('not_permitted')
      } finally {
        spawnSync('umount', ['-l', mounted])
      }
    }
  })
})

describe('texts that are chosen to keep the provider busy', () => {
  const path = (): string => join(files, 'busy')
  const edit = (edits: readonly object[]): ReturnType<typeof send> =>
    send(agent, '/filesystem/file/edit', { path: path(), edits, dry_run: true })
  beforeAll(() => writeFileSync(path(), 'a'.repeat(8 * 1024 * 1024)))

  test('an edit and a search for a text that nearly fits everywhere take no longer than others', async () => {
    const nearly = (around: number): string => `${'a'.repeat(around)}b${'a'.repeat(around)}`
    expect(await edit([{ old: nearly(20_000), new: '' }])).toMatchObject({
      code: 'changed',
      message: 'edit 1: its old text is not there; nothing was changed',
    })
    const found = await send(agent, '/filesystem/file/search', { path: path(), text: nearly(511) })
    expect(JSON.parse(found.body.toString())).toMatchObject({ matches: [], searched: 1 })
  })

  test('an edit that would make gigabytes, or change millions of places, is refused before it is begun', async () => {
    expect(await edit([{ old: 'a'.repeat(1024), new: 'b'.repeat(30_000), all: true }])).toMatchObject({
      code: 'too_large',
      message: 'the text would become too large',
    })
    expect(await edit(Array.from({ length: 100 }, () => ({ old: 'a', new: 'a', all: true })))).toMatchObject({
      code: 'too_large',
      message: 'edit 1: its old text is there too often; write the file whole',
    })
  })

  test('a long text is found where the engine finds it', () => {
    const some = fc.string({ unit: fc.constantFrom('a', 'a', 'a', 'b'), maxLength: 120 })
    const wanted = fc.string({ unit: fc.constantFrom('a', 'a', 'a', 'b'), minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(some, wanted, fc.nat(5), (text, part, from) => {
        const whole = text + part + text
        expect(new TextFinder(part).next(whole, from)).toBe(whole.indexOf(part, from))
      }),
      { numRuns: 2000 },
    )
  })
})
