import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Call, callMounted, canMount } from './support/mounted.ts'
import { failed, said, Workspace } from './support/workspace.ts'
import { changes, treeOf } from './support/tree.ts'

/** SPEC 4.12: an error means that nothing changed. What changed is looked up in the whole tree, byte for byte. */

const move = (from: string, to: string, overwrite = true): Call => ({
  tool: 'fs_move_file',
  args: { from, to, overwrite },
})
const create = (path: string, content: string): Call => ({
  tool: 'fs_create_file',
  args: { path, content, overwrite: true },
})
const refused = (message: string): object => ({ said: message, changed: [] })
const big = 'x'.repeat(256 * 1024)

describe.skipIf(!canMount)('between filesystems', () => {
  test('a file and a link move by copy, publish, remove; a directory does not', () => {
    const workspace = new Workspace({ a: 'A', b: 'B', 'dir/x': '' })
    mkdirSync(workspace.path('d'))
    symlinkSync('a', workspace.path('link'))
    chmodSync(workspace.path('a'), 0o640)
    utimesSync(workspace.path('a'), 1000, 2000)
    expect(
      callMounted(workspace, 'mount -t tmpfs none "$0/d"', [
        move('a', 'd/p/q/a'),
        move('link', 'd/link'),
        move('b', 'd/link'),
        move('b', 'd/p/q/a'),
        move('d/p/q/a', 'b'),
        move('dir', 'd/new/dir'),
        move('d/p', 'p'),
      ]),
    ).toEqual([
      { said: 'moved a to d/p/q/a', changed: moved('a', ['d/p', 'd/p/q', 'd/p/q/a']) },
      { said: 'moved link to d/link', changed: moved('link', ['d/link']) },
      refused('d/link is a link, and only a file is replaced'),
      { said: 'moved b to d/p/q/a', changed: ['-workspace/b', '~workspace/d/p/q/a'] },
      { said: 'moved d/p/q/a to b', changed: ['+workspace/b', '-workspace/d/p/q/a'] },
      refused(elsewhere('dir', 'd/new/dir')),
      refused(elsewhere('d/p', 'p')),
    ])
  })

  test('mode and time of the file go with it', () => {
    const workspace = new Workspace({ 'src/a': 'A', 'd/x': '' })
    chmodSync(workspace.path('src/a'), 0o640)
    utimesSync(workspace.path('src/a'), 1000, 2000)
    // A bind mount: the kernel moves nothing between two mounts, be they of one filesystem.
    const [outcome] = callMounted(workspace, 'mount --bind "$0/d" "$0/d"', [move('src/a', 'd/a')]) as object[]
    expect(outcome).toEqual({ said: 'moved src/a to d/a', changed: moved('src/a', ['d/a']) })
    const stat = statSync(workspace.path('d/a'))
    expect([stat.mode & 0o777, stat.mtimeMs, readFileSync(workspace.path('d/a'), 'utf8')]).toEqual([
      0o640,
      2e6,
      'A',
    ])
  })

  test('one entry by two mounts is not lost by moving it onto itself', () => {
    const workspace = new Workspace({ 'real/f': 'F' })
    mkdirSync(workspace.path('alias'))
    expect(
      callMounted(workspace, 'mount --bind "$0/real" "$0/alias"', [
        move('real/f', 'alias/f'),
        move('alias/f', 'real/f', false),
      ]),
    ).toEqual([
      { said: 'moved real/f to alias/f', changed: [] },
      refused('real/f exists and was not replaced'),
    ])
  })

  test('a disk that fills up: no half file, no directory, the source as it was', () => {
    const workspace = new Workspace({ big, small: 's' })
    mkdirSync(workspace.path('d'))
    const script = 'mount -t tmpfs -o size=64k none "$0/d"; echo old > "$0/d/old"'
    const full = (verb: string, path: string): object =>
      refused(`cannot ${verb} ${path}: it does not fit: the disk is full`)
    expect(
      callMounted(workspace, script, [
        move('big', 'd/p/q/big'),
        move('big', 'd/old'),
        create('d/p/q/new', big),
        create('d/old', big),
        {
          tool: 'fs_modify_file',
          args: {
            edits: [
              { path: 'd/old', old: 'old', new: big },
              { path: 'small', old: 's', new: 't' },
            ],
          },
        },
      ]),
    ).toEqual([
      full('move', 'd/p/q/big'),
      full('move', 'd/old'),
      full('write', 'd/p/q/new'),
      full('write', 'd/old'),
      full('write', 'd'),
    ])
  })

  test('no more inodes: the directories that were made on the way go again', () => {
    const workspace = new Workspace({ a: 'A' })
    mkdirSync(workspace.path('d'))
    const script = 'mount -t tmpfs -o nr_inodes=4 none "$0/d"'
    expect(
      callMounted(workspace, script, [
        move('a', 'd/p/q/r/a'),
        create('d/p/q/r/s/t', ''),
        create('d/p/q', ''),
      ]),
    ).toEqual([
      refused('cannot move d/p/q/r/a: it does not fit: the disk is full'),
      refused('cannot make directory d/p/q/r/s: it does not fit: the disk is full'),
      { said: 'created d/p/q (0 bytes)', changed: made('d/p', 'd/p/q') },
    ])
  })

  test('a source that cannot be removed: what was published is taken back, what was replaced is back', () => {
    const workspace = new Workspace({ 'ro/a': 'A', 'd/b': 'B' })
    const script = 'mount --bind "$0/ro" "$0/ro"; mount -o remount,bind,ro "$0/ro"'
    const stays = (to: string): object => refused(`cannot move ${to}: it is on a read-only filesystem`)
    expect(
      callMounted(workspace, script, [
        move('ro/a', 'd/b'),
        move('ro/a', 'd/new/a'),
        move('d/b', 'ro/b'),
        move('ro/a', 'ro/c'),
      ]),
    ).toEqual([stays('ro/a'), stays('ro/a'), stays('ro/b'), stays('ro/c')])
  })

  test('the same for an ordinary user in a directory that is not theirs', () => {
    const workspace = new Workspace({ 'shut/a': 'A', 'd/b': 'B', 'mine/c': 'C' })
    for (const path of [workspace.base, workspace.root, workspace.path('d'), workspace.path('mine')])
      chmodSync(path, 0o777)
    for (const path of ['shut/a', 'd/b', 'mine/c']) chmodSync(workspace.path(path), 0o666)
    chmodSync(workspace.path('shut'), 0o555)
    const user =
      process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : []
    const calls = [
      move('shut/a', 'd/b'),
      move('shut/a', 'd/p/a'),
      move('mine/c', 'shut/c'),
      create('shut/p/q', ''),
    ]
    const outcomes = callMounted(workspace, 'mount --bind "$0/d" "$0/d"', calls, user) as { said: string }[]
    expect(outcomes).toEqual([
      refused('cannot move shut/a: it is not permitted to this user'),
      refused('cannot move shut/a: it is not permitted to this user'),
      refused('cannot move shut/c: it is not permitted to this user'),
      refused('cannot make directory shut/p: it is not permitted to this user'),
    ])
  })

  test('a single file that is a mount point is left as it is, and the sentence is true', () => {
    const workspace = new Workspace({ 'd/f': 'F', g: 'G' })
    const busy = (verb: string, path: string): object =>
      refused(`cannot ${verb} ${path}: it is a mount point or in use by the system, and was left as it is`)
    expect(
      callMounted(workspace, 'mount --bind "$0/d/f" "$0/d/f"', [
        create('d/f', 'new'),
        { tool: 'fs_modify_file', args: { edits: [{ path: 'd/f', old: 'F', new: 'N' }] } },
        {
          tool: 'fs_modify_file',
          args: {
            edits: [
              { path: 'd/f', old: 'F', new: 'N' },
              { path: 'g', old: 'G', new: 'N' },
            ],
          },
        },
        {
          tool: 'fs_modify_file',
          args: {
            edits: [
              { path: 'c', old: 'C', new: 'N' },
              { path: 'd/f', old: 'F', new: 'N' },
            ],
          },
        },
        { tool: 'fs_delete_file', args: { path: 'd/f' } },
        move('d/f', 'h'),
        move('g', 'd/f'),
      ]),
    ).toEqual([
      busy('write', 'd/f'),
      busy('write', 'd/f'),
      busy('write', 'd/f'),
      refused('cannot open c: it does not exist'),
      busy('remove', 'd/f'),
      busy('move', 'd/f'),
      busy('move', 'd/f'),
    ])
  })
})

