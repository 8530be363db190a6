import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failed, runAsNobody, showed, Workspace } from './support/workspace.ts'

const listed = (uri: string, names: readonly string[], note: string) =>
  showed(uri, names.join('\n'), note, 'inode/directory')

const TREE = { 'src/a.ts': '', 'src/deep/b.ts': '', 'src/c.md': '', 'README.md': '', '.env': '' }

test('everything below a directory, with its kind', async () => {
  const workspace = new Workspace(TREE)
  symlinkSync('src', workspace.path('link'))
  execFileSync('mkfifo', [workspace.path('pipe')])
  expect(await workspace.run('fs_list_files', {})).toEqual(
    listed(
      'file:///',
      ['README.md', 'link@', 'pipe (fifo)', 'src/', 'src/a.ts', 'src/c.md', 'src/deep/', 'src/deep/b.ts'],
      '8 entries. 1 dotfile left out (hidden = true shows them).',
    ),
  )
  expect(await workspace.run('fs_list_files', { path: 'src', depth: 1 })).toEqual(
    listed('file:///src/', ['src/a.ts', 'src/c.md', 'src/deep/'], '3 entries.'),
  )
  expect(await workspace.run('fs_list_files', { path: 'link' })).toEqual(
    listed('file:///src/', ['src/a.ts', 'src/c.md', 'src/deep/', 'src/deep/b.ts'], '4 entries.'),
  )
  expect(await workspace.run('fs_list_files', { hidden: true, depth: 1, limit: 2 })).toMatchObject({
    content: [{}, { text: 'The first 2 entries; there are more.' }],
  })
})

test('globs ask for files', async () => {
  const workspace = new Workspace(TREE)
  const list = async (...globs: string[]) => {
    const result = await workspace.run('fs_list_files', { globs })
    return result.type === 'success' &&
      result.content[0]?.type === 'resource' &&
      'text' in result.content[0].resource
      ? result.content[0].resource.text.split('\n')
      : result
  }
  expect(await list('*.ts')).toEqual(['src/a.ts', 'src/deep/b.ts'])
  expect(await list('src/*.ts')).toEqual(['src/a.ts'])
  expect(await list('src/**/*.{ts,md}', '!a.*')).toEqual(['src/c.md', 'src/deep/b.ts'])
  expect(await list('!deep')).toEqual(['README.md', 'src/a.ts', 'src/c.md'])
  expect(await list('src/deep/')).toEqual(['src/deep/b.ts'])
  expect(await list('[')).toEqual(failed('invalid glob: [ has a [ without its ]'))
  expect(await list('{a,b}'.repeat(20))).toEqual(
    failed('invalid glob: its braces stand for more than 256 patterns'),
  )
})

test('SPEC 1.8 each directory is checked, what policy hid is counted, a readable place below is found', async () => {
  const workspace = new Workspace({
    'a/x': '',
    'secret/x': '',
    'secret/public/y': '',
    'secret/one': '',
    b: '',
  })
  const access = {
    fs: [
      { path: '.', read: true },
      { path: 'secret' },
      { path: 'secret/public', read: true },
      { path: 'secret/one', read: true },
      { path: 'b' },
    ],
  }
  expect(await workspace.run('fs_list_files', {}, { access })).toEqual(
    listed(
      'file:///',
      ['a/', 'a/x', 'secret/one', 'secret/public/y'],
      '4 entries. 2 entries hidden by the access policy.',
    ),
  )
  expect(await workspace.run('fs_list_files', { path: 'secret' }, { access })).toMatchObject({
    type: 'error',
    message: expect.stringContaining('access denied: read on secret\n') as string,
  })
  expect(await workspace.run('fs_list_files', { path: '..' }, { access })).toEqual(
    failed('path escapes the workspace: ..'),
  )
})

