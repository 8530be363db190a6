import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CORDON, cordon, type Ended, type Setting, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal, play } from './harness/terminal.ts'
import { until } from './harness/waiting.ts'

/** A workspace with these files and this configuration, and a home of its own. */
function workspace(config: string, files: Readonly<Record<string, string>> = {}): Setting {
  const base = temporary()
  const cwd = join(base, 'ws')
  mkdirSync(join(base, 'home'))
  for (const [name, text] of Object.entries({ '.cordon/config.toml': config, ...files })) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), text, { mode: name.endsWith('.sh') ? 0o755 : 0o644 })
  }
  // Programs of the system only: a version manager's shim needs the home it was installed in.
  const here = { cwd, home: join(base, 'home'), env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }
  trust(here)
  return here
}

const run = (setting: Setting, tool: string, args: unknown): Ended =>
  cordon(setting, 'tool', 'run', tool, '--args', JSON.stringify(args))

const inJson = (setting: Setting, tool: string, args: unknown): Ended =>
  cordon(setting, 'tool', 'run', '--json', tool, '--args', JSON.stringify(args))

/** Of the assistant itself (SPEC 6.5). */
const BUILT_IN = ['describe', 'refresh_resource', 'ask_user']

const FS_TOOLS = [
  'fs_read_file',
  'fs_list_files',
  'fs_grep_files',
  'fs_create_file',
  'fs_modify_file',
  'fs_delete_file',
  'fs_move_file',
  'unix_utils',
]
const NARROW = FS_TOOLS.map(
  (tool) => `
[[conversation.tools.${tool}.access.fs]]
path = "."
read = true
write = true

[[conversation.tools.${tool}.access.fs]]
path = "private"
`,
).join('')
const FILES = { 'a.txt': 'alpha\nbeta\n', 'b.txt': 'bravo\n', 'private/key.txt': 'alpha secret\n' }

/** Every tool has its own rules, in its own lines. */
const denied = (
  tool: string,
  capability: string,
  target: string,
): string => `cordon: access denied: ${capability} on ${target}
  because: the rule private withholds it
  granted: . (read, create, update, delete)
  to allow it:
    cordon config set conversation.tools.${tool}.access.fs '+{ path = "${target}", ${capability} = true }'
  rule at: .cordon/config.toml:${FS_TOOLS.indexOf(tool) * 8 + 7}:1
`

test('SPEC 1.8: every fs tool does its work, and says exactly why it may not', () => {
  const setting = workspace(NARROW, FILES)
  const at = (name: string): string => join(setting.cwd, name)
  expect(run(setting, 'fs_read_file', { path: 'a.txt' })).toEqual({
    code: 0,
    stdout: 'alpha\nbeta\n',
    stderr: '',
  })
  expect(run(setting, 'fs_read_file', { path: 'private/key.txt' })).toEqual({
    code: 1,
    stdout: '',
    stderr: denied('fs_read_file', 'read', 'private/key.txt'),
  })
  expect(run(setting, 'fs_list_files', {})).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^a\.txt\nb\.txt\n/),
    stderr: '',
  })
  expect(run(setting, 'fs_list_files', { path: 'private' })).toMatchObject({
    code: 1,
    stderr: denied('fs_list_files', 'read', 'private'),
  })
  expect(run(setting, 'fs_grep_files', { pattern: 'alpha' })).toEqual({
    code: 0,
    stdout: expect.stringMatching(
      /^a\.txt:1:alpha\n1 matching line in 1 file; 2 files searched\. [^]*policy/,
    ),
    stderr: '',
  })
  expect(run(setting, 'fs_grep_files', { pattern: 'x', path: 'private' })).toMatchObject({
    code: 1,
    stderr: denied('fs_grep_files', 'read', 'private'),
  })
  expect(run(setting, 'fs_create_file', { path: 'new/c.txt', content: 'c\n' })).toMatchObject({
    code: 0,
    stderr: '',
  })
  expect(readFileSync(at('new/c.txt'), 'utf8')).toBe('c\n')
  expect(run(setting, 'fs_create_file', { path: 'private/c.txt', content: 'c\n' })).toMatchObject({
    code: 1,
    stderr: denied('fs_create_file', 'create', 'private/c.txt'),
  })
  const change = (path: string) => ({ edits: [{ path, old: 'alpha', new: 'omega' }] })
  expect(run(setting, 'fs_modify_file', change('a.txt'))).toMatchObject({ code: 0, stderr: '' })
  expect(readFileSync(at('a.txt'), 'utf8')).toBe('omega\nbeta\n')
  expect(run(setting, 'fs_modify_file', change('private/key.txt'))).toMatchObject({
    code: 1,
    stderr: denied('fs_modify_file', 'update', 'private/key.txt'),
  })
  expect(run(setting, 'fs_move_file', { from: 'b.txt', to: 'new/b.txt' })).toMatchObject({
    code: 0,
    stderr: '',
  })
  expect(readFileSync(at('new/b.txt'), 'utf8')).toBe('bravo\n')
  expect(run(setting, 'fs_move_file', { from: 'private/key.txt', to: 'k' })).toMatchObject({
    code: 1,
    stderr: denied('fs_move_file', 'delete', 'private/key.txt'),
  })
  expect(run(setting, 'fs_delete_file', { path: 'new/b.txt' })).toMatchObject({ code: 0, stderr: '' })
  expect(existsSync(at('new/b.txt'))).toBe(false)
  expect(run(setting, 'fs_delete_file', { path: 'private/key.txt' })).toMatchObject({
    code: 1,
    stderr: denied('fs_delete_file', 'delete', 'private/key.txt'),
  })
  expect(run(setting, 'unix_utils', { util: 'cat', args: ['a.txt'] })).toMatchObject({
    code: 0,
    stdout: 'omega\nbeta\n',
  })
  expect(run(setting, 'unix_utils', { util: 'cat', args: ['private/key.txt'] })).toEqual({
    code: 1,
    stdout: '',
    stderr: denied('unix_utils', 'read', 'private/key.txt'),
  })
  expect(readFileSync(at('private/key.txt'), 'utf8')).toBe('alpha secret\n')
  expect(readdirSync(at('private'))).toEqual(['key.txt'])
})

