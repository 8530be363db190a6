import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  Blobs,
  type ConversationEvent,
  type ConversationRef,
  createConversation,
  openConversation,
  openWorkspace,
  type Shelf,
} from '@cordon/workspace'
import { beforeEach, expect, test } from 'vitest'
import { cordon, type Ended, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

let here: { cwd: string; home: string }
let shelf: Shelf

beforeEach(() => {
  here = { cwd: temporary(), home: temporary() }
  mkdirSync(join(here.cwd, '.cordon'))
  const surroundings = { env: {}, platform: 'linux', home: here.home, uid: process.getuid?.() }
  const workspace = openWorkspace(here.cwd, surroundings)!
  shelf = { workspace, holder: { pid: process.pid, command: 'test' }, now: () => new Date() }
})

const at = '2026-11-15T12:00:00.000Z'

async function talk(title: string, ...events: ConversationEvent[]): Promise<ConversationRef> {
  const ref = await createConversation(shelf, { keeping: 'shared', title })
  const writer = await openConversation(shelf, ref, { wait: 0 })
  await writer.append(events)
  await writer.close()
  return ref
}

const turn = (request: string, response: string): ConversationEvent[] => [
  { kind: 'turn', at },
  { kind: 'request', at, text: request, resources: [] },
  { kind: 'response', at, text: response, model: 'm1' },
]

const run = (...args: string[]): Ended => cordon(here, 'conversation', ...args)
const json = (...args: string[]): unknown => JSON.parse(run(...args, '--json').stdout)
const ok = (stdout: string): Ended => ({ code: 0, stdout, stderr: '' })

test('SPEC 6.5 ls: aligned, the last used first, archived ones apart, and it reads no events', async () => {
  expect(run('ls')).toEqual({ code: 0, stdout: '', stderr: 'no conversations yet\n' })
  expect(existsSync(join(here.home, '.local'))).toBe(false)
  const one = await talk('Fix the parser', ...turn('a', 'b'))
  const two = await talk('Title with\u001b[2J an escape')
  expect(run('use', one.id)).toEqual(ok(`using ${one.id}\n`))
  // Damage in the events is nothing a listing would notice.
  writeFileSync(join(two.dir, 'events.jsonl'), 'x\ny\nz\n')
  const { stdout } = run('ls')
  expect(stdout.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'YYYY-MM-DD hh:mm')).toBe(
    `   ID                LAST USED         KEPT    TITLE
   ${two.id}  YYYY-MM-DD hh:mm  shared  "Title with\\u001b[2J an escape"
*  ${one.id}  YYYY-MM-DD hh:mm  shared  Fix the parser
`,
  )
  expect(run('archive', two.id)).toEqual(ok(`archived ${two.id}\n`))
  expect(run('ls').stderr).toBe('1 archived; --archived shows them\n')
  expect(json('ls')).toMatchObject([
    { id: one.id, title: 'Fix the parser', last_used: true, archived_at: null },
  ])
  expect(run('ls', '--archived').stdout).toContain('an escape" (archived)')
  expect(json('unarchive', two.id)).toEqual({ id: two.id, archived: false })
  expect((json('ls') as unknown[]).length).toBe(2)
})

test('SPEC 6.5 show, path, and an id that is too short or wrong', async () => {
  const one = await talk('One', ...turn('a', 'b'), ...turn('c', 'd'))
  expect(run('show')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'cordon: no conversation was used here yet\n  fix: name one of `cordon conversation ls`; `cordon attachment add PATH` begins one\n',
  })
  expect(run('path', one.id.slice(-6))).toEqual(ok(`${one.dir}\n`))
  expect(json('path', one.id)).toEqual({ id: one.id, path: one.dir })
  const { stdout } = run('show', one.id)
  expect(stdout).toContain(`${one.id}\n  title:      One\n  kept:       shared, in the workspace\n`)
  expect(stdout).toContain('  events:     2 turn, 2 request, 2 response\n')
  expect(json('show', one.id)).toMatchObject({ id: one.id, events: { turn: 2, request: 2, response: 2 } })
  expect(run('show', 'nothing')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: there is no conversation "nothing"; `cordon conversation ls` lists them\n',
  })
  await talk('Two')
  expect(run('show', one.id.slice(0, 4)).stderr).toContain('could be any of')
})

