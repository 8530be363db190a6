import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Admin } from '../src/admin.ts'
import { type Agent, ANYTHING, content, send, type Sent, TestPlace } from './place.ts'

/** Decision 0591: what is forbidden, or needs a person, by itself does so as a part of something else. */
let place: TestPlace
let made = 0

beforeAll(async () => {
  place = await TestPlace.start()
})
afterAll(() => place.close())

const SIGNED = 'context has cosigner && context.cosigner'
const action = (name: string): string => `action == Action::"/filesystem/${name}"`

/** An agent that may do anything in a directory of its own, but for these. */
async function agentWith(forbid: (dir: string) => string): Promise<{ agent: Agent; dir: string }> {
  const name = `compound-${made++}`
  const dir = join(place.files, name)
  mkdirSync(dir)
  return { agent: await place.agent(name, `${ANYTHING}\n${forbid(dir)}`), dir }
}

const json = ({ body }: Sent): Record<string, unknown> =>
  JSON.parse(body.toString()) as Record<string, unknown>

async function approve({ error }: Sent): Promise<void> {
  const admin = await Admin.open({
    choice: place.choice,
    dir: place.dataDir,
    by: 'the test',
    clock: place.clock,
  })
  await admin.decide(String(error['approval']), 'approve')
  await admin.close()
}

describe('a move or copy makes a file', () => {
  test.each(['copy', 'move'] as const)('a %s puts none where none may be created', async (verb) => {
    const { agent, dir } = await agentWith(
      (at) => `forbid (principal, ${action('file/create')}, resource in Directory::"${at}/.ssh");`,
    )
    mkdirSync(join(dir, '.ssh'))
    writeFileSync(join(dir, 'k'), 'evil')
    const to = join(dir, '.ssh', 'rc')
    const { status, code, message } = await send(agent, `/filesystem/file/${verb}`, {
      path: join(dir, 'k'),
      destination: to,
    })
    expect({ status, code, message }).toEqual({
      status: 403,
      code: 'policy_denied',
      message: `/filesystem/file/${verb} on ${join(dir, 'k')}: it comes to /filesystem/file/create on ${to}, too: forbidden by line 2`,
    })
    expect([readdirSync(join(dir, '.ssh')), existsSync(join(dir, 'k'))]).toEqual([[], true])
  })

  test.each(['copy', 'move'] as const)('a %s replaces none that may not be written', async (verb) => {
    const { agent, dir } = await agentWith(
      (at) => `forbid (principal, ${action('file/write')}, resource == File::"${at}/kept");`,
    )
    for (const name of ['k', 'kept', 'free']) writeFileSync(join(dir, name), name)
    const over = (name: string): Promise<Sent> =>
      send(agent, `/filesystem/file/${verb}`, {
        path: join(dir, 'k'),
        destination: join(dir, name),
        overwrite: true,
      })
    expect((await over('kept')).code).toBe('policy_denied')
    expect(readFileSync(join(dir, 'kept'), 'utf8')).toBe('kept')
    expect((await over('free')).code).toBe('ok')
  })

  test('where creating needs a person, so does moving something there', async () => {
    const { agent, dir } = await agentWith(
      (at) =>
        `forbid (principal, ${action('file/create')}, resource in Directory::"${at}/in") unless { ${SIGNED} };`,
    )
    mkdirSync(join(dir, 'in'))
    writeFileSync(join(dir, 'k'), 'k')
    const move = (): Promise<Sent> =>
      send(agent, '/filesystem/file/move', { path: join(dir, 'k'), destination: join(dir, 'in', 'k') })
    const refused = await move()
    expect(refused.code).toBe('step_up_required')
    await approve(refused)
    expect((await move()).code).toBe('ok')
    expect(readFileSync(join(dir, 'in', 'k'), 'utf8')).toBe('k')
  })

  test('who is permitted to move, and to create nothing, moves', async () => {
    const name = `mover-${made++}`
    mkdirSync(join(place.files, name))
    writeFileSync(join(place.files, name, 'a'), 'a')
    const mover = await place.agent(name, `permit (principal, ${action('file/move')}, resource);`)
    const [path, destination] = [join(place.files, name, 'a'), join(place.files, name, 'b')]
    expect((await send(mover, '/filesystem/file/create', { path, ...content('') })).code).toBe(
      'policy_denied',
    )
    expect((await send(mover, '/filesystem/file/move', { path, destination })).code).toBe('ok')
  })
})