describe('narrow rules', () => {
  const denied = (capability: string, target: string): string => `access denied: ${capability} on ${target}`

  async function run(workspace: Workspace, call: Call): Promise<{ said: string; changed: string[] }> {
    const before = treeOf(workspace.base)
    const result = await workspace.run(call.tool, call.args, { access: { fs: call.access } })
    const message = result.type === 'error' ? result.message.split('\n')[0]! : JSON.stringify(result)
    return {
      said: result.type === 'success' ? 'done' : message,
      changed: changes(before, treeOf(workspace.base)),
    }
  }

  test('update only, write without delete, one single file, missing directories', async () => {
    const workspace = new Workspace({ 'src/a': 'A', 'src/b': 'B', 'conf/one': '1', 'conf/two': '2' })
    const modify = (...paths: string[]): Call => ({
      tool: 'fs_modify_file',
      args: { diff: paths.map((path) => `--- ${path}\n+++ ${path}\n@@ -0,0 +1 @@\n+N\n`).join('') },
    })
    const remove = (path: string): Call => ({ tool: 'fs_delete_file', args: { path } })
    const updateOnly = [{ path: 'src', read: true, update: true }]
    const noDelete = [{ path: 'src', read: true, write: true, delete: false }]
    const oneFile = [{ path: 'conf/one', read: true, write: true }]
    const tools = [{ path: '.config/jp/tools', read: true, write: true }]
    const rows: [Call, object, string, string[]][] = [
      [modify('src/a', 'src/b'), updateOnly, 'done', ['~workspace/src/a', '~workspace/src/b']],
      [create('src/a', 'C'), updateOnly, 'done', ['~workspace/src/a']],
      [create('src/new', ''), updateOnly, denied('create', 'src/new'), []],
      [remove('src/a'), updateOnly, denied('delete', 'src/a'), []],
      [move('src/a', 'src/b'), updateOnly, denied('delete', 'src/a'), []],
      [create('src/new', 'x'), noDelete, 'done', ['+workspace/src/new']],
      [create('src/new', 'y'), noDelete, 'done', ['~workspace/src/new']],
      [modify('src/new'), noDelete, 'done', ['~workspace/src/new']],
      [remove('src/new'), noDelete, denied('delete', 'src/new'), []],
      [create('conf/one', 'x'), oneFile, 'done', ['~workspace/conf/one']],
      [modify('conf/one'), oneFile, 'done', ['~workspace/conf/one']],
      [modify('conf/two'), oneFile, denied('update', 'conf/two'), []],
      [remove('conf/one'), oneFile, 'done', ['-workspace/conf/one']],
      [create('conf/one', 'again'), oneFile, 'done', ['+workspace/conf/one']],
      [create('conf/new', ''), oneFile, denied('create', 'conf/new'), []],
      [create('.config/x', ''), tools, denied('create', '.config/x'), []],
      [create('.config/jp/tools', ''), tools, 'done', made('.config', '.config/jp', '.config/jp/tools')],
      [remove('.config/jp/tools'), tools, 'done', ['-workspace/.config/jp/tools']],
      [
        create('.config/jp/tools/a/t', ''),
        tools,
        'done',
        made('.config/jp/tools', '.config/jp/tools/a', '.config/jp/tools/a/t'),
      ],
    ]
    for (const [call, access, message, changed] of rows)
      expect(await run(workspace, { ...call, access }), JSON.stringify(call.args)).toEqual({
        said: message,
        changed,
      })
  })

  test('a mount whose target is a file is read, changed and left alone by its name', async () => {
    const workspace = new Workspace({ a: 'A' })
    const target = join(workspace.outside, 'notes')
    execFileSync('sh', ['-c', 'echo one > "$0"', target])
    symlinkSync(target, workspace.path('notes'))
    const access = {
      fs: [{ path: 'notes', external: true, approved_target: target, read: true, write: true }],
    }
    const call = (tool: string, args: object) => workspace.run(tool, args, { access })
    expect(await call('fs_read_file', { path: 'notes' })).toMatchObject({
      content: [{ resource: { uri: 'file:///notes', text: 'one\n' } }],
    })
    expect(await call('fs_grep_files', { path: 'notes', pattern: 'one' })).toMatchObject({ type: 'success' })
    const edits = [{ path: 'notes', old: 'one', new: 'two' }]
    expect(await call('fs_modify_file', { edits })).toEqual(said('changed notes (same number of lines)'))
    expect(readFileSync(target, 'utf8')).toBe('two\n')
    expect(await call('fs_read_file', { path: 'notes/x' })).toEqual(
      failed('cannot open notes/x: notes is not a directory'),
    )
    expect(await call('fs_list_files', { path: 'notes' })).toEqual(
      failed('cannot list notes: it is not a directory'),
    )
  })
})

const made = (...paths: string[]): string[] => paths.map((path) => `+workspace/${path}`)

const moved = (from: string, to: string[]): string[] =>
  [`-workspace/${from}`, ...made(...to)].sort((a, b) => (a.slice(1) < b.slice(1) ? -1 : 1))

const elsewhere = (from: string, to: string): string =>
  `cannot move ${from}: ${to} is on another filesystem, and only files move between them; move its files one by one`
