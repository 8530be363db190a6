import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { play } from './harness/terminal.ts'
import {
  CACHE,
  CORDON,
  cordon,
  cordonMeanwhile,
  type Ended,
  type Setting,
  temporary,
  trust,
} from './harness/cordon.ts'

/** `why`, the tool and the edit that is printed say the same: each of these did not. */
function workspace(config: string): Setting {
  const base = temporary()
  const cwd = join(base, 'ws')
  for (const name of ['ws/src/a.txt', 'ws/docs/d.txt', 'ws/lib/l.txt', 'home/f.txt', 'home/ext/x']) {
    mkdirSync(dirname(join(base, name)), { recursive: true })
    writeFileSync(join(base, name), 'old\n')
  }
  mkdirSync(join(cwd, '.cordon'))
  writeFileSync(join(cwd, '.cordon/config.toml'), config)
  const here = { cwd, home: join(base, 'home'), env: { PATH: '/usr/local/bin:/usr/bin:/bin' } }
  trust(here)
  return here
}

const access = (tool: string, fs: string): string => `[conversation.tools.${tool}.access]\nfs = ${fs}\n`
const run = (here: Setting, tool: string, args: unknown): Ended =>
  cordon(here, 'tool', 'run', tool, '--args', JSON.stringify(args))
const why = (here: Setting, ...words: string[]): Ended => cordon(here, 'why', ...words)

/** What stands under `to allow it:`. */
const printed = ({ stdout, stderr }: Ended): string | undefined =>
  / *to allow it:\n +(cordon .*)\n/.exec(`${stdout}${stderr}`)?.[1]

