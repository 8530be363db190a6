import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { type IdLength, isSoundIndex, readGitlinks } from '../src/git-index.ts'

const dir = mkdtempSync(join(tmpdir(), 'git-index-'))
afterAll(() => rmSync(dir, { recursive: true }))

/** What the file `index` of a new repository is after git was called so. */
function indexAfter(calls: readonly string[], format = 'sha1'): Buffer {
  const root = mkdtempSync(join(dir, 'r'))
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd: root, stdio: 'ignore' })
  git('init', '-q', `--object-format=${format}`)
  for (const name of ['++/++/f', 'deep/er/a', 'deep/er/b', 'other/c', `${'long/'.repeat(30)}d`]) {
    mkdirSync(join(root, name, '..'), { recursive: true })
    writeFileSync(join(root, name), name)
  }
  for (const each of calls) git('-c', 'user.name=a', '-c', 'user.email=a@b', ...each.split(' '))
  const shared = readdirSync(join(root, '.git')).find((name) => name.startsWith('sharedindex.'))
  if (shared !== undefined) expect(isSoundIndex(readFileSync(join(root, '.git', shared)), 20)).toBe(true)
  return readFileSync(join(root, '.git/index'))
}

const V4 = 'update-index --index-version 4'
const THREADS = ['-c index.threads=4 -c index.recordOffsetTable=true -c index.recordEndOfIndexEntries=true']
const REAL: readonly {
  name: string
  version: number
  calls: readonly string[]
  id?: IdLength
  has?: string
}[] = [
  { name: 'version 2', version: 2, calls: ['add .'] },
  { name: 'version 3, by an intent to add', version: 3, calls: ['add other', 'add -N .'] },
  { name: 'version 4', version: 4, calls: ['add .', V4] },
  { name: 'version 4, with an intent to add', version: 4, calls: ['add other', V4, 'add -N .'] },
  { name: 'nothing', version: 2, calls: ['add .', 'rm -q -r --cached .'] },
  {
    name: 'split, with an entry that replaces one',
    version: 2,
    calls: ['add .', 'update-index --split-index', 'update-index --chmod=+x other/c'],
    has: 'link',
  },
  {
    name: 'split, in version 4',
    version: 4,
    calls: ['add .', V4, 'update-index --split-index', 'update-index --chmod=+x deep/er/b other/c'],
    has: 'link',
  },
  {
    name: 'sparse, with directories',
    version: 3,
    calls: ['add .', 'commit -q -m a', 'sparse-checkout set --cone --sparse-index other'],
    has: 'sdir',
  },
  { name: 'with an offset table', version: 2, calls: [`${THREADS[0]} add .`], has: 'IEOT' },
  {
    name: 'with an offset table, in version 4',
    version: 4,
    calls: ['add .', `${THREADS[0]} ${V4}`],
    has: 'IEOT',
  },
  { name: 'with ids of SHA-256', version: 2, calls: ['add .'], id: 32 },
  { name: 'with ids of SHA-256, in version 4', version: 4, calls: ['add .', V4], id: 32 },
]

describe('what git writes is sound', () => {
  test.each(REAL)('$name', ({ version, calls, id = 20, has }) => {
    const index = indexAfter(calls, id === 32 ? 'sha256' : 'sha1')
    expect(index.readUInt32BE(4)).toBe(version)
    if (has !== undefined) expect(index.includes(has)).toBe(true)
    expect(isSoundIndex(index, id)).toBe(true)
    // Cut anywhere, or with bytes changed, it is judged and never thrown about.
    for (let length = 0; length < index.length; length++)
      expect(typeof isSoundIndex(index.subarray(0, length), id)).toBe('boolean')
    const anyChange = fc.array(fc.tuple(fc.nat(index.length - 1), fc.nat(255)), { maxLength: 8 })
    fc.assert(
      fc.property(anyChange, (changes) => {
        const changed = Buffer.from(index)
        for (const [at, byte] of changes) changed[at] = byte
        return typeof isSoundIndex(changed, id) === 'boolean'
      }),
    )
  })
})

