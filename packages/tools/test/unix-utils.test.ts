import { existsSync, symlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { failed, said, Workspace } from './support/workspace.ts'

const refused = (command: string) =>
  failed(`${command} is not permitted: only options that read, with their values in the same word`)

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
    said('', "cat ended with exit code 1.\nIt complained: cat: '$HOME': No such file or directory"),
  )
})

test('SPEC 1.8 arguments must stay in the workspace', async () => {
  const workspace = new Workspace({ a: '' })
  symlinkSync('/etc', workspace.path('etc'))
  expect(await run(workspace, 'cat', '/etc/passwd')).toEqual(
    failed('path is outside the workspace: /etc/passwd (absolute paths are not permitted)'),
  )
  expect(await run(workspace, 'cat', '../x')).toEqual(failed('path escapes the workspace: ../x'))
  expect(await run(workspace, 'cat', 'etc/passwd')).toEqual(failed('path escapes the workspace: etc/passwd'))
  expect(await run(workspace, 'sort', '--', '-o')).toMatchObject({ type: 'success' })
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
  expect(await run(workspace, 'md5sum', '-c', 'list')).toEqual(
    failed('md5sum -c is not permitted: only options that read, with their values in the same word'),
  )
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