/** Pasted into a shell, as it was printed. */
function paste({ cwd, home, env }: Setting, command: string): void {
  const line = command.replace(/^cordon /, `'${process.execPath}' '${CORDON}' `)
  const { status, stderr } = spawnSync('sh', ['-c', line], {
    cwd,
    env: { ...env, HOME: home, XDG_CACHE_HOME: CACHE },
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
}

test('SPEC 1.3 a link that is deleted: the edit lets the link go, and nothing that it leads to', () => {
  const here = workspace(access('fs_delete_file', '[{ path = "docs", delete = true }]'))
  symlinkSync('../src', join(here.cwd, 'docs/../lib/alias'))
  const call = { path: 'lib/alias' }
  const refused = run(here, 'fs_delete_file', call)
  const edit = `cordon config set conversation.tools.fs_delete_file.access.fs '+{ path = "lib", delete = true }'`
  expect(printed(refused)).toBe(edit)
  expect(printed(why(here, 'fs_delete_file', 'delete', 'lib/alias'))).toBe(edit)
  paste(here, edit)
  expect(run(here, 'fs_delete_file', call)).toMatchObject({ code: 0, stdout: 'deleted lib/alias (link)' })
  expect(run(here, 'fs_delete_file', { path: 'src/a.txt' }).code).toBe(1)
})

const LINK =
  'no rule is for a link alone, so this one is for its directory: it also grants delete on everything there that no other rule is for'

/** Decision 0496, under narrow policies: the edit that is printed, pasted, is enough; `left` is refused as before. */
const NARROW = [
  {
    name: 'a link in the root, where only src is read',
    fs: '[{ path = "src", read = true }]',
    call: ['fs_delete_file', 'delete', 'alias'],
    edit: '+{ path = ".", delete = true }',
    note: LINK,
    left: ['fs_delete_file', 'delete', 'src/a.txt'],
  },
  {
    name: 'a link in the root of what may be read',
    fs: '[{ path = ".", read = true }]',
    call: ['fs_delete_file', 'delete', 'dangling'],
    edit: '+{ path = ".", read = true, delete = true }',
    note: LINK,
    left: ['fs_delete_file', 'delete', '.git/hooks/pre'],
  },
  {
    name: 'a link below',
    fs: '[{ path = ".", read = true }, { path = "docs", update = true }]',
    call: ['fs_delete_file', 'delete', 'docs/deep/l'],
    edit: '+{ path = "docs/deep", update = true, delete = true }',
    note: LINK,
    left: ['fs_delete_file', 'delete', 'docs/d.txt'],
  },
  {
    name: 'one hook, of all rights',
    fs: '[{ path = ".", read = true, write = true, execute = true }]',
    call: ['fs_create_file', 'update', '.git/hooks/pre'],
    edit: '+{ path = ".git/hooks/pre", read = true, update = true, execute = true }',
    left: ['fs_create_file', 'create', '.git/hooks/other'],
  },
  {
    name: 'a hook that is new',
    fs: '[{ path = ".", read = true, write = true }]',
    call: ['fs_create_file', 'create', '.git/hooks/new'],
    edit: '+{ path = ".git/hooks/new", read = true, create = true }',
    left: ['fs_create_file', 'update', '.git/hooks/pre'],
  },
  {
    name: 'an agent’s settings, under a rule for its directory',
    fs: '[{ path = ".claude", read = true, create = true, update = true }]',
    call: ['fs_modify_file', 'update', '.claude/settings.json'],
    edit: '+{ path = ".claude/settings.json", read = true, update = true }',
    left: ['fs_modify_file', 'update', '.git/hooks/pre'],
  },
  {
    name: 'a guarded file that is removed',
    fs: '[{ path = ".", read = true, create = true, update = true, delete = true }]',
    call: ['fs_delete_file', 'delete', '.claude/settings.json'],
    edit: '+{ path = ".claude/settings.json", read = true, delete = true }',
    left: ['fs_delete_file', 'delete', '.git/hooks/pre'],
  },
  {
    name: 'a program that is not ours removes it only with all the rights that are around it',
    fs: '[{ path = ".", read = true, write = true }]',
    call: ['remover', 'delete', '.claude/settings.json'],
    edit: '+{ path = ".claude/settings.json", read = true, create = true, update = true, delete = true }',
    left: ['remover', 'delete', '.git/hooks/pre'],
  },
  {
    name: 'a program that is not ours, in what is hidden: what the wider rule grants cannot be withheld there',
    fs: '[{ path = "src", read = true, update = true }, { path = "src/gen" }]',
    call: ['remover', 'delete', 'src/gen/g'],
    edit: '+{ path = "src/gen", read = true, update = true, delete = true }',
    left: ['remover', 'create', 'src/gen/n'],
  },
] as const

const REMOVER = `[conversation.tools.remover]
source = "local"
command = ["rm", "--", "{{tool.arguments.path}}"]
`

test.each(NARROW)('SPEC 4.7, 4.10 the least edit: $name', ({ fs, call, edit, left, ...each }) => {
  const [tool, capability, path] = call
  const here = workspace(`${tool === 'remover' ? REMOVER : ''}${access(tool, fs)}`)
  for (const [name, content] of [
    ['.git/HEAD', 'ref: refs/heads/main\n'],
    ['.git/hooks/pre', 'old\n'],
    ['.claude/settings.json', 'old\n'],
    ['docs/deep/f', 'old\n'],
    ['src/gen/g', 'old\n'],
  ] as const) {
    mkdirSync(dirname(join(here.cwd, name)), { recursive: true })
    writeFileSync(join(here.cwd, name), content)
  }
  symlinkSync('src', join(here.cwd, 'alias'))
  symlinkSync('nowhere', join(here.cwd, 'dangling'))
  symlinkSync('../../src', join(here.cwd, 'docs/deep/l'))
  const asked = why(here, ...call)
  const command = `cordon config set conversation.tools.${tool}.access.fs '${edit}'`
  expect(printed(asked)).toBe(command)
  const notes = 'note' in each ? [each.note] : []
  expect([...asked.stdout.matchAll(/^ {2}note: {4}(.*)$/gm)].map(([, note]) => note)).toEqual(notes)
  expect(run(here, tool, argumentsOf(tool, path)).code).toBe(1)
  paste(here, command)
  expect(why(here, ...call).code).toBe(0)
  expect(run(here, tool, argumentsOf(tool, path))).toMatchObject({ code: 0 })
  if (capability === 'delete')
    expect(lstatSync(join(here.cwd, path), { throwIfNoEntry: false })).toBeUndefined()
  expect(why(here, tool, left[1], left[2]).code).toBe(1)
})

function argumentsOf(tool: string, path: string): object {
  switch (tool) {
    case 'fs_create_file':
      return { path, content: 'new', overwrite: true }
    case 'fs_modify_file':
      return { edits: [{ path, old: 'old', new: 'new' }] }
    default:
      return { path }
  }
}

test('SPEC 1.3 an absolute path is refused by the tool, and why says how to name it', () => {
  const here = workspace('')
  const path = join(here.cwd, 'src/a.txt')
  expect(run(here, 'fs_read_file', { path }).code).toBe(1)
  expect(why(here, 'fs_read_file', 'read', path)).toEqual({
    code: 1,
    stdout: `denied: tool fs_read_file, read ${path}
  because: a shipped tool takes paths relative to the workspace, and refuses absolute ones
  note:    as it has to be named: cordon why fs_read_file read src/a.txt
`,
    stderr: '',
  })
})

test('SPEC 3.4 after an unmount the conversation has the rules: why says so, and what counts for one command', () => {
  const here = workspace(access('fs_read_file', '[{ path = "docs", read = true }]'))
  const conversation = /conversation (\w+)/.exec(
    cordon(here, 'mount', 'add', 'fs_read_file:fork=~/ext').stdout,
  )?.[1]
  expect(cordon(here, 'mount', 'rm', 'fork').code).toBe(0)
  const flag = 'conversation.tools.fs_read_file.access.fs=[{ path = "src/a.txt", read = true }]'
  expect(why(here, 'fs_read_file', 'read', 'src/a.txt')).toEqual({
    code: 1,
    stdout: `denied: tool fs_read_file, read src/a.txt
  because: no rule covers that path
  note:    conversation ${conversation} replaces the rules of every file, so that no edit of a file counts
  note:    for one command: --cfg '${flag}'
`,
    stderr: '',
  })
  const args = JSON.stringify({ path: 'src/a.txt' })
  expect(cordon(here, 'tool', 'run', 'fs_read_file', '--cfg', flag, '--args', args).code).toBe(0)
})

test('SPEC 4.10 an edit that opens what is guarded has the word beside it', () => {
  const here = workspace(access('fs_delete_file', '[{ path = "docs", delete = true }]'))
  expect(why(here, 'fs_delete_file', 'delete', '.cordon/config.toml').stdout).toContain(
    '\n  note:    .cordon/config.toml is guarded: the host obeys it, or runs it by itself later\n  to allow it:\n',
  )
})

test('SPEC 4.12 a file directly in the home is not mounted for writing, and nothing suggests it', () => {
  const here = workspace('')
  const add = (text: string): Ended => cordon(here, 'mount', 'add', text)
  expect(add('fs_modify_file:one=~/f.txt:rw')).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: mount fs_modify_file:one=~/f.txt:rw: fs_modify_file could not write ${here.home}/f.txt: it replaces a file in its directory, and that one is your home, or holds it or the workspace
  fix: put it into a directory of its own and mount that, or mount it without :rw
`,
  })
  expect(existsSync(join(here.cwd, 'one'))).toBe(false)
  expect(add('fs_modify_file:one=~/f.txt').code).toBe(0)
  const change = { edits: [{ path: 'one', old: 'old', new: 'new' }] }
  for (const ended of [
    run(here, 'fs_modify_file', change),
    why(here, 'fs_modify_file', 'update', 'one'),
    run(here, 'fs_create_file', { path: 'one', content: '', overwrite: true }),
    why(here, 'fs_create_file', 'update', 'one'),
  ]) {
    expect(ended.code).toBe(1)
    expect(`${ended.stdout}${ended.stderr}`).not.toContain('mount add')
  }
})

test('SPEC 3.3 below the root, what is printed is written from there, and works as it is pasted', () => {
  const here = workspace('')
  const inside = { ...here, cwd: join(here.cwd, 'src') }
  const change = { edits: [{ path: 'fork/x', old: 'old', new: 'new' }] }
  const mounts = (): readonly string[] =>
    cordon(here, 'mount', 'ls')
      .stdout.split('\n')
      .slice(1, -1)
      .map((line) => line.replaceAll(here.home, '~').replaceAll(/ +/g, ' '))
  expect(cordon(here, 'mount', 'add', 'fs_read_file:fork=~/ext').code).toBe(0)
  const add = 'cordon mount add fs_modify_file:../fork=~/ext:rw'
  expect(printed(run(inside, 'fs_modify_file', change))).toBe(add)
  expect(printed(why(inside, 'fs_modify_file', 'update', 'fork/x'))).toBe(add)
  paste(inside, add)
  expect(run(inside, 'fs_modify_file', change).code).toBe(0)
  expect(mounts()).toEqual(['fork ~/ext ro ok fs_read_file', 'fork ~/ext rw ok fs_modify_file'])
  // A mount that is there is made writable, and found by its link.
  expect(cordon(here, 'mount', 'rm', '--all').code).toBe(0)
  expect(cordon(here, 'mount', 'add', 'fs_modify_file:fork=~/ext').code).toBe(0)
  writeFileSync(join(here.home, 'ext/x'), 'old\n')
  const writable = 'cordon mount add fs_modify_file:../fork="$(readlink -f ../fork)":rw'
  expect(printed(run(inside, 'fs_modify_file', change))).toBe(writable)
  expect(printed(why(inside, 'fs_modify_file', 'update', 'fork/x'))).toBe(writable)
  expect(JSON.parse(why(inside, 'fs_modify_file', 'update', 'fork/x', '--json').stdout)).toMatchObject({
    fix: { command: writable },
  })
  paste(inside, writable)
  expect(run(inside, 'fs_modify_file', change).code).toBe(0)
  // What leads elsewhere by now is put back by the link's name from there.
  unlinkSync(join(here.cwd, 'fork'))
  symlinkSync(here.home, join(here.cwd, 'fork'))
  expect(why(inside, 'fs_modify_file', 'update', 'fork/x').stdout).toContain(
    '  note:    to put it back: ln -sfn ~/ext ../fork\n',
  )
  // So is what is not mounted yet.
  expect(printed(why(inside, 'fs_list_files', 'read', '~/ext'))).toBe(
    'cordon mount add fs_list_files:../ext=~/ext',
  )
})

test('SPEC 4.7 a mount of another tool is told once, with its command', () => {
  const here = workspace('')
  expect(cordon(here, 'mount', 'add', 'fs_read_file:fork=~/ext').code).toBe(0)
  const change = { edits: [{ path: 'fork/x', old: 'old', new: 'new' }] }
  expect(run(here, 'fs_modify_file', change)).toEqual({
    code: 1,
    stdout: '',
    stderr: `warning: the mount fork is for fs_read_file only
cordon: path escapes the workspace: fork/x
  update fork/x is denied: the mount fork is for fs_read_file only
    to allow it:
      cordon mount add fs_modify_file:fork=~/ext:rw
`,
  })
})

test('SPEC 3.2 a mount that leads elsewhere is mended as `why` says, also after a call', () => {
  const here = workspace('')
  expect(cordon(here, 'mount', 'add', 'fs_read_file:fork=~/ext').code).toBe(0)
  mkdirSync(join(here.home, 'other'))
  unlinkSync(join(here.cwd, 'fork'))
  symlinkSync(join(here.home, 'other'), join(here.cwd, 'fork'))
  const { code, stderr } = run(here, 'fs_read_file', { path: 'fork/x' })
  expect([code, stderr.replaceAll(/conversation \w+/g, 'conversation ID')]).toEqual([
    1,
    `warning: the rule for fork leads to a target that is not approved; it grants nothing until it is
cordon: access denied: read on fork/x
  because: the rule fork has no approved target: \`cordon mount ls\` says what it lacks
  granted: . (read, create, update, delete, execute)
  rule at: conversation ID
  read fork/x is denied: the mount fork leads elsewhere than where it was approved to lead, so it grants nothing; to put it back: ln -sfn ~/ext fork; the command asks, so it needs a terminal
    to allow it:
      cordon policy compile
`,
  ])
  expect(why(here, 'fs_read_file', 'read', 'fork/x').stdout).toContain(
    '  note:    to put it back: ln -sfn ~/ext fork\n  to allow it, at a terminal:\n    cordon policy compile\n',
  )
})

