import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseContext, ROOT } from '@cordon/policy'
import { Anchors } from '@cordon/tools'
import { expect, test } from 'vitest'
import { Access } from '../src/access.ts'
import { type Change, commitChanges } from '../src/modify/commit.ts'
import { type Journal, journalPlace, newJournal, serializeJournal } from '../src/modify/journal.ts'
import { callMounted, canMount } from './support/mounted.ts'
import { failed, said, Workspace } from './support/workspace.ts'

const NAME = '.cordon-modify-journal'
const entry = (path: string, old: string, next: string) => ({
  path,
  old: Buffer.from(old),
  new: Buffer.from(next),
})
const content = (workspace: Workspace, path: string) => readFileSync(workspace.path(path), 'utf8')
const editAll = (...paths: string[]) => ({ edits: paths.map((path) => ({ path, old: 'x', new: 'y' })) })
const edit = (path: string) => ({ edits: [{ path, old: 'x', new: 'y' }] })

/** As a process that died after its decision would have left it. */
function leaveJournal(
  workspace: Workspace,
  journal: Partial<Journal> & Pick<Journal, 'entries'>,
  key = '',
): void {
  using anchors = new Anchors()
  const access = new Access(parseContext({ root: workspace.root, action: 'run' }))
  const place = journalPlace(access, anchors, ROOT)!
  const whole = { ...newJournal(journal.entries), ...journal }
  const dead = { ...whole, writer: { ...whole.writer, pid: 2 ** 22 } }
  writeFileSync(workspace.path(NAME), serializeJournal(dead, place, key))
}

test('an interrupted change is completed by the next run, whatever that changes', async () => {
  const workspace = new Workspace({ a: 'old', b: 'new', c: 'x' })
  leaveJournal(workspace, { entries: [entry('a', 'old', 'new'), entry('b', 'old', 'new')] })
  expect(await workspace.run('fs_modify_file', edit('c'))).toEqual(
    said(
      'changed c (same number of lines)\nAn earlier change that was interrupted has been completed (2 files).',
    ),
  )
  expect([content(workspace, 'a'), content(workspace, 'b'), content(workspace, 'c')]).toEqual([
    'new',
    'new',
    'y',
  ])
  expect(readdirSync(workspace.root).sort()).toEqual(['a', 'b', 'c'])
})

test('one that was being taken back is taken back', async () => {
  const workspace = new Workspace({ a: 'old', b: 'new', c: 'x' })
  leaveJournal(workspace, {
    direction: 'undo',
    entries: [entry('a', 'old', 'new'), entry('b', 'old', 'new')],
  })
  await workspace.run('fs_modify_file', edit('c'))
  expect([content(workspace, 'a'), content(workspace, 'b')]).toEqual(['old', 'old'])
})

test('what somebody changed, removed, linked away or forbade since is left alone', async () => {
  const workspace = new Workspace({ a: 'mine', b: 'old', 'no/c': 'old', d: 'x' })
  writeFileSync(join(workspace.outside, 'e'), 'old')
  symlinkSync(join(workspace.outside, 'e'), workspace.path('e'))
  leaveJournal(workspace, {
    entries: ['a', 'b', 'no/c', 'e', 'gone'].map((path) => entry(path, 'old', 'new')),
  })
  const access = {
    fs: [
      { path: '.', update: true },
      { path: 'no', read: true },
    ],
  }
  expect(await workspace.run('fs_modify_file', edit('d'), { access })).toEqual(
    said(
      'changed d (same number of lines)\nAn earlier change that was interrupted has been completed (1 file). 4 files had been changed since and were left alone.',
    ),
  )
  expect([
    content(workspace, 'a'),
    content(workspace, 'b'),
    content(workspace, 'no/c'),
    content(workspace, 'e'),
  ]).toEqual(['mine', 'new', 'old', 'old'])
  expect(existsSync(workspace.path(NAME))).toBe(false)
})

test('a journal that came with a repository or from another tool is not believed', async () => {
  const workspace = new Workspace({ a: 'old', c: 'x' })
  const refused = failed(`${NAME} is not a journal of this tool in this place; look at it and remove it`)
  // Made for another directory, as one in a repository would be.
  const elsewhere = new Workspace()
  leaveJournal(elsewhere, { entries: [entry('a', 'old', 'evil')] })
  writeFileSync(workspace.path(NAME), readFileSync(elsewhere.path(NAME)))
  expect(await workspace.run('fs_modify_file', edit('c'))).toEqual(refused)
  // Made here, by somebody who does not have the host's key.
  leaveJournal(workspace, { entries: [entry('a', 'old', 'evil')] })
  const options = { journal_key: 'of the host' }
  expect(await workspace.run('fs_modify_file', edit('c'), { options })).toEqual(refused)
  for (const junk of [
    '',
    '{}',
    'null',
    '{"seal":1}',
    '[',
    JSON.stringify({ seal: 'x'.repeat(64), body: '{}' }),
  ]) {
    writeFileSync(workspace.path(NAME), junk)
    expect(await workspace.run('fs_modify_file', edit('c'))).toEqual(refused)
  }
  expect([content(workspace, 'a'), content(workspace, 'c')]).toEqual(['old', 'x'])
})