test('SPEC 1.8 what unix_utils is told to read and may not is refused as by the other tools, also where no rule covers it', () => {
  const setting = workspace(
    '[conversation.tools.unix_utils.access]\nfs = [{ path = "src", read = true }]\n',
    {
      'src/a.txt': 'alpha\n',
      'lib/l.txt': 'library\n',
    },
  )
  const call = ['tool', 'run', 'unix_utils', '--args', '{"util":"cat","args":["lib/l.txt"]}']
  const refused = cordon(setting, ...call)
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: access denied: read on lib/l.txt
  because: no rule covers that path
  granted: src (read)
  to allow it:
    cordon config set conversation.tools.unix_utils.access.fs '+{ path = "lib/l.txt", read = true }'
`,
  })
  expect(JSON.parse(cordon(setting, ...call, '--json').stdout)).toMatchObject({
    type: 'error',
    denied: { capability: 'read', target: 'lib/l.txt' },
  })
  const [, key = '', value = ''] = /config set (\S+) '(.+)'/.exec(refused.stderr) ?? []
  expect(cordon(setting, 'config', 'set', key, value).code).toBe(0)
  expect(cordon(setting, ...call)).toEqual({ code: 0, stdout: 'library\n', stderr: '' })
  // A program that fails by itself is an error with its exit and its words (SPEC 6.5).
  expect(run(setting, 'unix_utils', { util: 'cat', args: ['src/a.txt', 'src/nope'] })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'cordon: cat ended with exit code 1.\nIt complained:\ncat: src/nope: No such file or directory\nIt had printed:\nalpha\n\n',
  })
})

/** Tools of one's own, each one line of a shell script or of Python. */
const OWN = (name: string, command: readonly string[], more = ''): string => `
[conversation.tools.${name}]
source = "local"
command = ${JSON.stringify(command)}
${more}
`
const sh = (name: string, script: string, more = ''): string => OWN(name, ['sh', '-c', script], more)

test('a shell script, a Python program and a plain command are tools', () => {
  const python = readFileSync(join(import.meta.dirname, '../examples/tools/word_count.py'), 'utf8')
  const setting = workspace(
    [
      OWN('script', ['./tools/say.sh', '{{tool.arguments.who}}']),
      OWN('py', ['python3', 'tools/word_count.py']),
      OWN('wc', ['wc', '-w', '--', '{{tool.arguments.path}}']),
    ].join(''),
    {
      'tools/say.sh': '#!/bin/sh\nprintf "%s|" "$#" "$1" "$PWD"\ncat\n',
      'tools/word_count.py': python,
      'a b;c.txt': 'one two three\n',
    },
  )
  const said = run(setting, 'script', { who: '$(id) "x" *' })
  expect(said).toMatchObject({ code: 0, stderr: '' })
  const [count, who, cwd, stdin] = said.stdout.split('|')
  expect([count, who, cwd]).toEqual(['1', '$(id) "x" *', setting.cwd])
  // SPEC 1.9: the policy that the kernel holds is the one the tool is told.
  const told = JSON.parse(stdin ?? '') as { context: { access: { fs: { path: string; guard?: string }[] } } }
  const { access } = told.context
  // SPEC 4.10: with the guard, which is marked as such.
  expect(access.fs.find(({ path }) => path === '.cordon')).toEqual({
    path: '.cordon',
    read: true,
    execute: true,
    guard: 'told',
  })
  access.fs = access.fs.filter(({ guard }) => guard === undefined)
  expect(told).toEqual({
    context: {
      root: setting.cwd,
      action: 'run',
      access: {
        fs: [{ path: '.', read: true, create: true, update: true, delete: true, execute: true }],
        net: [{ host: 'denied.invalid', allow: false }],
        env: ['PATH', 'HOME', 'USER', 'LANG', 'LC_*', 'TERM', 'TZ'].map((name) => ({ name, read: true })),
      },
      workspace_id: expect.any(String),
    },
    tool: { name: 'script', arguments: { who: '$(id) "x" *' }, answers: {}, options: {} },
  })
  expect(run(setting, 'py', { path: 'a b;c.txt' })).toEqual({ code: 0, stdout: '3 words', stderr: '' })
  expect(run(setting, 'py', { path: '../x' })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'cordon: path escapes the workspace: ../x\n',
  })
  expect(run(setting, 'wc', { path: 'a b;c.txt' })).toEqual({ code: 0, stdout: '3 a b;c.txt\n', stderr: '' })
  expect(run(setting, 'wc', {})).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: "{{tool.arguments.path}}": there is no tool.arguments.path in this call\n',
  })
})

describe('SPEC 4.7 what a tool of one’s own says its check refused', () => {
  const python = readFileSync(join(import.meta.dirname, '../examples/tools/word_count.py'), 'utf8')
  const access = (tool: string): string =>
    `[conversation.tools.${tool}.access]\nfs = [{ path = "src", read = true, update = true }]\n`
  /** Claims whatever the call says. */
  const CLAIM = `import json,sys; args = json.load(sys.stdin)["tool"]["arguments"]; print(json.dumps({"type": "error", **args}))`
  const setting = workspace(
    OWN('py', ['python3', 'src/word_count.py']) +
      access('py') +
      OWN('claim', ['python3', 'src/claim.py']) +
      access('claim'),
    { 'src/word_count.py': python, 'src/claim.py': CLAIM, 'private/key': 'a b', '.env': 'A=1', '.npmrc': '' },
  )
  const claimed = (capability: string, target: string, message = 'no'): string =>
    run(setting, 'claim', { message, denied: { capability, target } }).stderr

  test('is told to the person with the edit that why names, which works as pasted', () => {
    const refused = run(setting, 'py', { path: 'private/key' })
    const edit = `cordon config set conversation.tools.py.access.fs '+{ path = "private/key", read = true }'`
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: `cordon: access denied: read on private/key
  read private/key is denied: no rule covers that path
    to allow it:
      ${edit}
`,
    })
    const [, key = '', value = ''] = /config set (\S+) '(.+)'/.exec(refused.stderr) ?? []
    expect(cordon(setting, 'config', 'set', key, value).code).toBe(0)
    expect(run(setting, 'py', { path: 'private/key' })).toEqual({ code: 0, stdout: '2 words', stderr: '' })
  })

  test('is not told again where the tool has said it', () => {
    const edit = `cordon config set conversation.tools.claim.access.fs '+{ path = "private/key", read = true }'`
    expect(claimed('read', 'private/key', edit)).toBe(`cordon: ${edit}\n`)
  })

  test('is no command for what is guarded, or where secrets live', () => {
    expect(claimed('update', '.npmrc')).toBe(`cordon: no
  update .npmrc is denied: no rule covers that path
`)
    expect(claimed('read', '.env')).toBe(`cordon: no
  read .env is denied: no rule covers that path
`)
  })

  test('is nothing to tell where it is allowed, or no path', () => {
    for (const target of ['src/word_count.py', '/etc/passwd', '../x', ''])
      expect(claimed('read', target), target).not.toContain('is denied')
  })
})

test('what a tool does not check, the kernel does', () => {
  const rules = (tool: string): string => `
[[conversation.tools.${tool}.access.fs]]
path = "."
read = true

[[conversation.tools.${tool}.access.fs]]
path = ".env"
`
  const setting = workspace(
    sh('peek', 'cat .env') + rules('peek') + sh('poke', 'echo x > a.txt') + rules('poke'),
    {
      '.env': 'SECRET=1\n',
      'a.txt': 'alpha\n',
    },
  )
  expect(run(setting, 'peek', {})).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: the tool ended with 1:
cat: .env: Permission denied
  hint: .env: read denied: the rule for .env does not grant read (.cordon/config.toml:11:1)
`,
  })
  expect(run(setting, 'poke', {})).toMatchObject({ code: 1, stdout: '' })
  expect(readFileSync(join(setting.cwd, 'a.txt'), 'utf8')).toBe('alpha\n')
  const home = workspace(sh('peek', `cat ${join(setting.home, 'key')}`))
  writeFileSync(join(setting.home, 'key'), 'private\n')
  const other = run(home, 'peek', {})
  expect(other).toMatchObject({ code: 1, stdout: '' })
  expect(other.stderr).toContain('exists on the host, and is not granted')
})

