import { spawnSync } from 'node:child_process'
import { existsSync, statSync, symlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { failed, said, Workspace } from './support/workspace.ts'

const refused = (command: string) => failed(`${command} is not permitted here`)

const run = (workspace: Workspace, util: string, ...args: string[]) =>
  workspace.run('unix_utils', { util, args })

test('runs a utility in the workspace with a clean environment and no shell', async () => {
  const workspace = new Workspace({ a: 'b\na\nb\n', 'x y': 'hi\n' })
  expect(await run(workspace, 'sort', '-u', 'a')).toEqual(said('a\nb\n'))
  expect(await run(workspace, 'wc', '-l', 'a')).toEqual(said('3 a\n'))
  expect(await run(workspace, 'cat', 'x y')).toEqual(said('hi\n'))
  expect(await run(workspace, 'head', '-n1', '--', 'a')).toEqual(said('b\n'))
  expect(await workspace.run('unix_utils', { util: 'tr', args: ['a-z', 'A-Z'], stdin: 'abc' })).toEqual(
    said('ABC'),
  )
  expect(await workspace.run('unix_utils', { util: 'tr', args: ['/', '_'], stdin: 'a/b' })).toEqual(
    said('a_b'),
  )
  expect(await run(workspace, 'date', '-u', '-d@0', '+%Y/%m')).toEqual(said('1970/01\n'))
  expect(await run(workspace, 'basename', '/not/a/path.ts', '.ts')).toEqual(said('path\n'))
  expect(await run(workspace, 'cat', '$HOME')).toEqual(
    failed("cat ended with exit code 1.\nIt complained:\ncat: '$HOME': No such file or directory"),
  )
})

test('SPEC 6.5 a program that failed is an error with its exit and all it said; a comparison that says no is an answer', async () => {
  const workspace = new Workspace({ a: 'x\n', b: 'y\n' })
  expect(await run(workspace, 'cat', 'a', 'nope', 'b')).toEqual(
    failed(
      'cat ended with exit code 1.\nIt complained:\ncat: nope: No such file or directory\nIt had printed:\nx\ny\n',
    ),
  )
  expect(await run(workspace, 'diff', 'a', 'b')).toEqual(
    said('1c1\n< x\n---\n> y\n', 'diff ended with exit code 1.'),
  )
  expect(await run(workspace, 'cmp', '-s', 'a', 'b')).toEqual(said('', 'cmp ended with exit code 1.'))
  expect(await workspace.run('unix_utils', { util: 'sort', args: ['-C'], stdin: 'b\na\n' })).toEqual(
    said('', 'sort ended with exit code 1.'),
  )
  expect(await run(workspace, 'diff', 'a', 'nope')).toMatchObject({
    type: 'error',
    message: expect.stringMatching(/^diff ended with exit code 2\.\n/) as string,
  })
})

test('SPEC 1.8 every file that is named must be granted read, in the words of the other tools', async () => {
  const workspace = new Workspace({ 'src/a': 'x\n', 'lib/l': 'y\n' })
  symlinkSync('../lib/l', workspace.path('src/link'))
  const access = { fs: [{ path: 'src', read: true }] }
  const call = (name: string, args: unknown) => workspace.run(name, args, { access })
  const other = await call('fs_read_file', { path: 'lib/l' })
  const same: unknown = JSON.parse(JSON.stringify(other).replaceAll('fs_read_file', 'unix_utils'))
  expect(other).toMatchObject({ type: 'error', denied: { capability: 'read', target: 'lib/l' } })
  for (const args of [['lib/l'], ['src/a', 'lib/l'], ['--', 'lib/l'], ['-n', 'lib/l']])
    expect(await call('unix_utils', { util: 'cat', args }), args.join(' ')).toEqual(same)
  expect(await call('unix_utils', { util: 'cat', args: ['src/link'] })).toMatchObject({
    message: expect.stringMatching(/^access denied: read on src\/link → lib\/l\n/) as string,
    denied: { capability: 'read', target: 'lib/l' },
  })
  expect(await call('unix_utils', { util: 'cat', args: ['src/a'] })).toEqual(said('x\n'))
  expect(await call('unix_utils', { util: 'basename', args: ['lib/l'] })).toEqual(said('l\n'))
  for (const args of [[], ['-s'], ['.']])
    expect(await call('unix_utils', { util: 'du', args }), args.join(' ')).toMatchObject({
      denied: { capability: 'read', target: '.' },
    })
})

test('SPEC 1.8 arguments must stay in the workspace', async () => {
  const workspace = new Workspace({ a: '' })
  symlinkSync('/etc', workspace.path('etc'))
  expect(await run(workspace, 'cat', '/etc/passwd')).toEqual(
    failed('path is outside the workspace: /etc/passwd (absolute paths are not permitted)'),
  )
  expect(await run(workspace, 'cat', '../x')).toEqual(failed('path escapes the workspace: ../x'))
  expect(await run(workspace, 'cat', 'etc/passwd')).toEqual(failed('path escapes the workspace: etc/passwd'))
  expect(await run(workspace, 'sort', '--', '-o')).toEqual(
    failed('sort ended with exit code 2.\nIt complained:\nsort: cannot read: -o: No such file or directory'),
  )
})

test('only programs and options that read', async () => {
  const workspace = new Workspace({ a: 'x\n' })
  for (const [util, option] of [
    ['sort', '-o'],
    ['sort', '-oevil'],
    ['sort', '--output=evil'],
    ['sort', '--compress-program=sh'],
    ['sort', '--files0-from=a'],
    ['sort', '-T/tmp'],
    ['tail', '-f'],
    ['tail', '--follow'],
    ['date', '-s2020-01-01'],
    ['date', '-r'],
    ['file', '-C'],
    ['file', '-m/etc/passwd'],
    ['file', '-f/etc/passwd'],
    ['wc', '--files0-from=/etc/passwd'],
    ['diff', '--to-file=/etc/passwd'],
    ['du', '--exclude-from=/etc/passwd'],
    ['date', '--file=/etc/passwd'],
    ['md5sum', '--check'],
    ['diff', '-r'],
    ['jq', '-f'],
    ['jq', '-nf'],
    ['jq', '--from-file'],
    ['jq', '--slurpfile'],
    ['jq', '--rawfile'],
    ['jq', '-L'],
    ['jq', '--args'],
    ['touch', '-r'],
    ['touch', '--reference=/etc/passwd'],
    ['uuidgen', '-t'],
  ] as const)
    expect(await run(workspace, util, option, 'a')).toEqual(refused(`${util} ${option}`))
  expect(await run(workspace, 'uniq', 'a', 'evil')).toEqual(failed('uniq takes at most 1 file here'))
  expect(existsSync(workspace.path('evil'))).toBe(false)
  for (const util of ['sh', 'sed', 'awk', 'env', 'xargs', 'find'])
    expect(await run(workspace, util)).toMatchObject({
      type: 'error',
      message: expect.stringMatching(/^invalid arguments: util: expected one of/) as string,
    })
})

test('the list a checksum utility is given cannot name other files', async () => {
  const workspace = new Workspace({ list: 'd41d8cd98f00b204e9800998ecf8427e  /etc/passwd\n' })
  expect(await run(workspace, 'md5sum', '-c', 'list')).toEqual(failed('md5sum -c is not permitted here'))
})

test('output and time are bounded, and commands are checked', async () => {
  const workspace = new Workspace()
  const flood = await run(workspace, 'seq', '1000000')
  expect(flood).toMatchObject({ content: [{}, { text: 'The output was cut to 262,144 bytes.' }] })
  const access = { fs: [], commands: { cat: { args: [['a']] } } }
  expect(await workspace.run('unix_utils', { util: 'wc', args: [] }, { access })).toMatchObject({
    type: 'error',
  })
})

test('an option and its value may be two words, and reach the program as one', async () => {
  const workspace = new Workspace({ a: 'x,3\ny,1\nz,2\n' })
  expect(await run(workspace, 'head', '-n', '1', 'a')).toEqual(said('x,3\n'))
  expect(await run(workspace, 'head', '--lines', '1', 'a')).toEqual(said('x,3\n'))
  expect(await run(workspace, 'tail', '-n', '+3', 'a')).toEqual(said('z,2\n'))
  expect(await run(workspace, 'sort', '-t', ',', '-k', '2', '-n', 'a')).toEqual(said('y,1\nz,2\nx,3\n'))
  expect(await run(workspace, 'cut', '-d', ',', '-f', '1', 'a')).toEqual(said('x\ny\nz\n'))
  expect(await run(workspace, 'stat', '-c', '%s', 'a')).toEqual(said('12\n'))
  expect(await run(workspace, 'basename', '-s', '.ts', 'b/c.ts')).toEqual(said('c\n'))
  // The value is judged with its option: what is no value of it is not one.
  expect(await run(workspace, 'sort', '-o', 'evil', 'a')).toEqual(refused('sort -o'))
  expect(await run(workspace, 'head', '-n', '/etc/passwd')).toEqual(refused('head -n'))
  expect(await run(workspace, 'sort', '-S', 'a')).toEqual(refused('sort -S'))
  const access = { commands: { head: { args: [['-n1', '**']] } } }
  const head = (n: string) => workspace.run('unix_utils', { util: 'head', args: ['-n', n, 'a'] }, { access })
  expect(await head('1')).toEqual(said('x,3\n'))
  expect(await head('2')).toMatchObject({ type: 'error' })
})

const installed = (util: string): boolean => spawnSync('sh', ['-c', 'command -v "$0"', util]).status === 0

test.skipIf(!installed('jq'))('jq takes a filter and files, and no filter that names others', async () => {
  const workspace = new Workspace({ 'a.json': '{"n": [1, 2]}', 'evil.jq': 'def f: 1;' })
  expect(await run(workspace, 'jq', '-c', '.n', 'a.json')).toEqual(said('[1,2]\n'))
  expect(await run(workspace, 'jq', '-e', '.none', 'a.json')).toEqual(
    said('null\n', 'jq ended with exit code 1.'),
  )
  expect(await run(workspace, 'jq', '-n', '--arg', 'x', '/etc/passwd', '$x')).toEqual(said('"/etc/passwd"\n'))
  expect(await run(workspace, 'jq', '.', '/etc/passwd')).toEqual(
    failed('path is outside the workspace: /etc/passwd (absolute paths are not permitted)'),
  )
  for (const filter of [
    'include "evil"; f',
    'import "passwd" as $p {search: "/etc"}; $p',
    '"evil" | modulemeta',
  ])
    expect(await run(workspace, 'jq', '-n', filter)).toEqual(
      failed('jq: a filter must not name other files (import, include)'),
    )
})

test.skipIf(!installed('bc'))('bc computes what it reads', async () => {
  const workspace = new Workspace()
  expect(await workspace.run('unix_utils', { util: 'bc', args: ['-l'], stdin: '2^10\n' })).toEqual(
    said('1024\n'),
  )
})

test('what is not installed is said', async () => {
  const workspace = new Workspace()
  const answer = await run(workspace, 'uuidgen')
  if (installed('uuidgen'))
    expect(answer).toMatchObject({
      content: [{ text: expect.stringMatching(/^[0-9a-f-]{36}\n$/) as string }],
    })
  else expect(answer).toEqual(failed('uuidgen is not installed here'))
  expect(await run(workspace, 'uuidgen', 'x')).toEqual(failed('uuidgen takes at most 0 files here'))
})

test('decision 0173 touch is asked for create or update', async () => {
  const workspace = new Workspace({ 'make/old': '', 'change/old': '', 'read/old': '' })
  const access = {
    fs: [
      { path: 'make', create: true },
      { path: 'change', update: true },
      { path: 'read', read: true },
    ],
  }
  const touch = (...args: string[]) => workspace.run('unix_utils', { util: 'touch', args }, { access })
  expect(await touch('make/new')).toEqual(said(''))
  expect(existsSync(workspace.path('make/new'))).toBe(true)
  expect(await touch('-d', '1970-01-02 00:00Z', 'change/old')).toEqual(said(''))
  expect(statSync(workspace.path('change/old')).mtimeMs).toBe(86_400_000)
  for (const [path, want] of [
    ['make/old', 'update'],
    ['change/new', 'create'],
    ['read/old', 'update'],
    ['read/new', 'create'],
  ] as const) {
    expect(await touch('-d', '@0', path)).toMatchObject({
      message: expect.stringMatching(`^access denied: ${want} on ${path}\n`) as string,
    })
  }
  expect(await touch('../x')).toEqual(failed('path escapes the workspace: ../x'))
  expect(existsSync(workspace.path('read/new'))).toBe(false)
  expect(statSync(workspace.path('read/old')).mtimeMs).toBeGreaterThan(1e12)
})