describe('a recursive delete is one of each entry', () => {
  /** `d/a`, `d/sub/x`. */
  function tree(dir: string): string {
    mkdirSync(join(dir, 'd', 'sub'), { recursive: true })
    writeFileSync(join(dir, 'd', 'a'), 'a')
    writeFileSync(join(dir, 'd', 'sub', 'x'), 'precious')
    return join(dir, 'd')
  }
  const remove = (agent: Agent, path: string, more = {}): Promise<Sent> =>
    send(agent, '/filesystem/dir/delete_recursive', { path, ...more })

  test.each([
    [
      'a file',
      (at: string) => `forbid (principal, ${action('file/delete')}, resource == File::"${at}/d/sub/x");`,
    ],
    [
      'a directory',
      (at: string) => `forbid (principal, ${action('dir/delete')}, resource == Directory::"${at}/d/sub");`,
    ],
    [
      'itself',
      (at: string) => `forbid (principal, ${action('dir/delete')}, resource == Directory::"${at}/d");`,
    ],
  ])('of which %s may not be deleted: nothing goes', async (_, forbid) => {
    const { agent, dir } = await agentWith(forbid)
    const d = tree(dir)
    expect((await remove(agent, d)).code).toBe('policy_denied')
    expect((await remove(agent, d, { dry_run: true })).code).toBe('policy_denied')
    expect([existsSync(join(d, 'a')), existsSync(join(d, 'sub', 'x'))]).toEqual([true, true])
  })

  test.each([
    [
      'forbidden without',
      `forbid (principal, ${action('file/delete')}, resource) unless { ${SIGNED} };`,
      ANYTHING,
    ],
    [
      'permitted with',
      `permit (principal, ${action('file/delete')}, resource) when { ${SIGNED} };`,
      `permit (principal, action, resource) unless { ${action('file/delete')} };`,
    ],
  ])(
    'of which a file needs a person (%s): all of it does, and a dry run says which',
    async (_, file, rest) => {
      const name = `compound-${made++}`
      mkdirSync(join(place.files, name))
      const agent = await place.agent(name, `${rest}\n${file}`)
      const d = tree(join(place.files, name))
      const dry = json(await remove(agent, d, { dry_run: true }))
      expect(dry).toMatchObject({ files: 2, directories: 2, dry_run: true })
      const { entries, paths } = dry['needs_person'] as { entries: number; paths: string[] }
      expect([entries, paths.toSorted()]).toEqual([2, [join(d, 'a'), join(d, 'sub', 'x')]])
      const refused = await remove(agent, d)
      expect(refused.code).toBe('step_up_required')
      expect(existsSync(join(d, 'sub', 'x'))).toBe(true)
      await approve(refused)
      expect((await remove(agent, d)).code).toBe('ok')
      expect(existsSync(d)).toBe(false)
    },
  )

  test('who needs nobody is told of nobody, and it is looked at once', async () => {
    const { agent, dir } = await agentWith(() => '')
    const d = tree(dir)
    expect(json(await remove(agent, d, { dry_run: true }))).toEqual({
      files: 2,
      directories: 2,
      bytes: 9,
      dry_run: true,
      paths: expect.any(Array) as unknown,
      truncated: false,
    })
    expect((await remove(agent, d)).code).toBe('ok')
  })
})

