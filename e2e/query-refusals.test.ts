import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cordon, trust } from './harness/cordon.ts'
import { events, here, model, query, UNATTENDED, write } from './harness/query.ts'

const results = (): unknown[] =>
  events().flatMap((event) => (event.kind === 'tool_result' ? [event['text']] : []))

test('a mount for one tool: another one says so, and the person gets the command', async () => {
  mkdirSync(join(here.home, 'x'))
  write('home/x/NOTES.md', 'notes\n')
  const read = { calls: [{ tool: 'fs_read_file', arguments: { path: 'fork/NOTES.md' } }] }
  const asked = await model([read, { text: 'no' }, read, { text: 'yes' }], UNATTENDED)
  const first = query('--mount', 'fs_modify_file:fork=~/x:rw', 'go')
  expect(results()).toEqual([
    'path escapes the workspace: fork/NOTES.md\nthe mount fork is for fs_modify_file only',
  ])
  const command = 'cordon mount add fs_read_file:fork=~/x'
  expect(first.stderr).toContain(
    `warning: tool fs_read_file: read fork/NOTES.md is denied: the mount fork is for fs_modify_file only\n  to allow it:\n    ${command}\n`,
  )
  expect(JSON.stringify(asked.requests())).not.toContain('mount add')
  expect(cordon(here, 'mount', 'add', 'fs_read_file:fork=~/x')).toMatchObject({ code: 0 })
  query('again')
  expect(results()[1]).toContain('notes')
  // What the other tool has is as it was.
  expect(cordon(here, 'mount', 'ls').stdout).toMatch(/fs_modify_file.*rw|rw.*fs_modify_file/)
})

test('a mount of another tool is explained also where the call is refused before anybody is asked', async () => {
  write('home/x/NOTES.md', 'notes\n')
  const edits = [{ path: 'fork/NOTES.md', old: 'notes', new: 'changed' }]
  const change = { calls: [{ tool: 'fs_modify_file', arguments: { edits } }] }
  const asked = await model([change, { text: 'no' }], '')
  const { stderr } = query('--mount', 'fs_read_file:fork=~/x', 'go')
  expect(results()).toEqual([
    'path escapes the workspace: fork/NOTES.md\nthe mount fork is for fs_read_file only',
  ])
  expect(stderr).toContain(
    'warning: tool fs_modify_file: update fork/NOTES.md is denied: the mount fork is for fs_read_file only\n  to allow it:\n    cordon mount add fs_modify_file:fork=~/x:rw\n',
  )
  expect(JSON.stringify(asked.requests())).not.toContain('mount add')
})

test('SPEC 4.10 what is guarded is named, also before anybody is asked, and what lifts the guard is told to the person alone', async () => {
  write(
    'w/.cordon/config.toml',
    '[conversation.tools.fs_modify_file.access]\nfs = [{ path = ".", read = true }]\n[conversation.tools.fs_create_file]\nrun = "unattended"\n',
  )
  write('w/.envrc', 'mine\n')
  trust(here)
  const edits = [{ path: '.envrc', old: 'mine', new: 'yours' }]
  const calls = [
    { tool: 'fs_create_file', arguments: { path: '.npmrc', content: 'x' } },
    { tool: 'fs_modify_file', arguments: { edits } },
  ]
  const asked = await model([{ calls }, { text: 'no' }])
  const { stderr } = query('go')
  const guarded = (name: string): string =>
    `because: ${name} is guarded: the host obeys it, or runs it by itself later\n  granted: `
  expect(results()).toEqual([
    `access denied: create on .npmrc\n  ${guarded('.npmrc')}. (read, create, update, delete, execute)`,
    `access denied: update on .envrc\n  ${guarded('.envrc')}. (read)`,
  ])
  expect(JSON.stringify(asked.requests())).not.toMatch(/config set|cordon why/)
  for (const why of ['fs_create_file create .npmrc', 'fs_modify_file update .envrc'])
    expect(stderr).toContain(`what would allow it: cordon why ${why}\n`)
})