test('at a terminal the output ends its line, for the sake of the prompt; elsewhere it is the tool’s own', () => {
  const setting = workspace('', { 'a.txt': 'no end of line' })
  const words = ['tool', 'run', 'fs_list_files']
  const listed = 'a.txt\n1 entry. 1 dotfile left out (hidden = true shows them).'
  expect(cordon(setting, ...words)).toEqual({ code: 0, stdout: listed, stderr: '' })
  expect(cordonAtTerminal(setting, words, [])).toMatchObject({ code: 0, screen: `${listed}\n` })
})

test('SPEC 6.5: a question is answered by the configuration, at the terminal, or not at all', () => {
  const setting = workspace('', { 'a.txt': 'old\n' })
  const args = { path: 'a.txt', content: 'new\n' }
  const content = (): string => readFileSync(join(setting.cwd, 'a.txt'), 'utf8')
  expect(run(setting, 'fs_create_file', args)).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'cordon: the tool asks "a.txt exists (4 bytes). Replace it?", and nobody can be asked; ' +
      'the same call with the argument overwrite answers it (overwrite = true)\n',
  })
  expect(content()).toBe('old\n')
  const words = ['tool', 'run', 'fs_create_file', '--args', JSON.stringify(args)]
  const asked = 'fs_create_file asks: a.txt exists (4 bytes). Replace it? [y/N] '
  const no = cordonAtTerminal(setting, words, [[asked, 'n\r']])
  expect(no).toMatchObject({ code: 1, missed: [] })
  expect(content()).toBe('old\n')
  // A mistyped answer is no answer: it is asked for again.
  const mistyped = cordonAtTerminal(setting, words, [
    [asked, 'maybe\r'],
    [asked, 'n\r'],
  ])
  expect(mistyped).toMatchObject({ code: no.code, missed: [] })
  const gone = cordonAtTerminal(setting, words, [[asked, '\u0003']])
  expect(gone).toMatchObject({ code: 1, missed: [] })
  expect(gone.screen).toContain('the tool asks "a.txt exists (4 bytes). Replace it?", and got no answer')
  const yes = cordonAtTerminal(setting, words, [[asked, 'y\r']])
  expect(yes).toMatchObject({ code: 0, missed: [] })
  expect(content()).toBe('new\n')
  const configured = '--cfg=conversation.tools.fs_create_file.questions.overwrite.answer=true'
  expect(
    cordon(
      setting,
      ...words.slice(0, 3),
      '--args',
      JSON.stringify({ ...args, content: 'third\n' }),
      configured,
    ),
  ).toMatchObject({ code: 0 })
  expect(content()).toBe('third\n')
})