test('SPEC 4.12 an edit that only the tool can hold is said to stop `run --tool`', () => {
  const here = workspace(access('fs_modify_file', '[{ path = ".", read = true }, { path = "src/a.txt" }]'))
  const start = (): Ended => cordon(here, 'run', '--tool', 'fs_modify_file', '--', 'true')
  expect(start().code).toBe(0)
  const found = why(here, 'fs_modify_file', 'update', 'src/a.txt')
  expect(found.stdout).toContain(
    '\n  note:    the edit works for the tool, which checks by itself; `cordon run --tool fs_modify_file` would be refused with it, because the kernel here cannot hold exactly what the rules say of src/a.txt\n  to allow it:\n',
  )
  paste(here, printed(found)!)
  expect(run(here, 'fs_modify_file', { edits: [{ path: 'src/a.txt', old: 'old', new: 'new' }] }).code).toBe(0)
  expect(start().code).toBe(125)
  // It fails already: then that is no news.
  expect(why(here, 'fs_modify_file', 'delete', 'docs/d.txt').stdout).not.toContain('run --tool')
})

test('SPEC 4.7 what the kernel adds to an edit is said beside it, and not only once it was made', () => {
  const here = workspace(
    `[conversation.tools.t]\nsource = "local"\ncommand = ["sh"]\naccess.fs = [{ path = "src", read = true }]\n`,
  )
  const found = why(here, 't', 'create', 'src/new')
  expect(found.stdout).toContain(
    '\n  note:    with that edit, new files stay empty: writing into them is update\n  to allow it:\n',
  )
  paste(here, printed(found)!)
  expect(why(here, 't', 'create', 'src/new').stdout).toContain(
    '\n  note:    new files stay empty: writing into them is update\n',
  )
  expect(why(here, 't', 'update', 'src/a.txt').stdout).toContain(
    '\n  note:    with that edit, replacing a file by renaming another over it also needs create and delete\n  to allow it:\n',
  )
})

