import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { cordon, cordonMeanwhile, type Ended, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal, type Played } from './harness/terminal.ts'

/** What `mount rm` leaves in the conversation counts instead of what files say later. */
const FROZEN =
  'note: in this conversation the rules of these tools stay as they are now, whatever files say later; --no-id or a new conversation has those of the files\n'

let here: { cwd: string; home: string }
let fork: string

beforeEach(() => {
  here = { cwd: temporary(), home: temporary() }
  fork = join(temporary(), 'serde-yaml')
  mkdirSync(join(fork, 'src'), { recursive: true })
  writeFileSync(join(fork, 'src/lib.rs'), '')
  mkdirSync(join(here.cwd, '.cordon'))
  writeFileSync(join(here.cwd, '.cordon/config.toml'), ONLY_TWO)
  trust(here)
})

// The rest are switched off, so that the lists below stay short.
const OFF = [
  'fs_list_files',
  'fs_grep_files',
  'fs_create_file',
  'fs_delete_file',
  'fs_move_file',
  'unix_utils',
]
const ONLY_TWO = OFF.map((name) => `[conversation.tools.${name}]\nenable = false\n`).join('')

const add = (...mounts: string[]): Ended => cordon(here, 'mount', 'add', ...mounts)
const rm = (...args: string[]): Ended => cordon(here, 'mount', 'rm', ...args)
const ls = (...args: string[]): unknown[] =>
  JSON.parse(cordon(here, 'mount', 'ls', '--json', ...args).stdout) as []
const why = (tool: string, capability: string, path: string, ...args: string[]): number | null =>
  cordon(here, 'why', tool, capability, path, ...args).code
const atTerminal = (args: string[], steps: [string, string][]): Played =>
  cordonAtTerminal(here, ['mount', ...args], steps)

const conversations = (): string[] => {
  const dir = join(here.cwd, '.cordon/conversations')
  return existsSync(dir) ? readdirSync(dir) : []
}
const here0 = (): string[] => readdirSync(here.cwd).toSorted()

/** A refused command leaves nothing: no link, no directory, no conversation, no approval. */
function expectNothingDone(): void {
  expect(here0()).toEqual(['.cordon'])
  expect(readdirSync(join(here.cwd, '.cordon'))).toEqual(['config.toml'])
  expect(readdirSync(here.home)).toEqual(['.local']) // what the test's own configuration is trusted by
  expect(approvals()).toBeUndefined()
}

function approvals(): unknown {
  const places = join(here.home, '.local/share/cordon/workspace')
  const place = readdirSync(places).find((name) => !name.startsWith('.'))!
  return (JSON.parse(readFileSync(join(places, place, 'approvals.json'), 'utf8')) as { mounts: unknown })
    .mounts
}

const SCOPE = (name = 'fork'): string => `Mount ${name} → ${fork}, read-only, for all enabled local tools:

  fs_read_file
  fs_modify_file
`

test('SPEC 3.3 NAME=PATH without a terminal: the list is printed, it goes on, and the id is printed', () => {
  const ended = add(`fork=${fork}`)
  const [id] = conversations()
  expect(ended).toEqual({
    code: 0,
    stdout: `mounted fork → ${fork} (ro)\n  fs_read_file, fs_modify_file\nin the new conversation ${id}\n`,
    stderr: SCOPE(),
  })
  expect(readlinkSync(join(here.cwd, 'fork'))).toBe(fork)
  expect(approvals()).toMatchObject([{ rule_path: 'fork', canonical_target: fork }])
  expect(why('fs_read_file', 'read', 'fork/src/lib.rs')).toBe(0)
  expect(why('fs_modify_file', 'update', 'fork/src/lib.rs')).toBe(1)
  // What the tools could do before, they still can.
  for (const capability of ['read', 'update']) expect(why('fs_modify_file', capability, 'src/new')).toBe(0)
  // A tool that was off does not have it, and the tools of another conversation neither.
  expect(why('unix_utils', 'read', 'fork/src/lib.rs')).toBe(1)
  expect(why('fs_read_file', 'read', 'fork/src/lib.rs', '--no-id')).toBe(1)
  expect(why('fs_read_file', 'read', 'fork/src/lib.rs', '--id', id!)).toBe(0)
})

