import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failed, said, Workspace } from './support/workspace.ts'

const denied = (what: string) => ({
  type: 'error',
  message: expect.stringMatching(new RegExp(`^access denied: ${what}\n`)) as string,
})

test('moves files, links and directories, with missing directories', async () => {
  const workspace = new Workspace({ a: 'A', 'dir/x': 'X' })
  symlinkSync('a', workspace.path('link'))
  const move = (from: string, to: string) => workspace.run('fs_move_file', { from, to })
  expect(await move('a', 'p/q/b')).toEqual(said('moved a to p/q/b'))
  expect(await move('link', 'l2')).toEqual(said('moved link to l2'))
  expect(await move('dir', 'p/dir')).toEqual(said('moved dir to p/dir'))
  expect(readFileSync(workspace.path('p/q/b'), 'utf8')).toBe('A')
  expect(lstatSync(workspace.path('l2')).isSymbolicLink()).toBe(true)
  expect(readdirSync(workspace.path('p/dir'))).toEqual(['x'])
  expect(readdirSync(workspace.root).sort()).toEqual(['l2', 'p'])
})

test('nothing is replaced unless asked, and never a directory or a link', async () => {
  const workspace = new Workspace({ a: 'A', b: 'B', 'dir/x': '' })
  symlinkSync('b', workspace.path('link'))
  const move = (to: string, more: object = {}, answers: Record<string, unknown> = {}) =>
    workspace.run('fs_move_file', { from: 'a', to, ...more }, { answers })
  expect(await move('b')).toEqual({
    type: 'needs_input',
    question: {
      id: 'overwrite',
      text: 'b exists. Replace it by a?',
      answer_type: 'boolean',
      default: false,
      argument: 'overwrite',
    },
  })
  expect(await move('b', {}, { overwrite: false })).toEqual(failed('b exists and was not replaced'))
  expect(await move('dir', { overwrite: true })).toEqual(
    failed('dir is a directory, and only a file is replaced'),
  )
  expect(await move('link', { overwrite: true })).toEqual(
    failed('link is a link, and only a file is replaced'),
  )
  expect(readFileSync(workspace.path('b'), 'utf8')).toBe('B')
  expect(await move('b', {}, { overwrite: true })).toEqual(said('moved a to b'))
  expect(readFileSync(workspace.path('b'), 'utf8')).toBe('A')
})

test('SPEC 1.8 delete on the source, create or update on the target', async () => {
  const workspace = new Workspace({ 'in/a': '', 'in/b': '', 'out/old': '', 'ro/x': '' })
  const access = {
    fs: [
      { path: '.', read: true },
      { path: 'in', delete: true },
      { path: 'out', create: true },
    ],
  }
  const move = (from: string, to: string) =>
    workspace.run('fs_move_file', { from, to, overwrite: true }, { access })
  expect(await move('ro/x', 'out/x')).toMatchObject(denied('delete on ro/x'))
  expect(await move('in/a', 'ro/a')).toMatchObject(denied('create on ro/a'))
  expect(await move('in/a', 'out/old')).toMatchObject(denied('update on out/old'))
  expect(await move('in/a', 'out/p/a')).toEqual(said('moved in/a to out/p/a'))
  expect(await move('out/p/a', 'in/a')).toMatchObject(denied('delete on out/p/a'))
})