test('SPEC 1.3 the link of a mount stays, whoever has the mount', () => {
  const here = workspace('')
  expect(cordon(here, 'mount', 'add', 'fs_modify_file:one=~/ext:rw').code).toBe(0)
  expect(run(here, 'fs_delete_file', { path: 'one' })).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: access denied: delete on one
  because: it is a mount of fs_modify_file, and a mount point is not removed or moved by a tool
  no rule can allow it
  rule at: built-in guard
`,
  })
  expect(run(here, 'fs_move_file', { from: 'one', to: 'two' }).code).toBe(1)
  expect(existsSync(join(here.cwd, 'one/x'))).toBe(true)
})

test('SPEC 4.7 what is advised on a refused call does not depend on the policies of others, which may not compile', () => {
  const rules = access('fs_create_file', '[{ path = "src/a.txt", update = true }]')
  const broken = access('fs_read_file', '[{ path = "out", read = true }]')
  const [well, ill] = [rules, `${rules}${broken}`].map((config) => {
    const here = workspace(config)
    symlinkSync('lib', join(here.cwd, 'way'))
    symlinkSync('../home', join(here.cwd, 'out'))
    const { code, stdout, stderr } = run(here, 'fs_create_file', { path: 'way/l.txt', content: 'new' })
    return { code, stdout, stderr: stderr.replaceAll(here.cwd, 'WS') }
  })
  expect(well?.stderr).toContain('way')
  expect(ill).toEqual(well)
})

/** Cordon and its Node, installed in a directory: what the shipped tools are started from. */
function install(dir: string): Pick<typeof process, 'execPath'> & { readonly cordon: string } {
  const cli = dirname(dirname(CORDON))
  for (const part of ['bin', 'dist', 'launcher', 'package.json'])
    cpSync(join(cli, part), join(dir, 'cordon', part), { recursive: true })
  const execPath = join(dir, 'node/bin/node')
  mkdirSync(dirname(execPath), { recursive: true })
  copyFileSync(process.execPath, execPath)
  return { execPath, cordon: join(dir, 'cordon/bin/cordon.cjs') }
}

describe('SPEC 4.3 what a shipped tool is started from is there, whatever rules lie around it', () => {
  const NAMES = ['fs_read_file', 'fs_modify_file', 'unix_utils']
  const here = workspace(
    NAMES.map((tool) => access(tool, '[{ path = "docs", read = true, write = true }]')).join(''),
  )
  const inside = install(join(here.cwd, 'node_modules'))
  const outside = install(join(here.home, 'apps'))
  const by =
    ({ execPath, cordon: program }: ReturnType<typeof install>) =>
    (...args: string[]): Ended => {
      const { status, stdout, stderr } = spawnSync(execPath, [program, ...args], {
        cwd: here.cwd,
        env: { ...here.env, HOME: here.home, XDG_CACHE_HOME: CACHE },
        encoding: 'utf8',
      })
      return { code: status, stdout, stderr }
    }
  const call = (tool: string, args: unknown): string[] => [
    'tool',
    'run',
    tool,
    '--args',
    JSON.stringify(args),
  ]
  const edit = { edits: [{ path: 'docs/d.txt', old: 'old', new: 'old' }] }

  test.each(['hidden', 'readable', 'writable'])('in the workspace, where its rules make it %s', (how) => {
    const grants = { hidden: '', readable: ', read = true', writable: ', read = true, write = true' }[how]!
    for (const tool of NAMES)
      paste(
        here,
        `cordon config set conversation.tools.${tool}.access.fs '+{ path = "node_modules"${grants} }'`,
      )
    const cordonInside = by(inside)
    expect(cordonInside('why', 'fs_read_file', 'read', 'docs/d.txt').code).toBe(0)
    expect(cordonInside(...call('fs_read_file', { path: 'docs/d.txt' }))).toEqual({
      code: 0,
      stdout: 'old\n',
      stderr: '',
    })
    expect(cordonInside(...call('unix_utils', { util: 'wc', args: ['-l', 'docs/d.txt'] }))).toMatchObject({
      code: 0,
      stdout: '1 docs/d.txt\n',
    })
    expect(cordonInside(...call('fs_modify_file', edit))).toMatchObject({ code: 0, stderr: '' })
    // What is hidden from it stays so, but for these files.
    expect(cordonInside(...call('fs_read_file', { path: 'node_modules/cordon/package.json' })).code).toBe(
      how === 'hidden' ? 1 : 0,
    )
  })

  test('it is not changed by the tool that runs from it, and why says so', () => {
    const cordonInside = by(inside)
    expect(
      cordonInside('why', 'fs_modify_file', 'update', 'node_modules/cordon/dist/tools.cjs'),
    ).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('  because: the tool itself is started from there\n') as string,
    })
    expect(cordonInside('why', 'fs_modify_file', 'update', 'node_modules/cordon/package.json').code).toBe(0)
    const text = { path: 'node_modules/cordon/dist/tools.cjs', old: '"use strict"', new: '"use  strict"' }
    expect(cordonInside(...call('fs_modify_file', { edits: [text] })).code).toBe(1)
  })

  test.each(['ro', 'rw'])('in a mount (%s)', (mode) => {
    const cordonOutside = by(outside)
    for (const tool of NAMES)
      expect(cordonOutside('mount', 'add', `${tool}:apps=${here.home}/apps:${mode}`).code).toBe(0)
    expect(cordonOutside('why', 'fs_read_file', 'read', 'docs/d.txt').code).toBe(0)
    expect(cordonOutside(...call('fs_read_file', { path: 'docs/d.txt' })).stdout).toBe('old\n')
    expect(cordonOutside(...call('unix_utils', { util: 'wc', args: ['-l', 'docs/d.txt'] })).stdout).toBe(
      '1 docs/d.txt\n',
    )
    expect(cordonOutside(...call('fs_modify_file', edit))).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('SPEC 4.10 what is guarded in a writable mount', () => {
  const call = (path: string): object => ({ edits: [{ path, old: 'old', new: 'new' }] })

  test('is opened by its name, as why says, once a person approved it', () => {
    const here = workspace(access('fs_modify_file', '[{ path = ".", read = true, write = true }]'))
    writeFileSync(join(here.home, 'ext/.npmrc'), 'old\n')
    expect(cordon(here, 'mount', 'add', 'fs_modify_file:fk=~/ext:rw').code).toBe(0)
    expect(run(here, 'fs_modify_file', call('fk/.npmrc')).code).toBe(1)
    const asked = why(here, 'fs_modify_file', 'update', 'fk/.npmrc')
    const command = /to allow it, at a terminal:\n +(cordon .*) && cordon policy compile\n/.exec(
      asked.stdout,
    )?.[1]
    expect(command).toBe(
      `cordon config set --user-workspace conversation.tools.fs_modify_file.access.fs '+{ path = "fk/.npmrc", external = true, read = true, update = true }'`,
    )
    paste(here, command!)
    const cli = [process.execPath, CORDON, 'policy', 'compile']
    const env = { ...here.env, HOME: here.home, XDG_CACHE_HOME: CACHE, TERM: 'xterm' }
    expect(play({ argv: cli, cwd: here.cwd, env, steps: [['[y/N]', 'y\r']] }).code).toBe(0)
    expect(why(here, 'fs_modify_file', 'update', 'fk/.npmrc').code).toBe(0)
    expect(run(here, 'fs_modify_file', call('fk/.npmrc'))).toMatchObject({ code: 0 })
    expect(readFileSync(join(here.home, 'ext/.npmrc'), 'utf8')).toBe('new\n')
  })

  test('is changed by a mount of its own, and nothing beside it that is guarded', () => {
    const here = workspace('')
    writeFileSync(join(here.home, 'ext/.npmrc'), 'old\n')
    writeFileSync(join(here.home, 'ext/.envrc'), 'old\n')
    expect(cordon(here, 'mount', 'add', 'fs_modify_file:rc=~/ext/.npmrc:rw').code).toBe(0)
    expect(why(here, 'fs_modify_file', 'update', 'rc').code).toBe(0)
    expect(run(here, 'fs_modify_file', call('rc'))).toMatchObject({ code: 0 })
    expect(readFileSync(join(here.home, 'ext/.npmrc'), 'utf8')).toBe('new\n')
    expect(cordon(here, 'mount', 'add', 'fs_modify_file:fk=~/ext:rw').code).toBe(0)
    expect(run(here, 'fs_modify_file', call('fk/.envrc')).code).toBe(1)
  })
})

test('SPEC 4.7 the program that complains is not what was denied', () => {
  const here = workspace(
    access('unix_utils', '[{ path = "src", read = true }, { path = "src/n", create = true }]'),
  )
  const call = { util: 'touch', args: ['src/n'] }
  expect(run(here, 'unix_utils', call)).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: touch ended with exit code 1.
It complained:
touch: cannot touch 'src/n': Read-only file system
  hint: src/n: the rule for src/n holds only once it exists, and src does not grant create
`,
  })
  paste(here, printed(why(here, 'unix_utils', 'create', 'src/n'))!)
  expect(run(here, 'unix_utils', call).code).toBe(0)
})