test('ignore files, also those above the start, and their exceptions', async () => {
  const workspace = new Workspace({
    '.gitignore': '*.log\n/build/\n# c\n!keep.log\n',
    '.ignore': 'tmp\n',
    'a.log': '',
    'keep.log': '',
    'build/x': '',
    'src/build/y': '',
    'src/tmp/z': '',
    'src/.gitignore': '!b.log\n',
    'src/b.log': '',
    '.git/config': '',
  })
  expect(await workspace.run('fs_list_files', {})).toEqual(
    listed(
      'file:///',
      ['keep.log', 'src/', 'src/b.log', 'src/build/', 'src/build/y'],
      '5 entries. 3 entries left out by ignore files. 4 dotfiles left out (hidden = true shows them).',
    ),
  )
  expect(await workspace.run('fs_list_files', { path: 'src', no_ignore: true })).toEqual(
    listed(
      'file:///src/',
      ['src/b.log', 'src/build/', 'src/build/y', 'src/tmp/', 'src/tmp/z'],
      '5 entries. 1 dotfile left out (hidden = true shows them).',
    ),
  )
})

test('mounts: named, not entered, and entered by their name', async () => {
  const workspace = new Workspace({ a: '' })
  mkdirSync(join(workspace.outside, 'lib'))
  writeFileSync(join(workspace.outside, 'lib/x'), '')
  symlinkSync('/etc', join(workspace.outside, 'etc'))
  symlinkSync(workspace.outside, workspace.path('fork'))
  const rule = { path: 'fork', external: true, approved_target: workspace.outside, read: true }
  const access = { fs: [{ path: '.', read: true }, rule] }
  expect(await workspace.run('fs_list_files', {}, { access })).toEqual(
    listed(
      'file:///',
      ['a', 'fork@'],
      '2 entries. Not entered: fork (a mount; name it as the path to look into it).',
    ),
  )
  expect(await workspace.run('fs_list_files', { path: 'fork' }, { access })).toEqual(
    listed('file:///fork/', ['fork/etc@', 'fork/lib/', 'fork/lib/x'], '3 entries.'),
  )
})

test('a directory in the place of a mount is not what was approved', async () => {
  const workspace = new Workspace({ 'fork/x': '', a: '' })
  const rule = { path: 'fork', external: true, approved_target: workspace.outside, read: true }
  const access = { fs: [{ path: '.', read: true }, rule] }
  expect(await workspace.run('fs_list_files', {}, { access })).toEqual(
    listed('file:///', ['a'], '1 entry. 1 entry hidden by the access policy.'),
  )
})

test('a mount that contains the workspace does not give its files a second name', async () => {
  const workspace = new Workspace({ 'secret/x': '' })
  symlinkSync(workspace.base, workspace.path('up'))
  const rule = { path: 'up', external: true, approved_target: workspace.base, read: true }
  const access = { fs: [{ path: '.', read: true }, { path: 'secret' }, rule] }
  expect(await workspace.run('fs_list_files', { path: 'up' }, { access })).toEqual(
    listed(
      'file:///up/',
      ['up/outside/', 'up/workspace/'],
      '2 entries. 1 entry hidden by the access policy.',
    ),
  )
})

test('names that are not UTF-8, directories without permission, a start that is no directory', async () => {
  const workspace = new Workspace({ a: '' })
  writeFileSync(Buffer.concat([Buffer.from(`${workspace.root}/bad`), Buffer.from([0xff])]), '')
  expect(await workspace.run('fs_list_files', {})).toEqual(
    listed('file:///', ['a'], '1 entry. 1 name left out: not valid UTF-8.'),
  )
  expect(await workspace.run('fs_list_files', { path: 'a' })).toEqual(
    failed('cannot list a: it is not a directory'),
  )
  expect(await workspace.run('fs_list_files', { path: 'nowhere' })).toEqual(
    failed('cannot list nowhere: it does not exist'),
  )
})

test('a directory without permission is counted, as an ordinary user', () => {
  const workspace = new Workspace({ 'open/a': '', 'closed/b': '' })
  chmodSync(workspace.path('closed'), 0o000)
  expect(runAsNobody(workspace, 'fs_list_files', {})).toEqual(
    listed('file:///', ['closed/', 'open/', 'open/a'], '3 entries. 1 directory could not be read.'),
  )
  chmodSync(workspace.path('closed'), 0o755)
})