/** Entries of version 2, or 4 without compression of its own. */
const entry = (path: string, { flags = Math.min(path.length, 0xfff), id = 20 } = {}): Buffer => {
  const fixed = Buffer.alloc(40 + id + 2)
  fixed.writeUInt16BE(flags, 40 + id)
  const size = (fixed.length + path.length + 8) & ~7
  return Buffer.concat([fixed, Buffer.from(path, 'latin1')], size)
}

const compressed = (stripped: number, rest: string, length: number): Buffer => {
  const fixed = Buffer.alloc(62)
  fixed.writeUInt16BE(length, 60)
  return Buffer.concat([fixed, Buffer.from([stripped]), Buffer.from(`${rest}\0`, 'latin1')])
}

const extension = (name: string, body: Buffer): Buffer => {
  const size = Buffer.alloc(4)
  size.writeUInt32BE(body.length)
  return Buffer.concat([Buffer.from(name), size, body])
}

const numbers = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value, i * 4)
  return bytes
}

const index = (entries: readonly Buffer[], more: readonly Buffer[] = [], version = 2): Buffer =>
  Buffer.concat([
    Buffer.from('DIRC'),
    numbers(version, entries.length),
    ...entries,
    ...more,
    Buffer.alloc(20),
  ])

describe('a path', () => {
  test.each([
    'a',
    'a/b',
    '...',
    '..a/b',
    '.gitignore',
    'a/.github/b',
    'a.git/b',
    'sparse/',
    'x'.repeat(4095),
    '\xff',
  ])('that stays: %j', (path) => expect(isSoundIndex(index([entry('0'), entry(path)]), 20)).toBe(true))

  test.each(
    [
      '',
      '/',
      '/etc/x',
      '..',
      '../a',
      'a/../b',
      'a/..',
      '.',
      './a',
      'a/./b',
      'a//b',
      'a//',
      '.git',
      '.git/config',
    ].concat([
      '.GIT/hooks/x',
      'a/.Git',
      'a/.git/b',
      '.git/',
      '../',
      'a\0b',
      'x'.repeat(5000),
      `${'x/'.repeat(2047)}..`,
    ]),
  )('that does not: %j', (path) => {
    expect(isSoundIndex(index([entry('0'), entry(path)]), 20)).toBe(false)
    expect(isSoundIndex(index([entry('0', { id: 32 }), entry(path, { id: 32 })]), 32)).toBe(false)
  })

  test('that is put together by prefixes', () => {
    const of = (stripped: number, rest: string, length: number): Buffer =>
      index([compressed(0, '.gix', 4), compressed(stripped, rest, length)], [], 4)
    expect(isSoundIndex(of(1, 'y', 4), 20)).toBe(true)
    expect(isSoundIndex(of(1, 't', 4), 20)).toBe(false)
    expect(isSoundIndex(of(3, './a', 4), 20)).toBe(false)
    expect(isSoundIndex(of(5, 'a', 1), 20)).toBe(false)
    expect(isSoundIndex(of(1, 'y', 3), 20)).toBe(false)
  })
})

const END = 12 + entry('a').length
const BAD = entry('../x')
test.each([
  { name: 'nothing', bytes: Buffer.alloc(0) },
  { name: 'another signature', bytes: Buffer.concat([Buffer.from('DIRX'), index([]).subarray(4)]) },
  { name: 'version 1', bytes: index([], [], 1) },
  { name: 'version 5', bytes: index([], [], 5) },
  {
    name: 'fewer entries than it says',
    bytes: Buffer.concat([Buffer.from('DIRC'), numbers(2, 9), Buffer.alloc(99)]),
  },
  { name: 'a length that is not the path’s', bytes: index([entry('abc', { flags: 2 })]) },
  {
    name: 'an extension that git must understand',
    bytes: index([entry('a')], [extension('abcd', numbers(1))]),
  },
  {
    name: 'an extension that is cut',
    bytes: index([entry('a')], [extension('TREE', numbers(1)).subarray(0, -1)]),
  },
  { name: 'extensions elsewhere', bytes: index([entry('a')], [extension('EOIE', numbers(END + 8))]) },
  {
    name: 'blocks elsewhere',
    bytes: index([entry('a')], [extension('XXXX', BAD), extension('IEOT', numbers(1, END + 8, 1))]),
  },
  {
    name: 'more in blocks than there is',
    bytes: index([entry('a')], [extension('IEOT', numbers(1, 12, 1, 12, 1))]),
  },
  { name: 'ids of the other length', bytes: index([entry('a', { id: 32 })]) },
])('is not sound: $name', ({ bytes }) => expect(isSoundIndex(bytes, 20)).toBe(false))

