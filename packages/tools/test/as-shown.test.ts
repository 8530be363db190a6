import { existsSync, mkdirSync, readFileSync, symlinkSync, utimesSync } from 'node:fs'
import { openAmbientAnchor } from '@cordon/files'
import { type CanonicalPath, parseRelPath } from '@cordon/policy'
import { lookAt, type ShownPath, witnessOf } from '@cordon/tools'
import { describe, expect, test } from 'vitest'
import { failed, said, Workspace } from './support/workspace.ts'

/** What the host says it showed: these paths, as they are now. */
const shownIn = (workspace: Workspace, ...paths: string[]): ShownPath[] =>
  paths.map((path) => {
    using anchor = openAmbientAnchor(workspace.root as CanonicalPath)
    return { path, place: path, was: witnessOf(lookAt(anchor, parseRelPath(path))) }
  })

/** The same size, and the same time: only the content tells. */
const swap = (workspace: Workspace, path: string, content: string): void => {
  workspace.write(path, content)
  utimesSync(workspace.path(path), 1, 1)
}

const CALLS: readonly [tool: string, args: object, done: string][] = [
  ['fs_create_file', { path: 'a', content: 'new', overwrite: true }, 'replaced a (3 bytes)'],
  ['fs_modify_file', { edits: [{ path: 'a', old: 'o', new: 'n' }] }, 'changed a (same number of lines)'],
  ['fs_delete_file', { path: 'a' }, 'deleted a'],
  ['fs_move_file', { from: 'b', to: 'a', overwrite: true }, 'moved b to a'],
  ['fs_move_file', { from: 'a', to: 'c' }, 'moved a to c'],
]

describe('SPEC 4.12, decision 0408: what a person said yes to is what is done', () => {
  test.each(CALLS)('%s %j does it while all is as it was shown', async (tool, args, done) => {
    const workspace = new Workspace({ a: 'old', b: 'other' })
    const shown = shownIn(workspace, 'a', 'b', 'c')
    utimesSync(workspace.path('a'), 1, 1) // the content is what was shown
    expect(await workspace.run(tool, args, { shown })).toEqual(said(done))
  })

  test.each(CALLS)('%s %j refuses what was changed since then', async (tool, args) => {
    const workspace = new Workspace({ a: 'old', b: 'other' })
    const shown = shownIn(workspace, 'a', 'b', 'c')
    swap(workspace, 'a', 'odd')
    expect(await workspace.run(tool, args, { shown })).toEqual(
      failed('a was changed since it was shown; nothing was done'),
    )
    expect([readFileSync(workspace.path('a'), 'utf8'), existsSync(workspace.path('c'))]).toEqual([
      'odd',
      false,
    ])
  })

  test.each([
    ['fs_create_file', { path: 'd/a', content: 'new', overwrite: true }],
    ['fs_modify_file', { edits: [{ path: 'd/a', old: 'o', new: 'n' }] }],
    ['fs_delete_file', { path: 'd/a' }],
    ['fs_move_file', { from: 'b', to: 'd/a', overwrite: true }],
    ['fs_move_file', { from: 'd/a', to: 'c' }],
    ['fs_read_file', { path: 'd/a' }],
  ])('%s %j refuses what a link leads to by now, with the same content', async (tool, args) => {
    const workspace = new Workspace({ 'e/a': 'old', b: 'other' })
    mkdirSync(workspace.path('real'))
    workspace.write('real/a', 'old')
    symlinkSync('e', workspace.path('d'))
    const shown = shownIn(workspace, 'real/a', 'b', 'c').map((each) =>
      each.path === 'real/a' ? { ...each, path: 'd/a' } : each,
    )
    expect(await workspace.run(tool, args, { shown })).toEqual(
      failed('d/a was shown as real/a and leads to e/a by now; nothing was done'),
    )
    expect(readFileSync(workspace.path('e/a'), 'utf8')).toBe('old')
  })

  test.each([
    ['fs_list_files', { path: 'd' }],
    ['fs_grep_files', { path: 'd', pattern: 'old' }],
  ])('%s does not look into another directory', async (tool, args) => {
    const workspace = new Workspace({ 'e/a': 'old' })
    symlinkSync('e', workspace.path('d'))
    expect(await workspace.run(tool, args, { shown: [{ path: 'd', place: 'd' }] })).toEqual(
      failed('d was shown as d and leads to e by now; nothing was done'),
    )
  })

  test('a yes to another question is no yes', async () => {
    const workspace = new Workspace({ a: 'old' })
    const create = (asked: object) =>
      workspace.run('fs_create_file', { path: 'a', content: 'new' }, { answers: { overwrite: true }, asked })
    for (const text of ['b exists (3 bytes). Replace it?', 'a exists (4 bytes). Replace it?'])
      expect(await create({ overwrite: text })).toMatchObject({
        type: 'needs_input',
        question: { text: 'a exists (3 bytes). Replace it?' },
      })
    expect(readFileSync(workspace.path('a'), 'utf8')).toBe('old')
    expect(await create({ overwrite: 'a exists (3 bytes). Replace it?' })).toEqual(
      said('replaced a (3 bytes)'),
    )
  })

  test('a file that came is not replaced, one that went is not made', async () => {
    const workspace = new Workspace({ there: 'x' })
    const create = (path: string, was: object) =>
      workspace.run(
        'fs_create_file',
        { path, content: 'y', overwrite: true },
        { shown: [{ path, place: path, was }] },
      )
    const refused = (path: string) => failed(`${path} was changed since it was shown; nothing was done`)
    expect(await create('there', { kind: 'missing' })).toEqual(refused('there'))
    expect(await create('gone', { kind: 'file', sha256: 'x' })).toEqual(refused('gone'))
    expect(existsSync(workspace.path('gone'))).toBe(false)
  })

  test('a large file is known by its version, a directory by being one', async () => {
    const workspace = new Workspace({ large: 'x'.repeat(2 ** 20 + 1), 'dir/a': 'x' })
    const shown = shownIn(workspace, 'large', 'dir', 'other', 'dir2')
    expect(shown.map(({ was }) => was !== 'any' && [was?.kind, was?.sha256])).toEqual([
      ['file', undefined],
      ['directory', undefined],
      ['missing', undefined],
      ['missing', undefined],
    ])
    workspace.write('dir/b', 'y')
    expect(await workspace.run('fs_move_file', { from: 'dir', to: 'dir2' }, { shown })).toEqual(
      said('moved dir to dir2'),
    )
    utimesSync(workspace.path('large'), 1, 1)
    expect(await workspace.run('fs_delete_file', { path: 'large' }, { shown })).toEqual(
      failed('large was changed since it was shown; nothing was done'),
    )
  })

  test.each([[[]], ['all'], [[{ path: 'a' }]], [[{ path: 'a', place: 'a' }]], [null]])(
    'what the host does not say was not shown: %j',
    async (shown) => {
      const workspace = new Workspace({ a: 'old' })
      expect(await workspace.run('fs_delete_file', { path: 'a' }, { shown })).toMatchObject({ type: 'error' })
      expect(existsSync(workspace.path('a'))).toBe(true)
    },
  )
})