test('SPEC 3.3 at a terminal a mount for all tools is asked about; no, Enter, Ctrl-C and end of input are a no', () => {
  for (const reply of ['n\n', '\n', 'yess\n', '\u0003', '\u0004']) {
    const { code, screen, missed } = atTerminal(['add', `fork=${fork}`], [['[y/N] ', reply]])
    expect({ reply, code, missed }).toEqual({ reply, code: 1, missed: [] })
    expect(screen).toContain(`${SCOPE()}\nGrant it to these tools? [y/N] `)
    expect(screen).toContain('nothing was changed')
    expectNothingDone()
  }
  expect(atTerminal(['add', `fork=${fork}:ro`], [['[y/N] ', 'y\n']]).code).toBe(0)
  expect(why('fs_read_file', 'read', 'fork/src/lib.rs')).toBe(0)
})

test('SPEC 3.3 TOOL:NAME=PATH is one tool, not asked about, read-only unless :rw', () => {
  expect(atTerminal(['add', `fs_read_file:fork=${fork}`], []).screen).toBe(
    `mounted fork → ${fork} (ro)\n  fs_read_file\nin the new conversation ${conversations()[0]}\n`,
  )
  expect(atTerminal(['add', `fs_modify_file:fork=${fork}:rw`], []).screen).toBe(
    `mounted fork → ${fork} (rw)\n  fs_modify_file\nin conversation ${conversations()[0]}\n`,
  )
  for (const [tool, capability, code] of [
    ['fs_read_file', 'read', 0],
    ['fs_read_file', 'update', 1],
    ['fs_modify_file', 'read', 0],
    ['fs_modify_file', 'update', 0],
    ['fs_modify_file', 'execute', 1],
  ] as const)
    expect([tool, capability, why(tool, capability, 'fork/src/lib.rs')]).toEqual([tool, capability, code])
})

test('SPEC 3.3 NAME=PATH:rw is an error, and so is every other wrong form; nothing is done', () => {
  expect(add(`fork=${fork}:rw`)).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: mount fork=${fork}:rw: \`:rw\` requires a TOOL: prefix\n  fix: say who may write: fs_modify_file:fork=${fork}:rw; each tool in a command of its own\n`,
  })
  for (const wrong of [
    'fork',
    `/fork=${fork}`,
    `../fork=${fork}`,
    `.cordon/fork=${fork}`,
    `.=${fork}`,
    `nope:fork=${fork}`,
    `unix_utils:fork=${fork}`,
    `fork=${fork}/missing`,
    'fork=.cordon',
    `fork=${here.cwd}`,
  ])
    expect({ wrong, ...add(wrong) }).toMatchObject({ wrong, code: 2, stdout: '' })
  expectNothingDone()
})