test('the key of the host lets its own journal through', async () => {
  const workspace = new Workspace({ a: 'old', c: 'x' })
  leaveJournal(workspace, { entries: [entry('a', 'old', 'new')] }, 'k')
  await workspace.run('fs_modify_file', edit('c'), { options: { journal_key: 'k' } })
  expect(content(workspace, 'a')).toBe('new')
})

test('an error half-way takes back what was done, and leaves nothing behind', async () => {
  const workspace = new Workspace({ a: 'a', 'd/b': 'b', z: 'z' })
  using anchors = new Anchors()
  const access = new Access(parseContext({ root: workspace.root, action: 'run' }))
  const change = (path: string): Change => {
    const location = access.locate(path, 'update')
    using file = anchors.of(location).open(location.inside)
    return {
      path,
      location,
      version: file.stat.version,
      old: file.readAll(),
      new: Buffer.from(`${path} is new`),
    }
  }
  const changes = ['a', 'd/b', 'z'].map(change)
  writeFileSync(workspace.path('z'), 'changed by somebody else')
  await expect(commitChanges(changes, access, anchors, '')).rejects.toThrow(
    'cannot write z: it is not the version that was read',
  )
  expect([content(workspace, 'a'), content(workspace, 'd/b'), content(workspace, 'z')]).toEqual([
    'a',
    'b',
    'changed by somebody else',
  ])
  expect(readdirSync(workspace.root, { recursive: true, encoding: 'utf8' }).sort()).toEqual([
    'a',
    'd',
    'd/b',
    'z',
  ])
})

test('the journal lies where the rule lets files be changed, also in a mount', async () => {
  const workspace = new Workspace({ 'src/a': 'x', 'src/b': 'x' })
  mkdirSync(join(workspace.outside, 'm'))
  for (const name of ['m/a', 'm/b']) writeFileSync(join(workspace.outside, name), 'x')
  symlinkSync(workspace.outside, workspace.path('fork'))
  const mount = { path: 'fork', external: true, approved_target: workspace.outside, update: true }
  const access = { fs: [{ path: '.', read: true }, { path: 'src', update: true }, mount] }
  const before = statSync(workspace.root).ctimeMs
  expect(
    await workspace.run('fs_modify_file', editAll('src/a', 'src/b', 'fork/m/a', 'fork/m/b'), { access }),
  ).toEqual(
    said(
      ['fork/m/a', 'fork/m/b', 'src/a', 'src/b']
        .map((path) => `changed ${path} (same number of lines)`)
        .join('\n'),
    ),
  )
  expect(statSync(workspace.root).ctimeMs).toBe(before) // nothing was made in the directory that is only readable
  expect(readdirSync(workspace.outside, { recursive: true, encoding: 'utf8' }).sort()).toEqual([
    'm',
    'm/a',
    'm/b',
  ])
})

test('several runs at once on the same files: each is all or nothing', async () => {
  const names = ['p', 'q', 'r', 's']
  const paths = Array.from({ length: 20 }, (_, i) => `d${i % 3}/f${i}`)
  const workspace = new Workspace(
    Object.fromEntries(paths.map((path) => [path, names.map((n) => `${n}0\n`).join('')])),
  )
  const run = async (name: string): Promise<boolean> => {
    const edits = paths.map((path) => ({ path, old: `${name}0`, new: `${name}1` }))
    const child = spawn(process.execPath, [
      '--conditions=cordon-source',
      join(import.meta.dirname, '../src/main.ts'),
    ])
    child.stdin.end(
      JSON.stringify({
        context: { root: workspace.root, action: 'run' },
        tool: { name: 'fs_modify_file', arguments: { edits } },
      }),
    )
    const output: unknown = JSON.parse(await text(child.stdout))
    return (output as { type: string }).type === 'success'
  }
  const succeeded = await Promise.all(names.map(run))
  const expected = names.map((name, i) => `${name}${succeeded[i] ? 1 : 0}\n`).join('')
  expect(succeeded).toContain(true)
  expect(paths.map((path) => content(workspace, path))).toEqual(paths.map(() => expected))
  expect(
    readdirSync(workspace.root, { recursive: true, encoding: 'utf8' }).filter((n) => n.includes('.cordon')),
  ).toEqual([])
})

test.skipIf(!canMount)('a full disk is found out before anything changes', () => {
  const workspace = new Workspace()
  mkdirSync(workspace.path('disk'))
  const names = ['a', 'b', 'c']
  const script = `mount -t tmpfs -o size=256k none "$0/disk"; for each in ${names.join(' ')}; do printf x > "$0/disk/$each"; done`
  const edits = names.map((name) => ({ path: `disk/${name}`, old: 'x', new: 'y'.repeat(100_000) }))
  expect(callMounted(workspace, script, [{ tool: 'fs_modify_file', args: { edits } }])).toEqual([
    { said: 'cannot write disk: it does not fit: the disk is full', changed: [] },
  ])
})
