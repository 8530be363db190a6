import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { cordon, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

let here: { cwd: string; home: string }
let fork: string

beforeEach(() => {
  here = { cwd: temporary(), home: temporary() }
  fork = join(temporary(), 'serde-yaml')
  mkdirSync(join(fork, 'src'), { recursive: true })
  writeFileSync(join(fork, 'src/lib.rs'), '')
  mkdirSync(join(here.cwd, '.cordon'))
  symlinkSync(fork, join(here.cwd, 'fork'))
  writeFileSync(
    join(here.cwd, '.cordon/config.toml'),
    `[[conversation.tools.fs_read_file.access.fs]]
path = "fork"
external = true
read = true

[[conversation.tools.fs_modify_file.access.fs]]
path = "fork"
external = true
read = true
write = true
`,
  )
  trust(here)
})

const compile = ['policy', 'compile']

function store(): { dir: string; file: string } {
  const places = join(here.home, '.local/share/cordon/workspace')
  const dir = join(places, readdirSync(places).find((name) => !name.startsWith('.')) ?? 'none')
  return { dir, file: join(dir, 'approvals.json') }
}

const readApprovals = (): unknown => JSON.parse(readFileSync(store().file, 'utf8'))

test('SPEC 3.2 a new mount is asked about with its own words, and remembered', () => {
  const { code, screen, missed } = cordonAtTerminal(here, compile, [['[y/N] ', 'y\n']])
  expect({ code, missed }).toEqual({ code: 0, missed: [] })
  expect(screen).toContain(`Approve this target binding?

  fork → ${fork}

Current grants under this mount:

  fs_read_file:   read
  fs_modify_file: read, create, update, delete

The target binding will be remembered. Capability changes through config
edits do not re-prompt while the target is unchanged.

Approve? [y/N] `)
  expect(readApprovals()).toEqual({
    as_written: expect.any(Number),
    configs: [expect.objectContaining({ path: '.cordon/config.toml' })],
    mounts: [
      {
        rule_path: 'fork',
        canonical_target: fork,
        approved_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      },
    ],
  })
  expect(statSync(store().file).mode & 0o777).toBe(0o600)
  // The second time it is silent, and the mount grants.
  expect(cordonAtTerminal(here, compile, []).screen).toBe('8 policies compiled\n')
  expect(cordon(here, 'why', 'fs_modify_file', 'update', 'fork/src/lib.rs').code).toBe(0)
  expect(cordon(here, 'why', 'fs_read_file', 'update', 'fork/src/lib.rs').code).toBe(1)
})

test('SPEC 3.2 no, Enter, Ctrl-C and end of input are all a no', () => {
  for (const reply of ['n\n', '\n', 'yess\n', '\u0003', '\u0004']) {
    const { code, screen } = cordonAtTerminal(here, compile, [['[y/N] ', reply]])
    expect({ reply, code }).toEqual({ reply, code: 0 })
    expect(screen).toContain('the rule for fork leads to a target that is not approved')
  }
  expect(cordon(here, 'why', 'fs_read_file', 'read', 'fork/src/lib.rs').code).toBe(1)
})

test('SPEC 3.2 a retargeted link is asked about again, with both targets', () => {
  cordonAtTerminal(here, compile, [['[y/N] ', 'y\n']])
  rmSync(join(here.cwd, 'fork'))
  const elsewhere = temporary()
  symlinkSync(elsewhere, join(here.cwd, 'fork'))
  expect(cordon(here, 'why', 'fs_read_file', 'read', 'fork').code).toBe(1)
  const { screen } = cordonAtTerminal(here, compile, [['[y/N] ', 'y\n']])
  expect(screen).toContain(`Symlink \`fork\` retargeted:

  was: ${fork}
  now: ${elsewhere}

Allow new target? [y/N] `)
  expect(readApprovals()).toMatchObject({ mounts: [{ rule_path: 'fork', canonical_target: elsewhere }] })
})

test('SPEC 3.2 without a terminal nothing is granted, and a warning says so', () => {
  const ended = cordon(here, ...compile)
  expect(ended).toMatchObject({ code: 0, stdout: '8 policies compiled\n' })
  expect(ended.stderr).toBe(
    'warning: the rule for fork leads to a target that is not approved; it grants nothing until it is\n',
  )
  expect(readApprovals()).not.toHaveProperty('mounts')
})

test('SPEC 3.2 editing the store by hand pre-seeds it', () => {
  const { file } = store()
  const before = readApprovals() as object
  writeFileSync(
    file,
    JSON.stringify({ ...before, mounts: [{ rule_path: 'fork', canonical_target: fork }], plugins: [1] }),
  )
  expect(cordon(here, 'why', 'fs_read_file', 'read', 'fork/src/lib.rs').code).toBe(0)
})

test('SPEC 3.2 a malformed store is empty, warned about, and kept aside', () => {
  cordonAtTerminal(here, compile, [['[y/N] ', 'y\n']])
  const { dir, file } = store()
  writeFileSync(file, '{"mounts": [')
  const ended = cordon(here, ...compile)
  // It trusts nothing either, so that there is nothing to compile.
  expect(ended).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'cordon: nobody has trusted what these files of the workspace say, and this command needs it\n' +
      '  .cordon/config.toml (new)\n' +
      `  because: approvals are ignored: ${file}: it is not JSON; nothing counts as approved\n` +
      '  fix: run `cordon trust`, which shows what they would grant; without a terminal `cordon trust show`, then `cordon trust --yes`\n',
  })
  cordonAtTerminal(here, compile, [
    ['[y/N/v] ', 'y\n'],
    ['[y/N] ', 'y\n'],
  ])
  expect(readApprovals()).toMatchObject({ mounts: [{ rule_path: 'fork' }] })
  const aside = readdirSync(dir).filter((name) => name.startsWith('approvals.json.bad-'))
  expect(aside.map((name) => readFileSync(join(dir, name), 'utf8'))).toEqual(['{"mounts": ['])
})

test('SPEC 3.1 a nested link inside a mount that leaves the target is refused without a prompt', () => {
  cordonAtTerminal(here, compile, [['[y/N] ', 'y\n']])
  symlinkSync('/etc', join(fork, 'secrets'))
  const ended = cordonAtTerminal(here, ['why', 'fs_read_file', 'read', 'fork/secrets/passwd'], [])
  expect(ended.code).toBe(1)
  expect(ended.screen).toContain('it leaves the approved target of the mount fork')
})

test('SPEC 4.9 granting a sensitive path warns, and at a terminal asks once a session', () => {
  writeFileSync(join(here.cwd, '.env'), '')
  writeFileSync(
    join(here.cwd, '.cordon/config.toml'),
    'conversation.tools.fs_read_file.access.fs = [{ path = ".env", read = true }]\n',
  )
  trust(here)
  const what = 'tool fs_read_file is granted read on .env, where secrets live (**/.env*)'
  expect(cordon(here, ...compile)).toEqual({
    code: 0,
    stdout: '8 policies compiled\n',
    stderr: `warning: ${what}\n`,
  })
  const refused = cordonAtTerminal(here, compile, [['[y/N] ', 'n\n']])
  expect(refused.screen).toContain(
    `${what}\n  at .cordon/config.toml:1:46\n\nGrant it for this session? [y/N] n`,
  )
  expect(refused.screen).toContain('is not granted read')
})