test('SPEC 3.3 all mounts are validated before anything is done', () => {
  expect(add(`a/b/fork=${fork}`, `fs_modify_file:c=${fork}:rw`, 'd=/no/such/place', `c=${fork}`)).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: mount d=/no/such/place: the target /no/such/place does not exist
mount c=${fork}: the same NAME twice
  fix: each in a command of its own
`,
  })
  expectNothingDone()
})

test('SPEC 3.3 several mounts, from a subdirectory, with ~ and relative paths; intermediate directories are made', () => {
  mkdirSync(join(here.cwd, 'foo'))
  symlinkSync(fork, join(here.home, 'code'))
  const ended = cordon(
    { ...here, cwd: join(here.cwd, 'foo') },
    'mount',
    'add',
    'fs_read_file:deep/er/fork=~/code',
    'fs_read_file:../up=~/code/src',
  )
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  // The link holds the canonical target, not the way that was typed.
  expect(readlinkSync(join(here.cwd, 'foo/deep/er/fork'))).toBe(fork)
  expect(readlinkSync(join(here.cwd, 'up'))).toBe(join(fork, 'src'))
  expect(ls().map((each) => (each as { name: string }).name)).toEqual(['foo/deep/er/fork', 'up'])
})

test('SPEC 3.3 an existing file or directory is not touched, a link elsewhere neither', () => {
  writeFileSync(join(here.cwd, 'file'), 'mine')
  mkdirSync(join(here.cwd, 'dir'))
  symlinkSync('/usr', join(here.cwd, 'link'))
  for (const [name, message] of [
    ['file', 'file exists and is not a symbolic link'],
    ['dir', 'dir exists and is not a symbolic link'],
    ['link', 'link is a link to /usr already; unmount it first'],
  ] as const)
    expect(add(`${name}=${fork}`)).toEqual({
      code: 2,
      stdout: '',
      stderr: `cordon: mount ${name}=${fork}: ${message}\n`,
    })
  expect(readFileSync(join(here.cwd, 'file'), 'utf8')).toBe('mine')
  expect(readdirSync(join(here.cwd, 'dir'))).toEqual([])
  expect(readlinkSync(join(here.cwd, 'link'))).toBe('/usr')
  expect(conversations()).toEqual([])
})

test('SPEC 3.3 re-running adds only what is new: a tool that was switched on later', () => {
  add(`fork=${fork}`)
  const [id] = conversations()
  const log = join(here.cwd, '.cordon/conversations', id!, 'events.jsonl')
  const before = readFileSync(log, 'utf8')
  // Nothing new: nothing is asked, nothing is written.
  expect(atTerminal(['add', `fork=${fork}`], []).screen).toBe(
    `mounted fork → ${fork} (ro)\n  as before\nin conversation ${id}\n`,
  )
  expect(readFileSync(log, 'utf8')).toBe(before)
  writeFileSync(join(here.cwd, '.cordon/config.toml'), '')
  trust(here)
  expect(why('unix_utils', 'read', 'fork/src/lib.rs')).toBe(1)
  expect(add(`fs_grep_files:fork=${fork}`).stdout).toContain('(ro)\n  fs_grep_files\n')
  expect(add(`fork=${fork}`).stdout).toContain(
    '(ro)\n  fs_list_files, fs_create_file, fs_delete_file, fs_move_file, unix_utils\n',
  )
  expect(why('unix_utils', 'read', 'fork/src/lib.rs')).toBe(0)
})

test('SPEC 3.3 a mount for all tools says which of them could write there until now', () => {
  add(`fs_modify_file:fork=${fork}:rw`)
  const { stderr } = add(`fork=${fork}`)
  expect(stderr).toContain('  fs_modify_file (could write there until now)\n')
  expect(why('fs_modify_file', 'update', 'fork/src/lib.rs')).toBe(1)
})

test('SPEC 3.2 the target is only in the user-local store and in the link, never in the conversation', () => {
  add(`fork=${fork}`)
  const files = readdirSync(join(here.cwd, '.cordon'), { recursive: true, withFileTypes: true })
  const text = files
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name + readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n')
  expect(text).toContain('"external":true')
  expect(text).not.toContain('serde-yaml')
})

test('SPEC 3.2 retargeting a mounted link is caught at the next compilation', () => {
  add(`fork=${fork}`)
  const elsewhere = temporary()
  writeFileSync(join(elsewhere, 'secret'), '')
  unlinkSync(join(here.cwd, 'fork'))
  symlinkSync(elsewhere, join(here.cwd, 'fork'))
  expect(why('fs_read_file', 'read', 'fork/secret')).toBe(1)
  const compiled = cordon(here, 'policy', 'compile')
  expect(compiled.code).toBe(0)
  expect(compiled.stderr).toContain('the rule for fork leads to a target that is not approved')
  expect(ls()).toMatchObject([
    { name: 'fork', target: elsewhere, state: 'retargeted', reason: `it was approved for ${fork}` },
  ])
  // Typing it again is not an answer either: the link is not what was typed.
  expect(add(`fork=${fork}`).code).toBe(2)
  const asked = cordonAtTerminal(here, ['policy', 'compile'], [['[y/N] ', 'n\n']])
  expect(asked.screen).toContain(`Symlink \`fork\` retargeted:

  was: ${fork}
  now: ${elsewhere}

Allow new target? [y/N] `)
  expect(why('fs_read_file', 'read', 'fork/secret')).toBe(1)
})

test('SPEC 3.1 a nested link inside the mount that leaves it is refused, capabilities hold inside', () => {
  symlinkSync('/etc', join(fork, 'secrets'))
  add(`fs_modify_file:fork=${fork}:rw`)
  expect(why('fs_modify_file', 'read', 'fork/secrets/passwd')).toBe(1)
  expect(why('fs_modify_file', 'update', 'fork/src/lib.rs')).toBe(0)
  // The mount point itself is not for tools.
  expect(why('fs_modify_file', 'delete', 'fork')).toBe(1)
})