describe('a search reads', () => {
  const needle = 'KEY=hunter2'
  async function searcher(): Promise<{ agent: Agent; dir: string }> {
    const found = await agentWith(
      () => `forbid (principal, ${action('file/read')}, resource) when { resource.extension == ".env" };`,
    )
    for (const name of ['.env', 'open.txt']) writeFileSync(join(found.dir, name), needle)
    return found
  }

  test('a file that may not be read is not searched below a directory, and is counted without its name', async () => {
    const { agent, dir } = await searcher()
    expect(json(await send(agent, '/filesystem/file/search', { path: dir, text: 'KEY' }))).toEqual({
      matches: [{ path: join(dir, 'open.txt'), line: 1, text: needle }],
      truncated: false,
      searched: 1,
      skipped: 0,
      withheld: 1,
    })
  })

  test('nor when it is named', async () => {
    const { agent, dir } = await searcher()
    const { code, body } = await send(agent, '/filesystem/file/search', {
      path: join(dir, '.env'),
      text: 'KEY',
    })
    expect(code).toBe('policy_denied')
    expect(body.toString()).not.toContain('hunter2')
  })
})

describe('a directory is made with those above it', () => {
  const mkdir = (agent: Agent, path: string): Promise<Sent> =>
    send(agent, '/filesystem/dir/create', { path, parents: true })
  const outcomeOf = async (path: string): Promise<unknown> => {
    const rows = await place.database.queries.selectFrom('audit_records').select('body').execute()
    return rows
      .map(({ body }) => JSON.parse(body) as Record<string, unknown>)
      .find((record) => record['kind'] === 'outcome' && record['path'] === path)?.['after']
  }

  test('none is made that may not be, nor any of the others', async () => {
    const { agent, dir } = await agentWith(
      (at) => `forbid (principal, ${action('dir/create')}, resource == Directory::"${at}/a/no");`,
    )
    const { code, message } = await mkdir(agent, join(dir, 'a', 'no', 'x'))
    expect([code, message]).toEqual([
      'policy_denied',
      `/filesystem/dir/create on ${join(dir, 'a', 'no')}: forbidden by line 2`,
    ])
    expect(readdirSync(dir)).toEqual([])
  })

  test('where one of them needs a person, so does all of it', async () => {
    const { agent, dir } = await agentWith(
      (at) =>
        `forbid (principal, ${action('dir/create')}, resource == Directory::"${at}/a") unless { ${SIGNED} };`,
    )
    const refused = await mkdir(agent, join(dir, 'a', 'x'))
    expect(refused.code).toBe('step_up_required')
    await approve(refused)
    expect((await mkdir(agent, join(dir, 'a', 'x'))).code).toBe('ok')
  })

  test('each is recorded', async () => {
    const { agent, dir } = await agentWith(() => '')
    mkdirSync(join(dir, 'there'))
    const path = join(dir, 'there', 'a', 'b', 'c')
    expect((await mkdir(agent, path)).code).toBe('ok')
    expect(await outcomeOf(path)).toEqual({
      entries: 0,
      made: [join(dir, 'there', 'a'), join(dir, 'there', 'a', 'b')],
    })
  })

  test('no more than can be asked about at a time', async () => {
    const { agent, dir } = await agentWith(() => '')
    const { code, message } = await mkdir(agent, join(dir, ...Array<string>(66).fill('d')))
    expect([code, message]).toEqual([
      'bad_request',
      'more than 64 directories above it are missing; make some first',
    ])
    expect(readdirSync(dir)).toEqual([])
  })
})

test('SPEC 7.3 others have their turn while a recursive delete asks about 3,000 files, each by its name', async () => {
  const { agent, dir } = await agentWith(
    () => `forbid (principal, action, resource) when { resource.name == "never" };`,
  )
  const many = join(dir, 'many')
  mkdirSync(many)
  for (let i = 0; i < 3000; i++) writeFileSync(join(many, `${i}`), '')
  let longest = 0
  let last = performance.now()
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 1)
  const { code } = await send(agent, '/filesystem/dir/delete_recursive', { path: many })
  clearInterval(watch)
  expect(code).toBe('ok')
  expect(longest).toBeLessThan(750)
})
