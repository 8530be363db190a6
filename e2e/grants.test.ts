import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { CORDON, cordon, type Ended, type Setting, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal, play } from './harness/terminal.ts'

/** What a person wrote is what the shipped tools do: each of these failed although `why` said allowed. */
function workspace(config: string, files: readonly string[] = ['src/lib.rs', 'README.md']): Setting {
  const base = temporary()
  const cwd = join(base, 'ws')
  mkdirSync(join(base, 'home'))
  for (const name of files) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), `old ${name}\n`)
  }
  mkdirSync(join(cwd, '.cordon'), { recursive: true })
  writeFileSync(join(cwd, '.cordon/config.toml'), config)
  const here = { cwd, home: join(base, 'home'), env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }
  trust(here)
  return here
}

const run = (here: Setting, tool: string, args: unknown): Ended =>
  cordon(here, 'tool', 'run', tool, '--args', JSON.stringify(args))
const modify = (path: string) => ({ edits: [{ path, old: 'old', new: 'new' }] })
const at = (here: Setting, name: string): string => readFileSync(join(here.cwd, name), 'utf8')
const done = (stdout: string): Ended => ({ code: 0, stdout, stderr: '' })

// RFD 076, "Configuration", verbatim but for the name of the program.
const TOOLS_ONLY = ['fs_create_file', 'fs_modify_file']
  .map(
    (tool) => `[[conversation.tools.${tool}.access.fs]]
path = "."
read = true
[[conversation.tools.${tool}.access.fs]]
path = ".config/jp/tools"
read = true
write = true
`,
  )
  .join('')

