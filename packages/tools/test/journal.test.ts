import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { type CanonicalPath, parseContext, type RelPath, ROOT } from '@cordon/policy'
import { Anchors, placesOf, removeStaged } from '@cordon/tools'
import { expect, test } from 'vitest'
import { Access } from '../src/access.ts'
import { type Change, commitChanges } from '../src/modify/commit.ts'
import { type Journal, journalPlace, newJournal, sealJournal } from '../src/modify/journal.ts'
import { Keys } from '../src/modify/keys.ts'
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

interface Told {
  readonly own?: string
  readonly open: Readonly<Record<string, string>>
}

const KEYS = { first: '1'.repeat(64), second: '2'.repeat(64) }

/** As a process that died after its decision would have left it. */
function leaveJournal(
  workspace: Workspace,
  journal: Partial<Omit<Journal, 'entries'>> & { readonly entries: readonly ReturnType<typeof entry>[] },
  told?: Told,
): void {
  using anchors = new Anchors()
  const access = new Access(parseContext({ root: workspace.root, action: 'run' }))
  const place = journalPlace(access, anchors, ROOT)!
  const anchor = realpathSync(workspace.root) as CanonicalPath
  const entries = journal.entries.map((each) => ({
    ...each,
    at: { anchor, inside: each.path as RelPath },
  }))
  const whole = { ...newJournal(entries), ...journal, entries }
  const dead = { ...whole, writer: { ...whole.writer, pid: 2 ** 22 } }
  writeFileSync(workspace.path(NAME), sealJournal(dead, place, new Keys(told)))
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
      'changed d (same number of lines)\nAn earlier change that was interrupted has been completed (1 file).\nChanged by somebody since, and left alone: a, no/c, e, gone.',
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

test('a link that somebody put there since leads nobody to another file, forward or back', async () => {
  for (const direction of ['forward', 'undo'] as const) {
    const [from, to] = direction === 'forward' ? ['old', 'new'] : ['new', 'old']
    const workspace = new Workspace({ 'src/main': from, 'docs/b': from, c: 'x' })
    symlinkSync('../src/main', workspace.path('docs/a'))
    leaveJournal(workspace, {
      direction,
      entries: ['docs/a', 'docs/b'].map((path) => entry(path, 'old', 'new')),
    })
    const result = await workspace.run('fs_modify_file', edit('c'))
    expect(JSON.stringify(result)).toContain('Changed by somebody since, and left alone: docs/a.')
    expect([content(workspace, 'src/main'), content(workspace, 'docs/b')]).toEqual([from, to])
  }
})

test('whatever has the name of a journal and is none stops no change of one file', async () => {
  const workspace = new Workspace({ a: 'x', 'dir/f': '' })
  const place = workspace.path(NAME)
  for (const put of [
    () => symlinkSync('a', place),
    () => symlinkSync('nowhere', place),
    () => mkdirSync(place),
    () => execFileSync('mkfifo', [place]),
    () => truncateSync(place, (writeFileSync(place, ''), 257 * 1024 * 1024)),
  ]) {
    put()
    writeFileSync(workspace.path('a'), 'x')
    expect(await workspace.run('fs_modify_file', edit('a'))).toEqual(
      said(
        `changed a (same number of lines)\n${NAME} was ignored: no change that this call knows of made it.`,
      ),
    )
    rmSync(place, { recursive: true })
  }
})

test('what a killed call had staged is gone with the next one that is told of its end, or with its journal', async () => {
  const workspace = new Workspace({ 'd/a': 'old', 'd/c': 'x', 'e/b': 'x' })
  const temp = (call: string): string => `.cordon-tmp-${call}-1-1-${'0'.repeat(16)}`
  const [dead, alive] = ['a'.repeat(28), 'b'.repeat(28)]
  const open = { [dead]: KEYS.first, [alive]: KEYS.second }
  for (const id of [dead, alive])
    for (const dir of ['d', 'e']) writeFileSync(workspace.path(`${dir}/${temp(id.slice(-16))}`), '')
  await workspace.run('fs_modify_file', edit('e/b'), { options: { journal_keys: { open, left: [dead] } } })
  const names = (dir: string) => readdirSync(workspace.path(dir)).sort()
  expect(names('e')).toEqual([temp(alive.slice(-16)), 'b'])
  leaveJournal(workspace, { entries: [entry('d/a', 'old', 'new')] }, { own: dead, open })
  await workspace.run('fs_modify_file', edit('d/c'), { options: { journal_keys: { open } } })
  expect(names('d')).toEqual([temp(alive.slice(-16)), 'a', 'c'])
})

test('decision 0495: beside a directory that became a link since, nothing is swept where it leads', async () => {
  const workspace = new Workspace({ 'd/a': 'old', 'secret/a': 'old', c: 'x' })
  const dead = 'a'.repeat(28)
  const open = { [dead]: KEYS.first }
  const bait = `secret/.cordon-tmp-${dead.slice(-16)}-1-1-${'0'.repeat(16)}`
  writeFileSync(workspace.path(bait), 'bait')
  leaveJournal(workspace, { entries: [entry('d/a', 'old', 'new')] }, { own: dead, open })
  rmSync(workspace.path('d'), { recursive: true })
  symlinkSync('secret', workspace.path('d'))
  await workspace.run('fs_modify_file', edit('c'), { options: { journal_keys: { open } } })
  expect([content(workspace, bait), content(workspace, 'secret/a')]).toEqual(['bait', 'old'])
  expect(existsSync(workspace.path(NAME))).toBe(false)
})

/** Exchanges a directory and a link as fast as it can, until the file `stop` is there. */
const SWAPPER = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(sys.argv[1])
open('swapping', 'w').close()
while not os.path.exists('stop'):
    for _ in range(100): libc.syscall(316, -100, b'd', -100, b'other', 2)
`

test.runIf(process.arch === 'x64')(
  'decision 0495: swapped for a link all the time, a directory leads no sweep elsewhere',
  async () => {
    const workspace = new Workspace({ 'd/a': 'old', 'secret/a': 'old' })
    const key = 'a'.repeat(28)
    const temp = `.cordon-tmp-${key.slice(-16)}-1-1-${'0'.repeat(16)}`
    for (const dir of ['d', 'secret']) writeFileSync(workspace.path(`${dir}/${temp}`), dir)
    symlinkSync('secret', workspace.path('other'))
    const context = parseContext({ root: workspace.root, action: 'run' })
    const placed = placesOf(context, ['d/a'])
    const swapper = spawn('/usr/bin/python3', ['-c', SWAPPER, workspace.root], { stdio: 'inherit' })
    const gone = once(swapper, 'close')
    while (!existsSync(workspace.path('swapping'))) await turn()
    for (let i = 0; i < 2000; i++) removeStaged(context, key, placed)
    writeFileSync(workspace.path('stop'), '')
    await gone
    expect(content(workspace, `secret/${temp}`)).toBe('secret')
    const real = ['d', 'other'].find((name) => lstatSync(workspace.path(name)).isDirectory())
    expect(readdirSync(workspace.path(real!))).toEqual(['a'])
  },
)

test('a journal that came with a repository or from another tool is not believed', async () => {
  const workspace = new Workspace({ a: 'old', b: 'x', c: 'x' })
  const ignored = `${NAME} was ignored: no change that this call knows of made it.`
  const isIgnored = async (options: Readonly<Record<string, unknown>> = {}): Promise<void> => {
    writeFileSync(workspace.path('c'), 'x')
    expect(await workspace.run('fs_modify_file', edit('c'), { options })).toMatchObject(
      said(`changed c (same number of lines)\n${ignored}`),
    )
  }
  // Made for another directory, as one in a repository would be.
  const elsewhere = new Workspace()
  leaveJournal(elsewhere, { entries: [entry('a', 'old', 'evil')] })
  writeFileSync(workspace.path(NAME), readFileSync(elsewhere.path(NAME)))
  await isIgnored()
  // Made here, by somebody who does not have a key of the host's, or by a call that is over.
  leaveJournal(workspace, { entries: [entry('a', 'old', 'evil')] })
  await isIgnored({ journal_keys: { open: KEYS } })
  leaveJournal(workspace, { entries: [entry('a', 'old', 'evil')] }, { own: 'first', open: KEYS })
  await isIgnored({ journal_keys: { open: { second: KEYS.second } } })
  // Under the name of a key that is open, and not with that key.
  await isIgnored({ journal_keys: { open: { first: KEYS.second } } })
  leaveJournal(workspace, { entries: [entry('a', 'old', 'evil')] })
  const sealed = readFileSync(workspace.path(NAME))
  const flipped = Buffer.from(sealed)
  flipped[flipped.length - 1]! ^= 1
  for (const junk of [
    '',
    '{}',
    '\n',
    'none\n',
    'none\nxxx',
    '__proto__\n',
    sealed.subarray(0, -1),
    flipped,
  ]) {
    writeFileSync(workspace.path(NAME), junk)
    await isIgnored()
  }
  expect(content(workspace, 'a')).toBe('old')
  // Several files need its place. Nobody removes what may be somebody's, and the message is true whoever made it.
  writeFileSync(workspace.path('c'), 'x')
  expect(await workspace.run('fs_modify_file', editAll('b', 'c'))).toEqual(
    failed(
      `several files cannot be changed at once: ${NAME} is in the way, and no change that this call knows of made it; if it still is when you try again, look at it and remove it`,
    ),
  )
  expect([content(workspace, 'b'), content(workspace, 'c')]).toEqual(['x', 'x'])
}, 20_000)

test('a call completes what a key that is open sealed, and says which keys are of no more use', async () => {
  const workspace = new Workspace({ a: 'old', c: 'x', d: 'x' })
  leaveJournal(workspace, { entries: [entry('a', 'old', 'new')] }, { own: 'first', open: KEYS })
  const options = { journal_keys: { own: 'second', open: KEYS } }
  expect(await workspace.run('fs_modify_file', editAll('c', 'd'), { options })).toMatchObject({
    type: 'success',
    closed: ['first', 'second'],
  })
  expect([content(workspace, 'a'), content(workspace, 'd')]).toEqual(['new', 'y'])
  // An error that left nothing behind says so too.
  expect(await workspace.run('fs_modify_file', edit('c'), { options })).toMatchObject({
    type: 'error',
    closed: ['second'],
  })
})

test('several files are not changed without a key of the call', async () => {
  const workspace = new Workspace({ c: 'x', d: 'x' })
  const options = { journal_keys: { open: KEYS } }
  expect(await workspace.run('fs_modify_file', editAll('c', 'd'), { options })).toMatchObject(
    failed('the host gave no key for a change of several files'),
  )
  expect([content(workspace, 'c'), content(workspace, 'd')]).toEqual(['x', 'x'])
})

test('a journal tells nothing to who may read its directory', () => {
  const workspace = new Workspace()
  const told = { own: 'first', open: KEYS }
  leaveJournal(workspace, { entries: [entry('secret/f', 'PASSWORD=hunter2', 'PASSWORD=hunter3')] }, told)
  const written = readFileSync(workspace.path(NAME), 'latin1')
  for (const part of ['secret/f', 'hunter', Buffer.from('PASSWORD=hunter2').toString('base64')])
    expect(written).not.toContain(part)
  // Nor does a second one of the same tell that it is the same.
  leaveJournal(workspace, { entries: [entry('secret/f', 'PASSWORD=hunter2', 'PASSWORD=hunter3')] }, told)
  expect(readFileSync(workspace.path(NAME), 'latin1').slice(-32)).not.toBe(written.slice(-32))
})

test('a change that begins after a call, under a key that the call does not know, is waited for', async () => {
  const workspace = new Workspace({ a: 'old', c: 'x', d: 'x' })
  leaveJournal(workspace, { entries: [entry('a', 'old', 'new')] }, { own: 'first', open: KEYS })
  const options = { journal_keys: { own: 'second', open: { second: KEYS.second } } }
  const call = workspace.run('fs_modify_file', editAll('c', 'd'), { options })
  setTimeout(() => rmSync(workspace.path(NAME)), 600)
  expect(await call).toMatchObject({ type: 'success', closed: ['second'] })
  expect([content(workspace, 'a'), content(workspace, 'c')]).toEqual(['old', 'y'])
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
  await expect(commitChanges(changes, access, anchors, new Keys(undefined))).rejects.toThrow(
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
