import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failed, said, Workspace } from './support/workspace.ts'

test('SPEC 1.3 the entry is deleted: a link, never its target', async () => {
  const workspace = new Workspace({ a: '', 'dir/x': '' })
  writeFileSync(join(workspace.outside, 'x'), '')
  symlinkSync('dir', workspace.path('link'))
  symlinkSync(join(workspace.outside, 'x'), workspace.path('out'))
  symlinkSync('nowhere', workspace.path('dangling'))
  execFileSync('mkfifo', [workspace.path('fifo')])
  const remove = (path: string) => workspace.run('fs_delete_file', { path })
  expect(await remove('a')).toEqual(said('deleted a'))
  expect(await remove('out')).toEqual(said('deleted out (link)'))
  expect(await remove('dangling')).toEqual(said('deleted dangling (link)'))
  expect(await remove('link/x')).toEqual(said('deleted dir/x'))
  expect(await remove('link')).toEqual(said('deleted link (link)'))
  expect(await remove('fifo')).toEqual(said('deleted fifo (fifo)'))
  expect(readdirSync(workspace.root)).toEqual(['dir'])
  expect(readdirSync(workspace.outside)).toEqual(['x'])
})

test('directories only when empty, the root never', async () => {
  const workspace = new Workspace({ 'full/x': '' })
  mkdirSync(workspace.path('empty'))
  const remove = (path: string) => workspace.run('fs_delete_file', { path })
  expect(await remove('empty')).toEqual(said('deleted empty (directory)'))
  expect(await remove('full')).toEqual(failed('cannot remove full: it is not empty'))
  expect(await remove('none')).toEqual(failed('cannot look at none: it does not exist'))
  expect(await remove('.')).toEqual(
    failed(
      'access denied: delete on .\n  because: the workspace root is not an entry of the workspace\n  no rule can allow it',
      { capability: 'delete', target: '.' },
    ),
  )
})

test('SPEC 1.8 delete is checked on the entry; a mount point stays', async () => {
  const workspace = new Workspace({ 'keep/x': '', 'tmp/y': '' })
  symlinkSync('../keep/x', workspace.path('tmp/link'))
  symlinkSync(workspace.outside, workspace.path('fork'))
  writeFileSync(join(workspace.outside, 'z'), '')
  symlinkSync('/etc/hostname', join(workspace.outside, 'etc'))
  const rule = { path: 'fork', external: true, approved_target: workspace.outside, read: true, delete: true }
  const access = { fs: [{ path: '.', read: true }, { path: 'tmp', delete: true }, rule] }
  const remove = (path: string) => workspace.run('fs_delete_file', { path }, { access })
  expect(await remove('keep/x')).toMatchObject({ type: 'error' })
  expect(await remove('tmp/link')).toEqual(said('deleted tmp/link (link)'))
  expect(await remove('tmp/y')).toEqual(said('deleted tmp/y'))
  expect(await remove('fork')).toEqual(
    failed(
      'access denied: delete on fork\n  because: a mount point is not removed or moved by a tool\n  no rule can allow it',
      { capability: 'delete', target: 'fork' },
    ),
  )
  expect(await remove('fork/z')).toEqual(said('deleted fork/z'))
  expect(await remove('fork/etc')).toEqual(said('deleted fork/etc (link)'))
  expect(existsSync(workspace.path('keep/x'))).toBe(true)
  expect(lstatSync(workspace.path('fork')).isSymbolicLink()).toBe(true)
  expect(existsSync('/etc/hostname')).toBe(true)
})

test('SPEC 1.4 the edit for a link is about its directory: a rule for the link would open what it leads to', async () => {
  const workspace = new Workspace({ 'src/a': '', 'docs/x': '' })
  const access = { fs: [{ path: 'docs', delete: true }] }
  symlinkSync('src', workspace.path('alias'))
  expect(await workspace.run('fs_delete_file', { path: 'alias' }, { access })).toEqual(
    failed(
      [
        'access denied: delete on alias',
        '  because: no rule covers that path',
        '  granted: docs (delete)',
        '  to allow it:',
        `    cordon config set conversation.tools.fs_delete_file.access.fs '+{ path = ".", delete = true }'`,
        '    (no rule is for a link alone, so this one is for its directory: it also grants delete on everything there that no other rule is for)',
      ].join('\n'),
      { capability: 'delete', target: 'alias' },
    ),
  )
})