test('a tool that asks without end is stopped', () => {
  const ask = '{"type":"needs_input","question":{"id":"more","text":"More?","answer_type":"boolean"}}'
  const setting = workspace(
    sh('asks', `echo '${ask}'`, '\n[conversation.tools.asks.questions.more]\nanswer = true'),
  )
  expect(run(setting, 'asks', {})).toEqual({
    code: 1,
    stdout: '',
    stderr: 'cordon: the tool asked 16 questions and still has no result\n',
  })
})

test('output of every kind: too much, not UTF-8, junk, nothing, too slow', () => {
  const bound = 'max_output_bytes = 100'
  const big = `printf '{"type":"success","content":[{"type":"text","text":"'; head -c 3000 /dev/zero | tr '\\0' x; printf '"}]}'`
  const huge = big.replace('3000', '90000')
  const setting = workspace(
    sh('much', 'seq 1000', bound) +
      sh('big', big, bound) +
      sh('huge', huge, bound) +
      sh('endless', 'yes', bound) +
      sh('complains', "seq 100 >&2; printf 'é' >&2", 'max_output_bytes = 6') +
      sh('complains_long', 'yes | head -c 70000 >&2') +
      sh('latin', "printf 'a\\377b'") +
      sh('junk', "printf '{]\\000\\033[2J'") +
      sh('nothing', ':') +
      sh('slow', 'echo started; sleep 300', 'timeout_secs = 1') +
      sh('dies', 'kill -SEGV $$'),
  )
  const first = Array.from({ length: 100 }, (_, i) => i + 1)
    .join('\n')
    .slice(0, 100)
  expect(run(setting, 'much', {})).toEqual({
    code: 0,
    stdout: first,
    stderr: 'warning: output cut: 100 of 3893 bytes kept (max_output_bytes)\n',
  })
  expect(run(setting, 'big', {})).toEqual({
    code: 0,
    stdout: 'x'.repeat(100),
    stderr: 'warning: output cut: 100 of 3000 bytes kept (max_output_bytes)\n',
  })
  expect(run(setting, 'huge', {})).toEqual({
    code: 1,
    stdout: '',
    stderr: "cordon: the tool's answer has 90056 bytes, too many to be read (max_output_bytes = 100)\n",
  })
  const endless = run(setting, 'endless', {})
  expect(endless).toMatchObject({ code: 0, stdout: 'y\n'.repeat(50) })
  expect(endless.stderr).toMatch(
    /^warning: output cut: 100 of \d{8,} bytes kept \(max_output_bytes\), and the tool was stopped\n$/,
  )
  expect(run(setting, 'complains', {})).toEqual({
    code: 0,
    stdout: '',
    stderr: 'warning: standard error cut: the last 6 of 294 bytes kept (max_output_bytes)\n100\né',
  })
  expect(run(setting, 'complains_long', {}).stderr.slice(0, 70)).toBe(
    'warning: standard error cut: the last 65536 of 70000 bytes kept\ny\ny\ny\n',
  )
  expect(run(setting, 'latin', {})).toEqual({
    code: 0,
    stdout: 'a\ufffdb',
    stderr: 'warning: the output is not UTF-8: what is not was replaced by �\n',
  })
  expect(run(setting, 'junk', {})).toEqual({ code: 0, stdout: '{]\0\u001b[2J', stderr: '' })
  expect(run(setting, 'nothing', {})).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(run(setting, 'slow', {})).toEqual({
    code: 1,
    stdout: '',
    stderr: 'cordon: the tool was stopped after 1 s (timeout_secs); it had printed:\nstarted\n',
  })
  expect(run(setting, 'dies', {})).toMatchObject({
    code: 1,
    stderr: 'cordon: the tool was ended by SIGSEGV and said nothing\n',
  })
})

/** Whether anything runs with this word on its command line. */
const isRunning = (word: string): boolean =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
      } catch {
        return false // it ended while we looked
      }
    })

/** A number nobody else sleeps for. */
const unique = (): string => String(10_000_000 + Math.floor(Math.random() * 1e9))

test('what a tool leaves behind ends with the call', async () => {
  const [kept, slow] = [unique(), unique()]
  const setting = workspace(
    sh('daemon', `(setsid sleep ${kept} >/dev/null 2>&1 &) ; echo done`) +
      sh('slow', `(setsid sleep ${slow} &) ; sleep ${slow}`, 'timeout_secs = 1'),
  )
  expect(run(setting, 'daemon', {})).toEqual({ code: 0, stdout: 'done\n', stderr: '' })
  await until(() => !isRunning(kept))
  expect(run(setting, 'slow', {})).toMatchObject({ code: 1 })
  await until(() => !isRunning(slow))
})

test('Ctrl-C and SIGTERM stop the tool with everything it started', async () => {
  const word = unique()
  const setting = workspace(sh('slow', `(setsid sleep ${word} &) ; echo ready > started; sleep ${word}`))
  const started = join(setting.cwd, 'started')
  const typed = cordonAtTerminal(setting, ['tool', 'run', 'slow'], [[`file:${started}`, '\u0003']])
  expect(typed.code).toBe(-2)
  await until(() => !isRunning(word))
  rmSync(started)
  const child = spawn(process.execPath, [CORDON, 'tool', 'run', 'slow'], {
    cwd: setting.cwd,
    env: { PATH: process.env['PATH'], HOME: setting.home },
    stdio: 'ignore',
  })
  const ended = new Promise<string | null>((resolve) =>
    child.once('close', (_code, signal) => resolve(signal)),
  )
  await until(() => existsSync(started))
  await until(() => isRunning(word))
  child.kill('SIGTERM')
  expect(await ended).toBe('SIGTERM')
  await until(() => !isRunning(word))
})