test('SPEC 6.2 show --files lists what to stage', async () => {
  const { $blob, size } = await new Blobs(shelf).shared.put(Readable.from([Buffer.from('content')]))
  const resource = { uri: 'file:///a', text: { $blob, size } }
  const one = await talk('One', { kind: 'request', at, text: '', resources: [resource] })
  const blob = `.cordon/blobs/${$blob.slice(0, 2)}/${$blob.slice(2, 4)}/${$blob.slice(4)}.blob.gz`
  const files = ['events.jsonl', 'meta.json'].map((name) => `.cordon/conversations/${one.id}/${name}`)
  expect(run('show', one.id, '--files')).toEqual(ok([...files, blob, ''].join('\n')))
  expect(json('show', one.id, '--files')).toEqual([...files, blob])
})

test('SPEC 6.5 print: Markdown for people, every event for programs, unknown kinds kept', async () => {
  const strange = { kind: 'from_the_future', at, payload: [1, 2] } as unknown as ConversationEvent
  const one = await talk('One', ...turn('Why?', 'Because.\u001b[31m'), strange)
  const markdown = `## You\n\nWhy?\n\n## Assistant (m1)\n\nBecause.\u001b[31m\n`
  expect(run('print', one.id)).toEqual(ok(markdown))
  expect(json('print', one.id)).toEqual([...turn('Why?', 'Because.\u001b[31m'), strange])
  // A terminal is not at the mercy of what a model wrote.
  expect(cordonAtTerminal(here, ['conversation', 'print', one.id], []).raw).toContain('Because.\\u{1b}[31m')
  const empty = await talk('Empty')
  expect(run('print', empty.id, '--json')).toEqual(ok('[]\n'))
})

test('SPEC 6.5 grep: lines with conversation and place; exit 1 without a hit, 2 for a wrong pattern', async () => {
  const one = await talk('One', ...turn('find the needle here\nsecond line', 'no'))
  const two = await talk('Two', ...turn('x', 'a NEEDLE.* too'))
  expect(run('grep', 'needle')).toEqual(ok(`${one.id}:2:request: find the needle here\n`))
  expect(run('grep', '-i', 'needle').stdout.split('\n').length).toBe(3)
  expect(run('grep', '-F', '.*').stdout).toBe(`${two.id}:3:response: a NEEDLE.* too\n`)
  expect(json('grep', 'needle', '--id', one.id)).toEqual([
    { conversation: one.id, line: 2, kind: 'request', text: 'find the needle here' },
  ])
  expect(run('grep', 'needle', '--id', two.id)).toEqual({ code: 1, stdout: '', stderr: '' })
  expect(run('grep', '(')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: "(" is not a regular expression; --fixed-strings takes it as plain text\n',
  })
  run('archive', one.id)
  expect(run('grep', 'needle').code).toBe(1)
  expect(run('grep', 'needle', '--archived').code).toBe(0)
  // One that cannot be read does not hide the others.
  writeFileSync(join(two.dir, 'events.jsonl'), 'x\ny\nz\n')
  const ended = run('grep', 'needle', '--archived')
  expect(ended.code).toBe(0)
  expect(ended.stderr).toContain('warning: cannot read the conversation')
})

test('SPEC 6.5 fork: a copy, up to a turn, and the session goes on with it', async () => {
  const one = await talk('One', ...turn('a', 'b'), ...turn('c', 'd'))
  const { id } = json('fork', one.id, '--turns', '1', '--title', 'Other way') as { id: string }
  expect(json('show')).toMatchObject({ id, title: 'Other way', forked_from: one.id, events: { turn: 1 } })
  expect(run('fork').stdout).toMatch(new RegExp(`^forked ${id}; using the copy [0-9a-z]{16}\n$`))
  expect(run('fork', one.id, '--turns', 'two')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: --turns two: expected a whole number, such as 3\n',
  })
})

test('SPEC 6.5 rm asks at a terminal, needs --yes without one, and removes all or none', async () => {
  const one = await talk('One')
  const two = await talk('Two')
  const there = (): string[] => readdirSync(join(here.cwd, '.cordon/conversations')).toSorted()
  expect(run('rm', one.id)).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'cordon: removing cannot be undone, and without a terminal nobody can be asked\n  fix: add --yes\n',
  })
  expect(run('rm', one.id, 'wrong', '--yes').code).toBe(2)
  expect(there()).toEqual([one.id, two.id].toSorted())
  const no = cordonAtTerminal(here, ['conversation', 'rm', one.id], [['[y/N] ', 'n\n']])
  expect({ code: no.code, missed: no.missed }).toEqual({ code: 1, missed: [] })
  expect(no.screen).toContain(`  ${one.id}  One\n\nRemove this conversation? It cannot be undone. [y/N] n`)
  expect(no.screen).toContain('nothing was removed')
  expect(there()).toEqual([one.id, two.id].toSorted())
  expect(cordonAtTerminal(here, ['conversation', 'rm', one.id], [['[y/N] ', 'y\n']]).code).toBe(0)
  expect(there()).toEqual([two.id])
  expect(json('rm', two.id, two.id, '--yes')).toEqual([{ id: two.id, removed: true }])
  expect(there()).toEqual([])
})