describe('SPEC 1.3 an absolute path outside the workspace', () => {
  test('is mounted, and then named by its mount', () => {
    const here = workspace('')
    const asked = why(here, 'fs_read_file', 'read', join(here.home, 'ext/x'))
    const command = 'cordon mount add fs_read_file:x=~/ext/x'
    expect(printed(asked)).toBe(command)
    expect(asked.stdout).toContain(
      '  note:    mounted, it has to be named x: the tool refuses absolute paths\n',
    )
    paste(here, command)
    expect(why(here, 'fs_read_file', 'read', join(here.home, 'ext/x'))).toEqual({
      code: 1,
      stdout: `denied: tool fs_read_file, read ${here.home}/ext/x
  because: a shipped tool takes paths relative to the workspace, and refuses absolute ones
  note:    as it has to be named: cordon why fs_read_file read x
`,
      stderr: '',
    })
    expect(run(here, 'fs_read_file', { path: 'x' }).code).toBe(0)
  })

  test('is not mounted for a tool that only reads, to be written', () => {
    const here = workspace('')
    const { stdout } = why(here, 'fs_read_file', 'update', join(here.home, 'ext/x'))
    expect(stdout).toContain('  note:    no mount helps: this tool only reads\n')
    expect(stdout).not.toContain('to allow it')
    paste(here, 'cordon mount add fs_read_file:fork=~/ext')
    const mounted = why(here, 'fs_read_file', 'update', 'fork/x').stdout
    expect(mounted).toContain('  because: this tool only reads\n')
    expect(mounted).not.toContain('to allow it')
  })
})