test('SPEC 3.4 ls: name, target, tools, mode and state', () => {
  expect(cordon(here, 'mount', 'ls')).toEqual({ code: 0, stdout: '', stderr: 'no mounts\n' })
  add(`fork=${fork}`)
  add(`fs_modify_file:fork=${fork}:rw`, `fs_read_file:gone=${fork}/src`)
  unlinkSync(join(here.cwd, 'gone'))
  const width = fork.length
  expect(cordon(here, 'mount', 'ls')).toEqual({
    code: 0,
    stdout: `NAME  ${'TARGET'.padEnd(width)}  MODE  STATE   TOOLS
fork  ${fork}  ro    ok      fs_read_file
fork  ${fork}  rw    ok      fs_modify_file
gone  ${'-'.padEnd(width)}  ro    broken  fs_read_file

broken: gone: there is no link gone
`,
    stderr: '',
  })
  expect(ls('--no-id')).toEqual([])
})

test('SPEC 3.4 rm: link, approval and rules are gone, other access stays, and other links too', () => {
  add(`fork=${fork}`, `other=${fork}/src`)
  const [id] = conversations()
  expect(rm('fork')).toEqual({
    code: 0,
    stdout: `unmounted fork\n  fs_read_file, fs_modify_file\nin conversation ${id}\n${FROZEN}`,
    stderr: '',
  })
  expect(here0()).toEqual(['.cordon', 'other'])
  expect(approvals()).toMatchObject([{ rule_path: 'other' }])
  expect(why('fs_modify_file', 'update', 'src/new')).toBe(0)
  expect(why('fs_read_file', 'read', 'other/lib.rs')).toBe(0)
  // A link that somebody plants there afterwards leads nowhere.
  symlinkSync(fork, join(here.cwd, 'fork'))
  expect(why('fs_read_file', 'read', 'fork/src/lib.rs')).toBe(1)
  expect(existsSync(join(fork, 'src/lib.rs'))).toBe(true)
  expect(rm('fork')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: mount fork: no rule mounts fork; there are: other\n',
  })
  expect(rm()).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: name the mounts to remove, or write --all to remove every one\n',
  })
  expect(rm('--all').stdout).toBe(
    `unmounted other\n  fs_read_file, fs_modify_file\nin conversation ${id}\n${FROZEN}`,
  )
  expect(here0()).toEqual(['.cordon', 'fork'])
  expect(rm('--all')).toEqual({ code: 0, stdout: '', stderr: 'no mounts\n' })
})

test('SPEC 3.4 rm --all without a mount begins nothing', () => {
  expect(rm('--all')).toEqual({ code: 0, stdout: '', stderr: 'no mounts\n' })
  expect(JSON.parse(rm('--all', '--json').stdout)).toEqual({ conversation: null, new: false, steps: [] })
  expectNothingDone()
})

test('SPEC 3.3 four commands at once on one conversation: every mount is there', async () => {
  add(`fs_read_file:m0=${fork}`)
  const ended = await Promise.all(
    [1, 2, 3, 4].map((i) => cordonMeanwhile(here, 'mount', 'add', `m${i}=${fork}`)),
  )
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  expect(ls().map((each) => (each as { name: string; state: string }).name)).toEqual([
    'm0',
    'm1',
    'm2',
    'm3',
    'm4',
  ])
  expect(ls()).toMatchObject([1, 1, 1, 1, 1].map(() => ({ state: 'ok', mode: 'ro' })))
  expect(why('fs_modify_file', 'update', 'src/new')).toBe(0)
})

test('SPEC 3.4 any rule with external = true counts; what is left empty is a deny-all; real directories stay', () => {
  writeFileSync(
    join(here.cwd, '.cordon/config.toml'),
    `conversation.tools.fs_read_file.access.fs = [{ path = "hand", external = true, read = true }]\n`,
  )
  trust(here)
  mkdirSync(join(here.cwd, 'hand'))
  writeFileSync(join(here.cwd, 'hand/file'), '')
  const ended = rm('hand')
  expect(ended.stdout).toContain(
    'unmounted hand; what has that name is not a link, and was left as it is\n  fs_read_file\n',
  )
  expect(lstatSync(join(here.cwd, 'hand/file')).isFile()).toBe(true)
  expect(why('fs_read_file', 'read', 'src')).toBe(1)
  expect(cordon(here, 'config', 'explain', 'conversation.tools.fs_read_file.access.fs').stdout).toContain(
    `  { path = "." }  conversation ${conversations()[0]} (conversation)\n`,
  )
})