test('what a tool of your own refused by its policy: the person is told where the rule stands, the model is not', async () => {
  const answer = { type: 'error', message: 'no', denied: { capability: 'read', target: 'private/key' } }
  write('w/answer.json', JSON.stringify(answer))
  write(
    'w/.cordon/config.toml',
    '[conversation.tools.checks]\nsource = "local"\nrun = "unattended"\ncommand = ["cat", "answer.json"]\n\n[[conversation.tools.checks.access.fs]]\npath = "."\nread = true\n\n[[conversation.tools.checks.access.fs]]\npath = "private"\n',
  )
  trust(here)
  const asked = await model([{ calls: [{ tool: 'checks', arguments: {} }] }, { text: 'no' }])
  const { stderr } = query('go')
  expect(results()).toEqual(['no'])
  expect(stderr).toContain('warning: tool checks: it was refused by the rule at .cordon/config.toml:10:1\n')
  expect(JSON.stringify(asked.requests())).not.toContain('config.toml')
  const { stdout } = cordon(here, 'tool', 'run', 'checks', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ ...answer, denied_at: '.cordon/config.toml:10:1' })
})

test('a host that is refused to a local tool: the person gets the command that `why` has, and the model does not', async () => {
  write(
    'w/.cordon/config.toml',
    '[conversation.tools.fetch]\nsource = "local"\nrun = "unattended"\ncommand = ["curl", "-sS", "https://pypi.invalid/"]\n',
  )
  trust(here)
  const asked = await model([{ calls: [{ tool: 'fetch', arguments: {} }] }, { text: 'no' }])
  const { stderr } = query('go')
  expect(results()[0]).toMatch(/cordon: refused: pypi\.invalid:443: /)
  const command = /\n {2}to allow it:\n {4}(cordon config set .*)\n/.exec(stderr)?.[1]
  expect(cordon(here, 'why', 'fetch', 'net', 'https://pypi.invalid:443/').stdout).toContain(
    `    ${command}\n`,
  )
  expect(JSON.stringify(asked.requests())).not.toContain('config set')
})

test('docs/query.md: the tool that runs the tests works as it is written there', async () => {
  const text = readFileSync(join(import.meta.dirname, '../docs/query.md'), 'utf8')
  const value = /^cordon config set conversation\.tools\.run_tests '(.*)'$/m.exec(text)![1]!
  expect(cordon(here, 'config', 'set', 'conversation.tools.run_tests', value).code).toBe(0)
  write('w/package.json', '{"scripts": {"test": "echo all good"}}')
  await model([{ calls: [{ tool: 'run_tests', arguments: {} }] }, { text: 'fine' }])
  expect(query('run the tests').code).toBe(0)
  expect(results()[0]).toContain('all good')
})

test('a mount that nobody approved is said once, however many tools have it and are called', async () => {
  mkdirSync(join(here.dir, 'outside'))
  write('outside/a.txt', 'outside\n')
  symlinkSync('../outside', join(here.cwd, 'fork'))
  const rule = (tool: string): string =>
    `[[conversation.tools.${tool}.access.fs]]\npath = "fork"\nexternal = true\nread = true\n`
  write('w/.cordon/config.toml', rule('fs_read_file') + rule('fs_list_files'))
  trust(here)
  const read = { tool: 'fs_read_file', arguments: { path: 'fork/a.txt' } }
  await model([
    { calls: [read, { tool: 'fs_list_files', arguments: { path: 'fork' } }] },
    { calls: [read] },
    { text: 'no' },
  ])
  const said = query('go').stderr.match(/^warning: .*not approved.*$/gm)
  expect(said).toEqual([
    'warning: the rule for fork leads to a target that is not approved; it grants nothing until it is',
  ])
})

test('guarded paths are counted where one tool is shown, and listed by `policy explain --json`', async () => {
  await model([{ calls: [{ tool: 'describe', arguments: { tools: ['fs_modify_file'] } }] }, { text: 'so' }])
  query('what may it do?')
  expect(results()).toEqual([
    expect.stringMatching(
      /^fs_modify_file:\n {2}files: \.: [^\n]*\n {2}guarded: \d+ paths that the host obeys or runs cannot be written\n/,
    ),
  ])
  const { stdout } = cordon(here, 'tool', 'show', 'fs_modify_file')
  expect(stdout).toMatch(
    /\n {2}built-in guard: 1 path cannot be written, because the host obeys or runs it; \d+ names where nothing is yet cannot be made; cordon policy explain --json has all of them\n/,
  )
  expect(stdout).not.toContain('.vscode')
  const explained = cordon(here, 'policy', 'explain', 'fs_modify_file').stdout
  expect(explained).toMatch(
    /\n {2}built-in guard: \d+ names where nothing is yet: the tool makes none of them; --json has all of them\n/,
  )
  expect(explained).not.toContain('.vscode')
  expect(cordon(here, 'policy', 'explain', '--json', 'fs_modify_file').stdout).toContain('.vscode')
})