test('SPEC 3.1: through an approved mount, and nothing beside it', () => {
  const rules = ['fs_read_file', 'peek'].map(
    (tool) => `
[[conversation.tools.${tool}.access.fs]]
path = "."
read = true
[[conversation.tools.${tool}.access.fs]]
path = "fork"
external = true
read = true
`,
  )
  const setting = workspace(OWN('peek', ['cat', '--', '{{tool.arguments.path}}']) + rules.join(''))
  const outside = join(dirname(setting.cwd), 'outside')
  for (const [name, text] of Object.entries({ 'fork/lib.rs': 'fn f() {}\n', 'beside/key': 'secret\n' })) {
    mkdirSync(dirname(join(outside, name)), { recursive: true })
    writeFileSync(join(outside, name), text)
  }
  symlinkSync(join(outside, 'fork'), join(setting.cwd, 'fork'))
  symlinkSync('../beside/key', join(outside, 'fork/leak'))
  expect(run(setting, 'peek', { path: 'fork/lib.rs' })).toMatchObject({ code: 1, stdout: '' })
  expect(run(setting, 'fs_read_file', { path: 'fork/lib.rs' })).toMatchObject({ code: 1, stdout: '' })
  const compiled = cordonAtTerminal(setting, ['policy', 'compile'], [['[y/N]', 'y\r']])
  expect(compiled).toMatchObject({ code: 0, missed: [] })
  for (const tool of ['peek', 'fs_read_file'])
    expect(run(setting, tool, { path: 'fork/lib.rs' })).toEqual({
      code: 0,
      stdout: 'fn f() {}\n',
      stderr: '',
    })
  expect(run(setting, 'fs_read_file', { path: 'fork/leak' })).toMatchObject({ code: 1, stdout: '' })
  for (const path of ['fork/leak', join(outside, 'beside/key'), 'fork/../../outside/beside/key'])
    expect(run(setting, 'peek', { path })).toMatchObject({ code: 1, stdout: '' })
})

test('what the proxy refused is said exactly', () => {
  const script = 'import urllib.request as u; print(u.urlopen("http://other.example/x").read())'
  const setting = workspace(
    `${OWN('fetch', ['python3', '-c', script])}
[[conversation.tools.fetch.access.net]]
host = "api.example"
allow = true
`,
  )
  const outcome = run(setting, 'fetch', {})
  expect(outcome).toMatchObject({ code: 1, stdout: '' })
  expect(outcome.stderr).toMatch(
    /\n {2}refused: http:\/\/other\.example(?::80)?\/x: [^\n]+\n {4}to allow it:\n {6}cordon config set [^\n]+\n$/,
  )
  const command = /cordon config set .*/.exec(outcome.stderr)![0]
  // The same as `why` has, and it works.
  expect(cordon(setting, 'why', 'fetch', 'net', 'http://other.example/x').stdout).toContain(
    `    ${command}\n`,
  )
})

/** A program that asks for a URL, and prints also what it is told when it may not have it. */
const GET = [
  'python3',
  '-c',
  `import sys, urllib.request as u, urllib.error as e
try: print(u.urlopen(sys.argv[1]).read().decode())
except e.HTTPError as no: print(no.read().decode())`,
  '{{tool.arguments.url}}',
]
const FETCH = `${OWN('fetch', GET, 'parameters = { type = "object", properties = { url = { type = "string" } } }')}
[conversation.tools.fetch.access]
net = [{ host = "api.example", allow = true }, { host = "no.example", allow = false }]
`

/** What `tool run --json` printed; `forModel` is what is left when the person's hints are left out. */
function runJson(setting: Setting, tool: string, args: unknown = {}) {
  const ended = cordon(setting, 'tool', 'run', tool, '--json', '--args', JSON.stringify(args))
  const printed = JSON.parse(ended.stdout) as { hints: ToldHint[] } & Record<string, unknown>
  const hints = printed.hints.filter(({ audience }) => audience !== 'person')
  return { ...ended, printed, forModel: JSON.stringify({ ...printed, hints }) }
}

interface ToldHint {
  readonly about: string
  readonly text: string
  readonly fix?: string
  readonly audience: string
}

test('SPEC 4.7 --json has what the proxy refused, and for the person the command that allows it', () => {
  const setting = workspace(FETCH)
  const failed = runJson(setting, 'fetch', { url: 'https://other.example/' })
  const fix = `cordon config set conversation.tools.fetch.access.net '+{ host = "other.example", scheme = "https", allow = true }'`
  expect(failed.code).toBe(1)
  expect(failed.printed).toMatchObject({
    type: 'error',
    refused: [{ host: 'other.example', port: 443, url: null, reason: 'no rule allows other.example:443' }],
    hints: [
      {
        about: 'other.example:443',
        text: 'refused: other.example:443: no rule allows other.example:443',
        fix,
        audience: 'person',
      },
    ],
  })
  expect(failed.forModel).not.toMatch(/config set/)
  expect(cordon(setting, 'why', 'fetch', 'net', 'https://other.example/').stdout).toContain(`    ${fix}\n`)
})