test('SPEC 1.3 nothing is moved onto a link that leads to nothing, and why says so before', () => {
  const here = workspace(access('fs_move_file', '[{ path = "src", read = true, delete = true }]'))
  symlinkSync('../nope', join(here.cwd, 'docs/dang'))
  expect(why(here, 'fs_move_file', 'create', 'docs/dang')).toEqual({
    code: 1,
    stdout: `denied: tool fs_move_file, create docs/dang
  because: docs/dang is a link, and only a file is replaced
`,
    stderr: '',
  })
})

test('a tool that is switched off is not allowed anything, and the command switches it on', () => {
  const here = workspace('[conversation.tools.fs_read_file]\nenable = false\n')
  const asked = why(here, 'fs_read_file', 'read', 'src/a.txt')
  expect(asked.stdout).toContain(
    '  because: the tool is switched off; otherwise, the rule for . grants read\n',
  )
  expect(asked.code).toBe(1)
  paste(here, printed(asked)!)
  expect(why(here, 'fs_read_file', 'read', 'src/a.txt').code).toBe(0)
  expect(run(here, 'fs_read_file', { path: 'src/a.txt' }).code).toBe(0)
})

describe('SPEC 4.12 a rule that ends with its directory', () => {
  test('the tool’s person is told what why knows', () => {
    const here = workspace(access('fs_delete_file', '[{ path = "lib/x", read = true, delete = true }]'))
    mkdirSync(join(here.cwd, 'lib/x'))
    const refused = run(here, 'fs_delete_file', { path: 'lib/x' })
    expect(refused.stderr).toBe(`cordon: cannot remove lib/x: it is on a read-only filesystem
  delete lib/x is denied: its rule begins here, and the directory above is not writable for the tool
    to allow it:
      cordon config set conversation.tools.fs_delete_file.access.fs '+{ path = "lib", delete = true }'
`)
    paste(here, printed(refused)!)
    expect(run(here, 'fs_delete_file', { path: 'lib/x' }).code).toBe(0)
  })

  test('where no rule alone is enough, why says what is in the way', () => {
    const here = workspace(access('fs_delete_file', '[{ path = "gone", read = true }]'))
    mkdirSync(join(here.cwd, 'gone'))
    const { stdout } = why(here, 'fs_delete_file', 'delete', 'gone')
    expect(stdout).toContain(
      '  note:    a rule alone is not enough: with { path = "gone", read = true, delete = true }, its rule begins here, and the directory above is not writable for the tool\n',
    )
  })
})