test('a directory is not moved over what a rule below it protects, nor with a mount in it', async () => {
  const workspace = new Workspace({ 'dir/keep/x': '', 'dir/y': '' })
  const top = { path: '.', read: true, write: true }
  const move = (from: string, to: string, ...rules: object[]) =>
    workspace.run('fs_move_file', { from, to }, { access: { fs: [top, ...rules] } })
  expect(await move('dir', 'moved', { path: 'dir/keep', read: true })).toEqual(
    failed(
      [
        'access denied: delete on dir/keep',
        '  because: the rule dir/keep withholds it',
        '  granted: . (read, create, update, delete), dir/keep (read)',
        '  to allow it:',
        `    cordon config set conversation.tools.fs_move_file.access.fs '+{ path = "dir/keep", read = true, delete = true }'`,
      ].join('\n'),
      { capability: 'delete', target: 'dir/keep' },
    ),
  )
  expect(await move('dir', 'to', { path: 'to/y', read: true })).toMatchObject(denied('create on to/y'))
  symlinkSync(workspace.outside, workspace.path('dir/fork'))
  const mount = {
    path: 'dir/fork',
    external: true,
    approved_target: workspace.outside,
    read: true,
    write: true,
  }
  expect(await move('dir', 'moved', mount)).toEqual(
    failed(
      [
        'access denied: delete on dir',
        '  because: the mount dir/fork lies below it',
        '  no rule can allow it',
      ].join('\n'),
      { capability: 'delete', target: 'dir' },
    ),
  )
  expect(await move('dir/fork', 'moved', mount)).toMatchObject(denied('delete on dir/fork'))
  expect(existsSync(workspace.path('dir/keep/x'))).toBe(true)
  expect(await move('dir', 'moved', { path: 'dir/keep', delete: true })).toEqual(said('moved dir to moved'))
})

test('bad targets: into itself, missing source, outside, between mount and workspace', async () => {
  const workspace = new Workspace({ 'dir/x': '', a: 'A' })
  const move = (from: string, to: string) => workspace.run('fs_move_file', { from, to })
  expect(await move('dir', 'dir/sub')).toEqual(failed('cannot move dir to dir/sub: that lies in it'))
  expect(existsSync(workspace.path('dir/sub'))).toBe(false)
  expect(await move('none', 'b')).toEqual(failed('cannot look at none: it does not exist'))
  expect(await move('a', '../b')).toEqual(failed('path escapes the workspace: ../b'))
  symlinkSync(workspace.outside, workspace.path('fork'))
  expect(await move('a', 'fork/a')).toEqual(failed('path escapes the workspace: fork/a'))
  const mount = { path: 'fork', external: true, approved_target: workspace.outside, write: true }
  const access = { fs: [{ path: '.', write: true }, mount] }
  expect(await workspace.run('fs_move_file', { from: 'a', to: 'fork/p/a' }, { access })).toEqual(
    said('moved a to fork/p/a'),
  )
  expect(readFileSync(join(workspace.outside, 'p/a'), 'utf8')).toBe('A')
  mkdirSync(join(workspace.outside, 'q'))
  writeFileSync(join(workspace.outside, 'q/r'), '')
  expect(await workspace.run('fs_move_file', { from: 'fork/q', to: 'q' }, { access })).toEqual(
    said('moved fork/q to q'),
  )
})

test('SPEC 4.10 a directory around what is guarded stays; the guard is not listed as granted, nor what lifts it', async () => {
  const workspace = new Workspace({ 'dir/.npmrc': '', a: '' })
  const guard = { read: true, guard: 'told' }
  const access = {
    fs: [
      { path: '.', read: true, write: true },
      { path: 'dir/.npmrc', ...guard },
      { path: '.envrc', ...guard },
    ],
  }
  const refused = (capability: 'create' | 'delete', target: string) =>
    failed(
      [
        `access denied: ${capability} on ${target}`,
        `  because: ${target} is guarded: the host obeys it, or runs it by itself later`,
        '  granted: . (read, create, update, delete)',
      ].join('\n'),
      { capability, target },
    )
  const move = (from: string, to: string) => workspace.run('fs_move_file', { from, to }, { access })
  expect(await move('dir', 'moved')).toEqual(refused('delete', 'dir/.npmrc'))
  expect(await move('a', '.envrc')).toEqual(refused('create', '.envrc'))
})

test('nothing is moved onto a link, whatever the rules say: no edit is told that would not help', async () => {
  const workspace = new Workspace({ 'src/a': '', 'src/b': '' })
  const access = { fs: [{ path: 'src', write: true }] }
  symlinkSync('src/b', workspace.path('live'))
  symlinkSync('nowhere', workspace.path('dead'))
  for (const to of ['live', 'dead'])
    expect(await workspace.run('fs_move_file', { from: 'src/a', to, overwrite: true }, { access })).toEqual(
      failed(`${to} is a link, and only a file is replaced`),
    )
})