test('SPEC 4.7 what was refused while a call succeeded is told as well', () => {
  const setting = workspace(FETCH)
  const url = 'http://other.example/x'
  const page = `cordon: network access denied: ${url}\n  because: no rule allows other.example:80\n`
  const fix = `cordon config set conversation.tools.fetch.access.net '+{ host = "other.example", scheme = "http", path_prefix = "/x", allow = true }'`
  const refused = `refused: ${url}: no rule allows other.example:80`
  // Who reads the page may be a model, and may not run as the tool that is configured here: it has no command.
  expect(run(setting, 'fetch', { url })).toEqual({
    code: 0,
    stdout: `${page}\n`,
    stderr: `warning: ${refused}\n  to allow it:\n    ${fix}\n`,
  })
  const { printed, forModel } = runJson(setting, 'fetch', { url })
  expect(printed).toEqual({
    type: 'success',
    content: [{ type: 'text', text: `${page}\n` }],
    notes: [],
    refused: [{ host: 'other.example', port: 80, url, reason: 'no rule allows other.example:80' }],
    hints: [{ about: url, text: refused, fix, audience: 'person' }],
  })
  expect(forModel).not.toMatch(/config set/)
  // A rule that says no was written on purpose.
  const reason = 'the rule at .cordon/config.toml:8:48 for no.example says no'
  expect(run(setting, 'fetch', { url: 'http://no.example/' })).toMatchObject({
    code: 0,
    stderr: `warning: refused: http://no.example/: ${reason}\n`,
  })
})

test('SPEC 4.7 the fix of a tool’s hint is the edit that why names, for the person, and applied as printed it helps', () => {
  const setting = workspace(
    `${OWN('ed', ['sed', '-i', 's/alpha/omega/', 'src/a.txt'])}
[conversation.tools.ed.access]
fs = [{ path = "src", read = true, update = true }]
`,
    { 'src/a.txt': 'alpha\n' },
  )
  const { printed, forModel } = runJson(setting, 'ed')
  const [said, helps] = printed.hints
  const temporaryFile = said?.about ?? ''
  const fix = `cordon config set conversation.tools.ed.access.fs '+{ path = "src", read = true, create = true, update = true }'`
  expect(printed.hints).toEqual([
    {
      about: temporaryFile,
      text: `${temporaryFile}: create denied: the rule for src does not grant create (.cordon/config.toml:8:7)`,
      audience: 'anyone',
    },
    { about: temporaryFile, text: 'what would allow it', fix, audience: 'person' },
  ])
  expect(forModel).not.toMatch(/config set|--write/)
  expect(cordon(setting, 'why', 'ed', 'create', 'src/new').stdout).toContain(`    ${fix}\n`)
  expect(run(setting, 'ed', {}).stderr).toMatch(
    /\n {2}hint: src\/sed\w+: create denied: [^\n]+\n {4}to allow it:\n {6}cordon config set [^\n]+\n$/,
  )
  // Replacing a file by a rename needs two rights: each failure names the next.
  const apply = (command = ''): number | null => {
    const [, key = '', value = ''] = /config set (\S+) '(.+)'/.exec(command) ?? []
    return cordon(setting, 'config', 'set', key, value).code
  }
  expect(apply(helps?.fix)).toBe(0)
  expect(apply(runJson(setting, 'ed').printed.hints[1]?.fix)).toBe(0)
  expect(run(setting, 'ed', {})).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(readFileSync(join(setting.cwd, 'src/a.txt'), 'utf8')).toBe('omega\n')
})

test('SPEC 4.9, 4.10 what a tool says leads to no command that lifts the guard or opens what may be secret', () => {
  const complain = sh('complain', 'cat .env; echo x > .envrc')
  const setting = workspace(
    `${complain}
[conversation.tools.complain.access]
fs = [{ path = "src", read = true, write = true }]
`,
    { '.env': 'SECRET=1\n', '.envrc': '', 'src/a': '' },
  )
  const { printed, stderr } = runJson(setting, 'complain')
  expect(printed.hints).toEqual([
    { about: '.env', text: '.env: read denied: no rule covers that path', audience: 'person' },
    {
      about: '.envrc',
      text: '.envrc is guarded: the host obeys it, or runs it by itself later',
      audience: 'anyone',
    },
  ])
  expect(`${JSON.stringify(printed)}${stderr}`).not.toMatch(/config set|--write|--read/)
})

describe('SPEC 4.7 a shipped tool that reads', () => {
  const rules = '[{ path = ".", read = true }, { path = "h" }, { path = "h/x", read = true }]'
  const here = workspace(
    `[conversation.tools]\nunix_utils.run = "unattended"\nfs_read_file.access.fs = ${rules}\n`,
    { '../home/.ssh/id_rsa': '' },
  )
  mkdirSync(join(here.cwd, 'h'))
  symlinkSync('/etc/hostname', join(here.cwd, 'out'))
  symlinkSync('/opt', join(here.cwd, 'dir'))
  symlinkSync(join(here.home, '.ssh'), join(here.cwd, 'keys'))

  test('is not told to grant itself create', () => {
    const { stdout } = inJson(here, 'fs_read_file', { path: 'h/x' })
    expect(JSON.parse(stdout)).toMatchObject({ type: 'error', hints: [] })
  })

  test.each([
    ['fs_read_file', { path: 'out' }, 'out=/etc/hostname'],
    ['fs_list_files', { path: 'dir' }, 'dir=/opt'],
    ['fs_grep_files', { pattern: 'x', path: 'out' }, 'out=/etc/hostname'],
    ['unix_utils', { util: 'cat', args: ['out'] }, 'out=/etc/hostname'],
  ])('%s: what a link out of the workspace leads to is a mount, for the person', (tool, args, mount) => {
    const about = mount.slice(0, 3)
    expect(JSON.parse(inJson(here, tool, args).stdout)).toMatchObject({
      message: `path escapes the workspace: ${about}`,
      hints: [
        {
          about,
          text: `read ${about} is denied: path escapes the workspace: ${about} (${about} is a link out of it)`,
          fix: `cordon mount add ${tool}:${mount}`,
          audience: 'person',
        },
      ],
    })
  })

  test.each([
    ['fs_list_files', { path: 'keys' }, 'read'],
    ['fs_create_file', { path: 'keys/id_rsa' }, 'update'],
  ])('SPEC 4.9 %s: no command opens what may be secret', (tool, args, capability) => {
    const { path } = args
    const { stdout } = inJson(here, tool, args)
    expect(JSON.parse(stdout)).toMatchObject({
      hints: [
        {
          about: path,
          text: `${capability} ${path} is denied: path escapes the workspace: ${path} (keys is a link out of it); secrets live there (~/.ssh)`,
          audience: 'person',
        },
      ],
    })
    expect(stdout).not.toContain('mount add')
  })
})