test('SPEC 6.2 gc: removes what nothing needs, says what it would, and stops at what it cannot read', async () => {
  const one = await talk('One')
  expect(cordon(here, 'gc')).toEqual(ok('removed 0 of 0 stored contents, 0 bytes\n'))
  const { shared } = new Blobs(shelf)
  const put = async (text: string): Promise<string> =>
    shared.pathOf((await shared.put(Readable.from([Buffer.from(text)]))).$blob)
  const recent = await put('just now')
  const old = await put('two days ago')
  const then = new Date(Date.now() - 2 * 24 * 60 * 60 * 1000)
  utimesSync(old, then, then)
  const bytes = statSync(old).size
  const kept = 'kept 1 that nothing needs, because they are recent\n'
  expect(cordon(here, 'gc', '--dry-run')).toEqual(
    ok(`would remove 1 of 2 stored contents, ${bytes} bytes\n${kept}`),
  )
  expect(existsSync(old)).toBe(true)
  expect(cordon(here, 'gc')).toEqual(ok(`removed 1 of 2 stored contents, ${bytes} bytes\n${kept}`))
  expect([existsSync(old), existsSync(recent)]).toEqual([false, true])
  expect(JSON.parse(cordon(here, 'gc', '--json').stdout)).toEqual({
    dry_run: false,
    removed: [],
    bytes: 0,
    referenced: 0,
    recent: 1,
  })
  writeFileSync(join(one.dir, 'events.jsonl'), 'x\ny\nz\n')
  expect(cordon(here, 'gc')).toMatchObject({ code: 2, stdout: '' })
})

const delta = (mode: string): ConversationEvent => ({ kind: 'config', at, delta: { sandbox: { mode } } })

test('SPEC 2 the layer of the conversation: between the environment and --cfg, in the order of its events', async () => {
  const one = await talk('One', delta('off'), delta('warn'))
  const mode = (...args: string[]): unknown => {
    const ended = cordon(
      { ...here, env: { CORDON_CFG_SANDBOX__MODE: 'enforce' } },
      'config',
      'show',
      '--json',
      ...args,
    )
    return (JSON.parse(ended.stdout) as { sandbox: { mode: string } }).sandbox.mode
  }
  expect(mode()).toBe('enforce') // nobody has used it yet
  expect(mode('--id', one.id)).toBe('warn')
  run('use', one.id)
  expect(mode()).toBe('warn')
  expect(mode('--no-id')).toBe('enforce')
  expect(mode('--cfg', 'sandbox.mode=off')).toBe('off')
  expect(cordon(here, 'config', 'explain', 'sandbox.mode').stdout).toBe(
    `sandbox.mode = "warn"  conversation ${one.id} (conversation)
  instead of "off"  conversation ${one.id} (conversation)
  instead of "enforce"  built-in defaults (built-in)
`,
  )
})

test('SPEC 2 a conversation that is wrong or unreadable fails the command, and the way out is there', async () => {
  const one = await talk('One', delta('wrong'))
  run('use', one.id)
  const ended = cordon(here, 'why', 'fs_read_file', 'read', 'x')
  expect(ended.code).toBe(2)
  expect(ended.stderr).toContain(`conversation ${one.id}`)
  expect(cordon(here, 'why', 'fs_read_file', 'read', 'x', '--no-id').code).toBe(0)
  writeFileSync(join(one.dir, 'events.jsonl'), 'x\ny\nz\n')
  expect(cordon(here, 'policy', 'explain').code).toBe(2)
  expect(run('rm', one.id, '--yes').code).toBe(0)
  expect(cordon(here, 'policy', 'explain').code).toBe(0)
})

test('SPEC 2 a conversation outlives a tool that it has rules for', async () => {
  const file = join(here.cwd, '.cordon/config.toml')
  const tool = '[conversation.tools.t]\nsource = "local"\ncommand = ["true"]\n'
  const fs = [{ path: 'src', read: true }]
  const one = await talk('One', {
    kind: 'config',
    at,
    delta: { conversation: { tools: { t: { access: { fs } } } } },
  })
  run('use', one.id)
  writeFileSync(file, tool)
  trust(here)
  expect(cordon(here, 'why', 't', 'read', 'other').code).toBe(1)
  writeFileSync(file, '')
  trust(here)
  expect(cordon(here, 'config', 'validate')).toEqual(ok('the configuration is valid; 8 policies compile\n'))
  expect(readFileSync(join(one.dir, 'events.jsonl'), 'utf8')).toContain('"src"')
})