test('SPEC 1.3 the link of a mount that nobody approved is a mount point, too', () => {
  const here = workspace(
    access('fs_delete_file', '[{ path = "fork", external = true, read = true, delete = true }]'),
  )
  symlinkSync(join(here.home, 'ext'), join(here.cwd, 'fork'))
  expect(why(here, 'fs_delete_file', 'delete', 'fork').stdout).toBe(`denied: tool fs_delete_file, delete fork
  because: it is a mount of fs_delete_file, and a mount point is not removed or moved by a tool
`)
})

describe('SPEC 1.3 a directory is moved with everything in it', () => {
  const ALL = '{ path = ".", read = true, write = true }'
  const call = { from: 'pkg', to: 'moved' }
  const asked = (rules: string): Setting => {
    const here = workspace(access('fs_move_file', `[${ALL}, ${rules}]`))
    mkdirSync(join(here.cwd, 'pkg/b'), { recursive: true })
    return here
  }

  test('why names the rule in it that withholds delete, and its edit works as pasted', () => {
    const here = asked('{ path = "pkg/b", read = true }')
    expect(run(here, 'fs_move_file', call).code).toBe(1)
    const denied = why(here, 'fs_move_file', 'delete', 'pkg')
    expect(denied.stdout).toBe(`denied: tool fs_move_file, delete pkg
  because: it is moved with what is in it, and delete pkg/b is denied: the rule for pkg/b does not grant delete
  rule at: .cordon/config.toml:2:50
  overruled: the rule for . (read, create, update, delete) at .cordon/config.toml:2:7
  note:    the edit works for the tool, which checks by itself; \`cordon run --tool fs_move_file\` would be refused with it, because the kernel here cannot hold exactly what the rules say of pkg/b
  to allow it:
    cordon config set conversation.tools.fs_move_file.access.fs '+{ path = "pkg/b", read = true, delete = true }'
`)
    paste(here, printed(denied)!)
    expect(why(here, 'fs_move_file', 'delete', 'pkg').code).toBe(0)
    expect(run(here, 'fs_move_file', call).code).toBe(0)
  })

  test('an edit that is enough for one of two is not suggested', () => {
    const here = asked('{ path = "pkg/b", read = true }, { path = "pkg/c" }')
    const denied = why(here, 'fs_move_file', 'delete', 'pkg')
    expect(denied.code).toBe(1)
    expect(printed(denied)).toBeUndefined()
  })

  test('of a new name why says that only a file can be moved there, and the question to ask for a directory', () => {
    const here = asked('{ path = "moved/b", read = true }')
    const told = why(here, 'fs_move_file', 'create', 'moved')
    expect(told.code).toBe(0)
    expect(told.stdout).toContain(
      'note:    a file can be moved there, but no directory: it comes with what is in it, and create moved/b is denied: cordon why fs_move_file create moved/b\n',
    )
    expect(run(here, 'fs_move_file', call).code).toBe(1)
    writeFileSync(join(here.cwd, 'f'), '')
    expect(run(here, 'fs_move_file', { ...call, from: 'f' }).code).toBe(0)
    rmSync(join(here.cwd, 'moved'))
    paste(here, printed(why(here, 'fs_move_file', 'create', 'moved/b'))!)
    expect(why(here, 'fs_move_file', 'create', 'moved').stdout).not.toContain('no directory')
    expect(run(here, 'fs_move_file', call).code).toBe(0)
  })

  test('why names the mount of another tool in it', () => {
    const here = workspace(
      `${access('fs_read_file', '[{ path = "pkg/fork", external = true, read = true }]')}${access('fs_move_file', `[${ALL}]`)}`,
    )
    mkdirSync(join(here.cwd, 'pkg'))
    symlinkSync(join(here.home, 'ext'), join(here.cwd, 'pkg/fork'))
    expect(run(here, 'fs_move_file', call).code).toBe(1)
    expect(why(here, 'fs_move_file', 'delete', 'pkg')).toMatchObject({
      code: 1,
      stdout: `denied: tool fs_move_file, delete pkg
  because: it is moved with what is in it, and delete pkg/fork is denied: it is a mount of fs_read_file, and a mount point is not removed or moved by a tool
  rule at: built-in guard
  overruled: the rule for . (read, create, update, delete) at .cordon/config.toml:4:7
`,
    })
  })
})