test('ls, show, and what cannot be run', () => {
  const setting = workspace(
    `${OWN(
      'say',
      ['echo', '{{tool.arguments.text}}'],
      `description = "Say it."
run = [{ arg = "/text", prefix = "a", mode = "unattended" }]
[conversation.tools.say.parameters]
type = "object"
required = ["text"]
additionalProperties = false
[conversation.tools.say.parameters.properties.text]
type = "string"
`,
    )}
${OWN('off', ['true'], 'enable = false')}
[conversation.tools.remote]
source = "mcp.docs.search"
[providers.mcp.docs]
command = "docs-server"
`,
  )
  const listed = cordon(setting, 'tool', 'ls', '--json')
  const tools = JSON.parse(listed.stdout) as { name: string }[]
  expect(tools.map((tool) => tool.name)).toEqual([...FS_TOOLS, ...BUILT_IN, 'say', 'off', 'remote'])
  expect(tools.slice(-3)).toEqual([
    {
      name: 'say',
      source: 'local',
      run: [{ arg: '/text', prefix: 'a', mode: 'unattended' }],
      enabled: true,
      description: 'Say it.',
    },
    { name: 'off', source: 'local', run: 'ask', enabled: false },
    { name: 'remote', source: 'mcp.docs.search', run: 'ask', enabled: true },
  ])
  expect(cordon(setting, 'tool', 'ls').stdout).toMatch(
    /\nsay +local +by argument +enabled +Say it\.\noff +local +ask +disabled +-\n/,
  )
  const shown = cordon(setting, 'tool', 'show', 'say')
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(shown.stdout).toMatch(
    /^say: Say it\.\n {2}source: +local\n {2}run mode: +by argument\n {2}command: +\["echo","\{\{tool\.arguments\.text\}\}"\]\n {2}arguments:\n/,
  )
  const view = JSON.parse(cordon(setting, 'tool', 'show', 'fs_read_file', '--json').stdout) as {
    policy: { axis: string; about: string; guard: boolean }[]
  }
  expect(view).toMatchObject({ name: 'fs_read_file', parameters: { required: ['path'] } })
  const written = view.policy.filter(({ guard }) => !guard).map(({ axis, about }) => [axis, about].join(' '))
  expect([...new Set(written)]).toEqual([
    'fs .',
    'net every host',
    ...['PATH', 'HOME', 'USER', 'LANG', 'LC_*', 'TERM', 'TZ'].map((name) => `env ${name}`),
  ])
  // A tool that only reads changes nothing, guarded or not (decision 0436).
  const isGuarded = ({ about, guard }: { about: string; guard: boolean }): boolean =>
    about === '.cordon' && guard
  expect(view.policy.some(isGuarded)).toBe(false)
  const writer = JSON.parse(cordon(setting, 'tool', 'show', 'fs_create_file', '--json').stdout) as typeof view
  expect(writer.policy.some(isGuarded)).toBe(true)
  expect(run(setting, 'say', { text: 'hi' })).toEqual({ code: 0, stdout: 'hi\n', stderr: '' })
  expect(run(setting, 'say', { txt: 'hi' })).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: invalid arguments: unknown name "txt"; did you mean text?; text: is required\n',
  })
  expect(cordon(setting, 'tool', 'run', 'say', '--args', '{')).toMatchObject({ code: 2, stdout: '' })
  expect(
    JSON.parse(cordon(setting, 'tool', 'run', 'say', '--args', '{"text":"x"}', '--json').stdout),
  ).toEqual({
    type: 'success',
    content: [{ type: 'text', text: 'x\n' }],
    notes: [],
    refused: [],
    hints: [],
  })
  expect(run(setting, 'sya', {})).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: no tool is named "sya"; did you mean say?\n',
  })
  expect(run(setting, 'off', {})).toEqual({
    code: 1,
    stdout: '',
    stderr: 'cordon: tool off is switched off\n  fix: cordon config set conversation.tools.off.enable true\n',
  })
  expect(run(setting, 'remote', {})).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'cordon: tool remote is offered by the MCP server docs: it runs through the gateway, not by `cordon tool run`\n',
  })
})