test('SPEC 3.3 --id names the conversation, and its layer is the only one that changes', () => {
  add(`fs_read_file:fork=${fork}`)
  const [first] = conversations()
  const { id: second } = JSON.parse(cordon(here, 'conversation', 'fork', '--json').stdout) as { id: string }
  add(`fs_modify_file:fork=${fork}:rw`, '--id', first!)
  expect(why('fs_modify_file', 'update', 'fork/src/lib.rs', '--id', second)).toBe(1)
  expect(why('fs_modify_file', 'update', 'fork/src/lib.rs', '--id', first!)).toBe(0)
  // It is the last used one now.
  expect(why('fs_modify_file', 'update', 'fork/src/lib.rs')).toBe(0)
  expect(add(`x=${fork}`, '--id', 'wrong')).toMatchObject({ code: 2, stdout: '' })
  expect(existsSync(join(here.cwd, 'x'))).toBe(false)
})

test('SPEC 3.3 --json says what was done', () => {
  const done = JSON.parse(add(`fork=${fork}`, '--json').stdout) as { conversation: string }
  const tools = ['fs_read_file', 'fs_modify_file']
  expect(done).toEqual({
    conversation: conversations()[0],
    new: true,
    steps: [{ mounted: 'fork', target: fork, mode: 'ro', link: 'made', tools, added: tools }],
  })
  expect(JSON.parse(rm('fork', '--json').stdout)).toEqual({
    conversation: done.conversation,
    new: false,
    steps: [{ unmounted: 'fork', link: 'removed', tools }],
  })
})

test('SPEC 3.3 a failure half-way takes back what was made', () => {
  // The approval store is a directory: unusable, which shows only when it is to be written, where no file must be trusted.
  rmSync(join(here.cwd, '.cordon/config.toml'))
  add(`fs_read_file:first=${fork}`)
  const places = join(here.home, '.local/share/cordon/workspace')
  const file = join(
    places,
    readdirSync(places).find((name) => !name.startsWith('.'))!,
    'approvals.json',
  )
  rmSync(file)
  mkdirSync(file)
  const [id] = conversations()
  const ended = add(`fs_read_file:a/b/fork=${fork}`)
  expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code: 2, stdout: '' })
  expect(ended.stderr).toBe(
    `cordon: cannot change the approvals in ${file}: it is not a regular file\n  nothing was changed\n`,
  )
  expect(here0()).toEqual(['.cordon', 'first'])
  expect(ls('--id', id!)).toMatchObject([{ name: 'first' }])
  expect(why('fs_read_file', 'read', 'src/new')).toBe(0)
})

const confined = (tool: string, ...command: string[]): Ended =>
  cordon(here, 'run', '-q', '--tool', tool, '--', ...command)

test('SPEC 3.1 a confined tool reads through its mount and not beside it, and writes only with :rw', () => {
  const other = temporary()
  writeFileSync(join(fork, 'src/lib.rs'), 'content')
  writeFileSync(join(fork, '../beside'), 'secret')
  writeFileSync(join(other, 'file'), 'secret')
  add(`fs_read_file:ro=${fork}`, `fs_modify_file:rw=${other}:rw`)
  expect(confined('fs_read_file', 'cat', 'ro/src/lib.rs')).toEqual({
    code: 0,
    stdout: 'content',
    stderr: '',
  })
  for (const path of ['ro/../beside', join(fork, '../beside'), 'rw/file'])
    expect({ path, ...confined('fs_read_file', 'cat', path) }).toMatchObject({ path, code: 1, stdout: '' })
  expect(confined('fs_read_file', 'touch', 'ro/new').code).toBe(1)
  expect(existsSync(join(fork, 'new'))).toBe(false)
  expect(confined('fs_modify_file', 'touch', 'rw/new').code).toBe(0)
  expect(existsSync(join(other, 'new'))).toBe(true)
  // Retargeted: neither the old place nor the new one.
  unlinkSync(join(here.cwd, 'ro'))
  symlinkSync(join(fork, '..'), join(here.cwd, 'ro'))
  for (const path of ['ro/beside', join(fork, 'src/lib.rs')])
    expect({ path, ...confined('fs_read_file', 'cat', path) }).toMatchObject({ path, code: 1, stdout: '' })
  rm('--all')
  expect(confined('fs_modify_file', 'cat', join(other, 'file'))).toMatchObject({ code: 1, stdout: '' })
})