describe('SPEC 4.7 what a tool was refused of the network', () => {
  test('the edit is for the path that its command names', () => {
    const here = workspace(
      '[conversation.tools.n]\nsource = "local"\ncommand = ["curl", "-sS", "https://example.com/admin/users"]\n',
    )
    expect(printed(run(here, 'n', {}))).toBe(
      `cordon config set conversation.tools.n.access.net '+{ host = "example.com", scheme = "https", path_prefix = "/admin/users", allow = true }'`,
    )
  })

  test('a port of the host’s own: the edit works as pasted', async () => {
    const server = createServer((_, response) => response.end('served'))
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    const here = workspace(
      `[conversation.tools.l]\nsource = "local"\ncommand = ["curl", "-sS", "http://localhost:${port}/x"]\n`,
    )
    const call = ['tool', 'run', 'l']
    const refused = await cordonMeanwhile(here, ...call)
    const edit = printed(refused)
    expect(edit).toBe(
      `cordon config set conversation.tools.l.access.net '+{ host = "localhost", scheme = "http", port = ${port}, path_prefix = "/x", allow = true }'`,
    )
    paste(here, edit!)
    expect(await cordonMeanwhile(here, ...call)).toMatchObject({ code: 0, stdout: 'served' })
    server.close()
  })
})

test(
  'SPEC 4.7 what a tool can never do it says itself: nobody is told the same beside it',
  { timeout: 60_000 },
  () => {
    const here = workspace(access('fs_modify_file', '[{ path = ".", read = true, update = true }]'))
    const asked = why(here, 'fs_modify_file', 'update', 'src')
    expect(asked).toMatchObject({
      code: 1,
      stdout:
        'denied: tool fs_modify_file, update src\n  because: src is a directory, and only a file is changed\n',
    })
    const failed = run(here, 'fs_modify_file', { edits: [{ path: 'src', old: 'a', new: 'b' }] })
    expect(failed.code).not.toBe(0)
    expect(`${failed.stdout}${failed.stderr}`).not.toContain('is denied')
  },
)