test('arguments from standard input; no workspace; sandbox off', () => {
  const setting = workspace(sh('home', 'cat "$HOME/key"; echo "$SECRET"'), { 'a.txt': 'alpha\n' })
  writeFileSync(join(setting.home, 'key'), 'private\n')
  const piped = spawnSync(process.execPath, [CORDON, 'tool', 'run', 'fs_read_file', '--args', '-'], {
    cwd: setting.cwd,
    env: { PATH: process.env['PATH'], HOME: setting.home },
    input: '{"path":"a.txt"}',
    encoding: 'utf8',
  })
  expect(piped).toMatchObject({ status: 0, stdout: 'alpha\n', stderr: '' })
  expect(cordon({ ...setting, cwd: dirname(setting.cwd) }, 'tool', 'ls')).toMatchObject({
    code: 2,
    stdout: '',
  })
  expect(run(setting, 'home', {})).toMatchObject({ code: 0, stdout: '\n' })
  const off = cordon(
    { ...setting, env: { ...setting.env, SECRET: 's' } },
    'tool',
    'run',
    'home',
    '--cfg',
    'sandbox.mode=off',
  )
  expect(off).toEqual({
    code: 0,
    stdout: 'private\ns\n',
    stderr:
      'warning: the sandbox is off (sandbox.mode = "off" at --cfg sandbox.mode=off): tools and servers run with all your rights\n',
  })
})

test('SPEC 4.7: what exists on the host is said to the person, marked so, and never to who reads the reply', () => {
  const peek = `
[conversation.tools.peek]
source = "local"
run = "unattended"
command = ["cat", "{{tool.arguments.path}}"]
parameters = { type = "object", properties = { path = { type = "string" } } }
`
  const setting = workspace(peek)
  const note = join(setting.home, 'note')
  const call = () =>
    cordon(setting, 'tool', 'run', 'peek', '--json', '--args', JSON.stringify({ path: note }))
  const reply = (ended: Ended) => {
    const { hints, ...rest } = JSON.parse(ended.stdout) as { hints: ToldHint[] }
    return { hints, rest }
  }
  const without = reply(call())
  writeFileSync(note, 'from home\n')
  const withIt = reply(call())
  expect(without.hints).toEqual([])
  const [hint] = withIt.hints
  expect(withIt.hints).toMatchObject([
    { text: '~/note exists on the host, and is not granted', audience: 'person' },
  ])
  expect(withIt.rest).toEqual(without.rest)
  // What is suggested are commands for a tool, not flags of `cordon run`; together they are enough.
  expect(hint?.fix).toBe(`ln -sT ~/note note
cordon config set --user-workspace conversation.tools.peek.access.fs '+{ path = ".", read = true, write = true, execute = true }'
cordon config set --user-workspace conversation.tools.peek.access.fs '+{ path = "note", external = true, read = true }'
cordon policy compile`)
  const cordonHere = `${process.execPath} ${CORDON}`
  const script = `set -e\n${hint?.fix}\ncordon tool run peek --args '{"path":"${note}"}'\n`
  const pasted = play({
    argv: ['sh', '-c', script.replaceAll(/^cordon/gm, cordonHere)],
    cwd: setting.cwd,
    env: { ...setting.env, HOME: setting.home, TERM: 'xterm' },
    steps: [['[y/N]', 'y\r']],
  })
  expect(pasted).toMatchObject({ code: 0, missed: [] })
  expect(pasted.screen).toMatch(/from home\n$/)
})

test('SPEC 4.7 a tool whose own program no rule grants: the edit, to a person, also in --json; and then it runs', () => {
  const own = `
[conversation.tools.own]
source = "local"
run = "unattended"
command = ["bin/own.sh"]
[[conversation.tools.own.access.fs]]
path = "src"
read = true
`
  const setting = workspace(own, { 'bin/own.sh': '#!/bin/sh\ncat src/a\n', 'src/a': 'alpha\n' })
  const failed = cordon(setting, 'tool', 'run', 'own', '--json')
  const [line = '', key = '', value = ''] = /cordon config set (\S+) '(.+)'/.exec(failed.stderr) ?? []
  expect([key, value]).toEqual([
    'conversation.tools.own.access.fs',
    '+{ path = "bin/own.sh", read = true, execute = true }',
  ])
  expect(JSON.parse(failed.stdout)).toMatchObject({
    type: 'error',
    hints: [{ about: 'bin/own.sh', audience: 'person', fix: line }],
  })
  expect(cordon(setting, 'why', 'own', 'read', 'src/a').code).toBe(1)
  expect(cordon(setting, 'config', 'set', key, value).code).toBe(0)
  expect(cordon(setting, 'why', 'own', 'read', 'src/a').code).toBe(0)
  expect(cordon(setting, 'tool', 'run', 'own')).toMatchObject({ code: 0, stdout: 'alpha\n' })
})

test.each([
  [
    '{ path = "go.sh", execute = true }',
    'no rule grants read there, which the kernel needs to start a program, or the file is not executable',
    'the kernel reads what it executes: without read nothing starts',
  ],
  [
    '{ path = "go.sh", read = true }',
    'no rule grants execute there, or the file is not executable',
    'the rule for go.sh does not grant execute',
  ],
])(
  'SPEC 4.7 what a tool’s own program lacks under %s is what is said to be missing',
  (rule, said, because) => {
    const setting = workspace(`${OWN('go', ['./go.sh'])}\n[conversation.tools.go.access]\nfs = [${rule}]\n`, {
      'go.sh': '#!/bin/sh\necho ran\n',
    })
    const failed = run(setting, 'go', {})
    expect(failed).toEqual({
      code: 1,
      stdout: '',
      stderr: `cordon: cannot start ${setting.cwd}/go.sh: ${said} (EACCES)
  execute go.sh is denied: ${because}
    to allow it:
      cordon config set conversation.tools.go.access.fs '+{ path = "go.sh", read = true, execute = true }'
`,
    })
    const [, key = '', value = ''] = /config set (\S+) '(.+)'/.exec(failed.stderr) ?? []
    expect(cordon(setting, 'config', 'set', key, value).code).toBe(0)
    expect(run(setting, 'go', {})).toEqual({ code: 0, stdout: 'ran\n', stderr: '' })
  },
)