test('decision 0590 a block begins with the path that it is from entry to entry, too', () => {
  const first = compressed(0, 'f/a', 3)
  const of = (stripped: number): Buffer => {
    const second = compressed(stripped, 'evil', 0xfff)
    return index([first, second], [extension('IEOT', numbers(1, 12, 1, 12 + first.length, 1))], 4)
  }
  expect(isSoundIndex(of(3), 20)).toBe(true)
  expect(isSoundIndex(of(1), 20)).toBe(false) // f/evil, or evil
})

test('an entry without a path is one of a split index', () => {
  const link = extension('link', Buffer.alloc(20))
  expect(isSoundIndex(index([entry('')], [link]), 20)).toBe(true)
  expect(isSoundIndex(index([entry('')], []), 20)).toBe(false)
})

test('an offset table that only the end of the file names, in the middle of another extension', () => {
  const sound = indexAfter([`${THREADS[0]} add .`])
  const from = sound.indexOf('IEOT')
  const hidden = sound.subarray(from, sound.length - 20)
  expect(hidden.indexOf('EOIE')).toBe(hidden.length - 32)
  const around = Buffer.concat([Buffer.from('ZZZZ'), Buffer.alloc(4), hidden, sound.subarray(-20)])
  around.writeUInt32BE(hidden.length, 4)
  expect(isSoundIndex(sound, 20)).toBe(true)
  expect(isSoundIndex(Buffer.concat([sound.subarray(0, from), around]), 20)).toBe(false)
})

describe('decision 0590: the gitlinks of an index', () => {
  const LINKS = ['a', 'deep/er', 'ünïcode/sub', `${'long/'.repeat(30)}e`]
  const named = (format: string): string =>
    LINKS.map(
      (path) => `update-index --add --cacheinfo 160000,${'1'.repeat(format === 'sha1' ? 40 : 64)},${path}`,
    ).join('\n')

  test.each([
    { name: 'version 2', more: [] },
    { name: 'version 3', more: ['add -N other'] },
    { name: 'version 4', more: [V4] },
    { name: 'longer ids', more: [V4], format: 'sha256' },
  ])('are found: $name', ({ more, format = 'sha1' }) => {
    const bytes = indexAfter(['add ++', ...named(format).split('\n'), ...more], format)
    expect(readGitlinks(bytes, format === 'sha1' ? 20 : 32)).toEqual({
      paths: LINKS.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
      shared: undefined,
    })
  })

  test('of a split index the rest is in the file that it names', () => {
    const links = readGitlinks(indexAfter(['add .', 'update-index --split-index']), 20)
    expect(links).toEqual({ paths: [], shared: expect.stringMatching(/^sharedindex\.[0-9a-f]{40}$/) })
  })

  test('what is cut off or is no index is not understood', () => {
    const bytes = indexAfter(['add .'])
    expect(readGitlinks(bytes.subarray(0, bytes.length / 2), 20)).toBeUndefined()
    expect(readGitlinks(Buffer.from('DIRCxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'), 20)).toBeUndefined()
    expect(readGitlinks(Buffer.alloc(0), 20)).toBeUndefined()
  })

  test('whatever the bytes are, it answers', () => {
    const bytes = indexAfter(['add .', V4])
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), (at, byte) => {
        const changed = Buffer.from(bytes)
        changed[at] = byte
        readGitlinks(changed, 20)
        readGitlinks(changed, 32)
      }),
    )
  })
})