test('RFD 076: a tool may only write to .config/jp/tools, also before there is one', () => {
  const here = workspace(TOOLS_ONLY)
  expect(run(here, 'fs_create_file', { path: '.config/jp/tools/a.toml', content: 'old' })).toEqual(
    done('created .config/jp/tools/a.toml (3 bytes)'),
  )
  expect(run(here, 'fs_modify_file', modify('.config/jp/tools/a.toml'))).toEqual(
    done('changed .config/jp/tools/a.toml (same number of lines)'),
  )
  const refused = run(here, 'fs_create_file', { path: 'src/x', content: '' })
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: access denied: create on src/x
  because: the rule . withholds it
  granted: . (read), .config/jp/tools (read, create, update, delete)
  to allow it:
    cordon config set conversation.tools.fs_create_file.access.fs '+{ path = "src/x", read = true, create = true }'
  rule at: .cordon/config.toml:1:1
`,
  })
  expect(readdirSync(here.cwd).toSorted()).toEqual(['.config', '.cordon', 'README.md', 'src'])
  expect(readdirSync(join(here.cwd, 'src'))).toEqual(['lib.rs'])
  // What was printed is pasted into a shell, and the same call works.
  const edit = /to allow it:\n {4}cordon config set (\S+) '(.*)'/.exec(refused.stderr)
  expect(cordon(here, 'config', 'set', edit![1]!, edit![2]!).code).toBe(0)
  expect(run(here, 'fs_create_file', { path: 'src/x', content: '' })).toEqual(done('created src/x (0 bytes)'))
})

test('SPEC 4.12 one capability is enough for what it is, whatever replacing a file takes', () => {
  const rule = (tool: string, path: string, ...grants: string[]): string =>
    `[[conversation.tools.${tool}.access.fs]]\npath = "${path}"\n${grants.map((each) => `${each} = true\n`).join('')}`
  const here = workspace(
    rule('fs_modify_file', 'src', 'update') +
      `${rule('fs_create_file', 'src', 'read', 'write')}delete = false\n` +
      rule('fs_delete_file', 'src/old.rs', 'delete') +
      rule('fs_move_file', 'src', 'delete') +
      rule('fs_move_file', 'docs/moved', 'create'),
    ['src/lib.rs', 'src/old.rs', 'README.md'],
  )
  expect(run(here, 'fs_modify_file', modify('src/lib.rs'))).toEqual(
    done('changed src/lib.rs (same number of lines)'),
  )
  expect(run(here, 'fs_create_file', { path: 'src/new/x.rs', content: 'x' })).toEqual(
    done('created src/new/x.rs (1 byte)'),
  )
  expect(run(here, 'fs_delete_file', { path: 'src/old.rs' })).toEqual(done('deleted src/old.rs'))
  expect(run(here, 'fs_move_file', { from: 'src/lib.rs', to: 'docs/moved/lib.rs' })).toEqual(
    done('moved src/lib.rs to docs/moved/lib.rs'),
  )
  expect(at(here, 'docs/moved/lib.rs')).toBe('new src/lib.rs\n')
  expect(
    readdirSync(here.cwd, { recursive: true })
      .filter((name) => !String(name).startsWith('.cordon'))
      .toSorted(),
  ).toEqual(['README.md', 'docs', 'docs/moved', 'docs/moved/lib.rs', 'src', 'src/new', 'src/new/x.rs'])
  // Who may create and not delete: the kernel cannot be asked, the tool holds it and says so.
  expect(cordon(here, 'why', 'fs_create_file', 'update', 'src/new/x.rs').code).toBe(0)
  expect(cordon(here, 'policy', 'explain', 'fs_create_file').stdout).toMatch(
    /fs +src +read +kernel .*\n +fs +src +create, update +tool .*\n +fs +src +no delete +tool /,
  )
})

test('what a model reads of a refusal does not say where the rule stands, and a note is of an edit that is offered', () => {
  const rule = (path: string, ...grants: string[]): string =>
    `[[conversation.tools.fs_move_file.access.fs]]\npath = "${path}"\n${grants.map((each) => `${each} = true\n`).join('')}`
  const hidden = workspace(rule('.', 'read') + rule('src') + rule('src/gen', 'read', 'write'), ['src/gen/g'])
  const refused = cordon(
    hidden,
    'tool',
    'run',
    'fs_move_file',
    '--json',
    '--args',
    '{"from":"src","to":"s2"}',
  )
  expect(refused.stdout).toContain('because: the rule src withholds it')
  const { message } = JSON.parse(refused.stdout) as { readonly message: string }
  expect(message).not.toContain('config.toml')
  const below = workspace(rule('.', 'read') + rule('src', 'read', 'write') + rule('src/gen', 'read'), [
    'src/gen/g',
  ])
  const { stdout } = cordon(below, 'why', 'fs_move_file', 'delete', 'src')
  expect(stdout).toContain('denied: tool fs_move_file, delete src\n')
  expect(stdout).not.toContain('the edit')
  // A path that is not there: the kernel cannot hold it, and the tool does.
  const missing = workspace(rule('.', 'read', 'write') + rule('n/m', 'read'), ['a'])
  expect(cordon(missing, 'policy', 'explain', 'fs_move_file').stdout).not.toContain('cooperative')
  expect(run(missing, 'fs_move_file', { from: 'a', to: 'n/m/a' }).code).toBe(1)
})

// RFD D43, "FsRule.external", verbatim, and nothing else.
const FORK = `[[conversation.tools.fs_modify_file.access.fs]]
path = "fork"
external = true
read = true
write = true
`

const approve = (here: Setting): void => {
  const { code, screen } = cordonAtTerminal(here, ['policy', 'compile'], [['[y/N] ', 'y\n']])
  if (code !== 0) throw new Error(screen)
}

test('RFD D43: a mount works as the only rule, and beside a rule that shows only src', () => {
  for (const more of ['', '[[conversation.tools.fs_modify_file.access.fs]]\npath = "src"\nread = true\n']) {
    const here = workspace(FORK + more)
    const fork = join(temporary(), 'forks/X/src')
    mkdirSync(fork, { recursive: true })
    writeFileSync(join(fork, 'lib.rs'), 'old')
    symlinkSync(dirname(fork), join(here.cwd, 'fork'))
    approve(here)
    expect(run(here, 'fs_modify_file', modify('fork/src/lib.rs'))).toEqual(
      done('changed fork/src/lib.rs (same number of lines)'),
    )
    expect(readFileSync(join(fork, 'lib.rs'), 'utf8')).toBe('new')
    expect(readdirSync(fork)).toEqual(['lib.rs'])
  }
})

test('SPEC 3.1 a rule on a link inside the workspace, and a mount that leads to a file', () => {
  const here = workspace(
    ['fs_read_file', 'fs_modify_file']
      .flatMap((tool) => [
        `[[conversation.tools.${tool}.access.fs]]\npath = "alias"\nread = true\nupdate = true\n`,
        `[[conversation.tools.${tool}.access.fs]]\npath = "note"\nexternal = true\nread = true\nupdate = true\n`,
      ])
      .join(''),
  )
  const notes = temporary()
  for (const name of ['note.md', 'other.md']) writeFileSync(join(notes, name), 'old\n')
  symlinkSync('src', join(here.cwd, 'alias'))
  symlinkSync(join(notes, 'note.md'), join(here.cwd, 'note'))
  approve(here)
  for (const [path, real] of [
    ['alias/lib.rs', 'src/lib.rs'],
    ['note', 'note'],
  ] as const) {
    expect(run(here, 'fs_modify_file', modify(path))).toEqual(done(`changed ${real} (same number of lines)`))
    expect(run(here, 'fs_read_file', { path }).code).toBe(0)
  }
  expect(readFileSync(join(notes, 'note.md'), 'utf8')).toBe('new\n')
  expect(readdirSync(notes).toSorted()).toEqual(['note.md', 'other.md'])
})

test('SPEC 4.12 a layer that replaces the program gets the exact policy from the kernel', () => {
  const here = workspace(`[conversation.tools.fs_modify_file]
command = ["sh", "-c", "echo new > src/lib.rs && echo written; mv README.md src/; rm src/lib.rs"]
[[conversation.tools.fs_modify_file.access.fs]]
path = "."
read = true
[[conversation.tools.fs_modify_file.access.fs]]
path = "src"
update = true
read = true
`)
  const { code, stderr } = run(here, 'fs_modify_file', modify('src/lib.rs'))
  expect(code).toBe(1)
  expect(stderr).toContain('written')
  expect(at(here, 'src/lib.rs')).toBe('new\n')
  expect(existsSync(join(here.cwd, 'README.md'))).toBe(true)
  expect(cordon(here, 'policy', 'explain', 'fs_modify_file').stdout).not.toContain(' tool ')
})

test('SPEC 4.9 a mount to where secrets live is said and asked about when it is made, and not again', () => {
  const here = workspace('')
  mkdirSync(join(here.home, '.ssh'))
  writeFileSync(join(here.home, '.ssh/config'), 'Host x\n')
  const ssh = join(here.home, '.ssh')
  const question = `keys → ${ssh} is where secrets live (~/.ssh)\n\nMount it? [y/N] `
  const no = cordonAtTerminal(here, ['mount', 'add', 'fs_read_file:keys=~/.ssh'], [['[y/N] ', 'n\n']])
  expect(no).toMatchObject({ code: 1, missed: [] })
  expect(no.screen).toContain(question)
  expect(existsSync(join(here.cwd, 'keys'))).toBe(false)
  // Without a terminal it is said, and typing it was the consent.
  expect(cordon(here, 'mount', 'add', 'fs_read_file:keys=~/.ssh')).toMatchObject({
    code: 0,
    stderr: `warning: keys → ${ssh} is where secrets live (~/.ssh)\n`,
  })
  expect(cordon(here, 'mount', 'rm', 'keys').code).toBe(0)
  // One session of a terminal: the second command does not ask again what the first one asked.
  const words = [process.execPath, CORDON].map((word) => `'${word}'`).join(' ')
  const read = `tool run fs_read_file --args '{"path":"keys/config"}'`
  const yes = play({
    argv: ['sh', '-c', `${words} mount add fs_read_file:keys="$HOME/.ssh" && ${words} ${read}`],
    cwd: here.cwd,
    env: { ...here.env, HOME: here.home, TERM: 'xterm', CORDON_BACKGROUND: 'off' },
    steps: [['[y/N] ', 'y\n']],
  })
  expect(yes).toMatchObject({ code: 0, missed: [] })
  expect(yes.screen).toMatch(/\nHost x\n$/)
  expect(yes.screen.split('[y/N]')).toHaveLength(2)
})
