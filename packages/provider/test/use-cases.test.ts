import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Admin } from '../src/admin.ts'
import { ProviderRefusal } from '../src/client/client.ts'
import { type PathPrefix } from '../src/tokens/prefix.ts'
import { TestPlace } from './place.ts'

/** Five common use cases, from the policy to the bytes. */
let place: TestPlace
const at = (name: string): PathPrefix => join(place.files, name) as PathPrefix
const codeOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'ok',
    (error: unknown) => (error instanceof ProviderRefusal ? error.code : String(error)),
  )

beforeAll(async () => {
  place = await TestPlace.start()
  for (const dir of ['repos/acme/src', 'repos/other', 'log/myapp', 'build/out', 'srv/releases'])
    mkdirSync(join(place.files, dir), { recursive: true })
  writeFileSync(at('repos/acme/src/main.ts'), 'main')
  writeFileSync(at('repos/acme/notes.md'), 'notes')
  writeFileSync(at('repos/other/secret'), 'secret')
  writeFileSync(at('log/myapp/today.log'), 'GET /\n')
  writeFileSync(at('build/out/app.tar'), 'artifact')
})
afterAll(() => place.close())

test('1. a researcher reads a code tree: read and tree, no writes', async () => {
  const agent = await place.agent(
    'researcher',
    [{ name: 'filesystem:subdir-read', prefix: at('repos/acme') }],
    {
      prefix: at('repos/acme'),
    },
  )
  const client = agent.client()
  expect(await client.readText(at('repos/acme/src/main.ts'))).toBe('main')
  const { entries } = await client.call('/filesystem/dir/tree', { path: at('repos/acme') })
  expect(entries.map(({ path }) => path).toSorted()).toEqual([
    at('repos/acme/notes.md'),
    at('repos/acme/src'),
    at('repos/acme/src/main.ts'),
  ])
  expect(await codeOf(client.write(at('repos/acme/src/main.ts'), 'x'))).toBe('policy_denied')
  expect(await codeOf(client.call('/filesystem/file/delete', { path: at('repos/acme/notes.md') }))).toBe(
    'policy_denied',
  )
  expect(readFileSync(at('repos/acme/src/main.ts'), 'utf8')).toBe('main')
})

test('2. a codegen agent rewrites .ts files; deletes need a person', async () => {
  const agent = await place.agent('codegen', [
    { name: 'filesystem:write-subdir', prefix: at('repos/acme') },
    { name: 'filesystem:extension-filter', extensions: ['.ts'], applies: 'writes' },
    { name: 'filesystem:delete-step-up', prefix: at('repos/acme') },
  ])
  const client = agent.client()
  await client.write(at('repos/acme/src/main.ts'), 'rewritten')
  expect(readFileSync(at('repos/acme/src/main.ts'), 'utf8')).toBe('rewritten')
  expect(await codeOf(client.write(at('repos/acme/notes.md'), 'x'))).toBe('policy_denied')
  const refused = await client
    .call('/filesystem/file/delete', { path: at('repos/acme/src/main.ts') })
    .catch((error: unknown) => error as ProviderRefusal)
  expect(refused).toMatchObject({ code: 'step_up_required', status: 428 })
  const admin = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test' })
  await admin.decide(String((refused as ProviderRefusal).detail['approval']), 'approve')
  await admin.close()
  await client.call('/filesystem/file/delete', { path: at('repos/acme/src/main.ts') })
  expect(existsSync(at('repos/acme/src/main.ts'))).toBe(false)
})

test('3. a logs collector reads its directory and nothing beside it', async () => {
  const agent = await place.agent('logs', [{ name: 'filesystem:subdir-read', prefix: at('log/myapp') }], {
    prefix: at('log/myapp'),
  })
  expect(await agent.client().readText(at('log/myapp/today.log'))).toBe('GET /\n')
  expect(await codeOf(agent.client().readText(at('repos/other/secret')))).toBe('no_delegation')
})

test('4. a sandbox: everything in /tmp/agent-<id>, nothing elsewhere', async () => {
  const id = `test-${process.pid}`
  const dir = `/tmp/agent-${id}`
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  try {
    const agent = await place.agent('sandbox', [{ name: 'filesystem:developer-sandbox', id }], {
      prefix: dir,
    })
    const client = agent.client()
    await client.call('/filesystem/dir/create', { path: `${dir}/a` })
    await client.create(`${dir}/a/f`, 'text')
    await client.call('/filesystem/file/copy', { path: `${dir}/a/f`, destination: `${dir}/a/g` })
    await client.call('/filesystem/file/edit', { path: `${dir}/a/g`, edits: [{ old: 'text', new: 'more' }] })
    expect(await client.readText(`${dir}/a/g`)).toBe('more')
    await client.call('/filesystem/dir/delete_recursive', { path: `${dir}/a` })
    expect(existsSync(`${dir}/a`)).toBe(false)
    expect(await codeOf(client.readText('/etc/hostname'))).toBe('no_delegation')
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})

test('5. a mover of build artifacts: from /build/out to /srv/releases, and no other way', async () => {
  const agent = await place.agent('mover', [
    { name: 'filesystem:write-subdir', prefix: at('srv/releases'), from: at('build/out') },
  ])
  const client = agent.client()
  await client.call('/filesystem/file/move', {
    path: at('build/out/app.tar'),
    destination: at('srv/releases/app.tar'),
  })
  expect(readFileSync(at('srv/releases/app.tar'), 'utf8')).toBe('artifact')
  expect(existsSync(at('build/out/app.tar'))).toBe(false)
  const back = { path: at('srv/releases/app.tar'), destination: at('build/out/app.tar') }
  expect(await codeOf(client.call('/filesystem/file/move', back))).toBe('policy_denied')
  const steal = { path: at('repos/other/secret'), destination: at('srv/releases/secret') }
  expect(await codeOf(client.call('/filesystem/file/copy', steal))).toBe('policy_denied')
})
