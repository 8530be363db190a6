import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FileError } from '../src/index.ts'
import { anchored, fastPlace, IMPLEMENTATIONS, makePlace, openHandles, refusal, rel } from './place.ts'

const BOUNDS = { entries: 1000, bytes: 1024 * 1024 }

describe.each(IMPLEMENTATIONS)('$name', ({ open }) => {
  const plant = (inside: string, outside: string): void => {
    mkdirSync(join(inside, 't/a/b'), { recursive: true })
    mkdirSync(join(outside, 'kept'))
    writeFileSync(join(outside, 'kept/f'), 'secret')
    writeFileSync(join(inside, 't/one'), '1')
    writeFileSync(join(inside, 't/a/b/two'), '22')
    symlinkSync(join(outside, 'kept'), join(inside, 't/a/to-directory'))
    symlinkSync(join(outside, 'kept/f'), join(inside, 't/to-file'))
    execFileSync('mkfifo', [join(inside, 't/fifo')])
  }

  test('SPEC 7.2 a tree goes, links in it go, and what they point to stays; a dry run counts the same', async () => {
    const { anchor, inside, outside } = anchored(open)
    plant(inside, outside)
    const before = openHandles()
    const counts = { files: 2, directories: 3, others: 3, bytes: 3, failed: undefined }
    expect(await anchor.removeTree(rel('t'), { dryRun: true })).toEqual(counts)
    expect(readdirSync(join(inside, 't')).sort()).toEqual(['a', 'fifo', 'one', 'to-file'])
    expect(await anchor.removeTree(rel('t'))).toEqual(counts)
    expect(readdirSync(inside)).toEqual([])
    expect(readFileSync(join(outside, 'kept/f'), 'utf8')).toBe('secret')
    expect(openHandles()).toBe(before)
  })

  test('the anchor itself, a link and a file are not trees', async () => {
    const { anchor, inside, outside } = anchored(open)
    symlinkSync(outside, join(inside, 'l'))
    writeFileSync(join(inside, 'f'), '')
    await expect(anchor.removeTree(rel('.'))).rejects.toThrow(
      new FileError(
        'FILE_INVALID',
        { operation: 'remove', path: '.' },
        'is the directory that everything here lies in',
      ),
    )
    const nothing = { files: 0, directories: 0, others: 0, bytes: 0 }
    for (const [name, code] of [
      ['l', 'FILE_IS_LINK'],
      ['f', 'FILE_NOT_DIRECTORY'],
      ['none', 'FILE_NOT_FOUND'],
    ] as const)
      expect(await anchor.removeTree(rel(name))).toMatchObject({ ...nothing, failed: { code } })
    expect(readdirSync(inside).sort()).toEqual(['f', 'l'])
  })

  test('what ends halfway says what was removed', async () => {
    const { anchor, inside } = anchored(open)
    mkdirSync(join(inside, 't'))
    for (let i = 0; i < 50; i++) writeFileSync(join(inside, `t/${i}`), 'x')
    let asked = 0
    // Stopped when it is asked for the 20th time.
    const signal = {
      get aborted() {
        return ++asked > 20
      },
    } as AbortSignal
    const removal = await anchor.removeTree(rel('t'), { signal })
    expect(removal).toMatchObject({ files: 20, directories: 0, bytes: 20, failed: { code: 'FILE_STOPPED' } })
    expect(removal.failed?.message).toBe('cannot remove t: it was not finished: it was stopped')
    expect(readdirSync(join(inside, 't'))).toHaveLength(30)
  })

  test('what `only` does not know stays, with all above it, and ends the removal', async () => {
    const { anchor, inside } = anchored(open)
    mkdirSync(join(inside, 't/a'), { recursive: true })
    writeFileSync(join(inside, 't/a/known'), '1')
    writeFileSync(join(inside, 't/a/came'), '2')
    const asked: string[] = []
    const { failed } = await anchor.removeTree(rel('t'), {
      only: (path, { kind }) => {
        asked.push(`${path} ${kind}`)
        return !path.endsWith('came')
      },
    })
    expect(failed?.message).toBe('cannot remove t/a/came: it came, or was changed, meanwhile')
    expect(failed?.code).toBe('FILE_CHANGED')
    expect(asked[0]).toBe('t/a directory')
    expect(asked.at(-1)).toBe('t/a/came file')
    expect(readFileSync(join(inside, 't/a/came'), 'utf8')).toBe('2')
  })

  test('deeper than can be held is refused, and says so', async () => {
    const { anchor, inside } = anchored(open)
    mkdirSync(join(inside, ...Array.from({ length: 300 }, () => 'd')), { recursive: true })
    const { failed, ...removed } = await anchor.removeTree(rel('d'))
    expect(failed?.code).toBe('FILE_TOO_DEEP')
    expect(removed).toEqual({ files: 0, directories: 0, others: 0, bytes: 0 })
    expect(existsSync(join(inside, 'd/d/d'))).toBe(true)
  })

  test('a tree is listed by name, no link followed, and as deep as asked', () => {
    const { anchor, inside, outside } = anchored(open)
    plant(inside, outside)
    const shown = anchor.tree(rel('t'), { ...BOUNDS, depth: 2 })
    expect(shown.truncated).toBe(false)
    expect(shown.entries.map(({ path, kind, depth, closed }) => [path, kind, depth, closed])).toEqual([
      ['t/a', 'directory', 1, false],
      ['t/a/b', 'directory', 2, true],
      ['t/a/to-directory', 'link', 2, false],
      ['t/fifo', 'fifo', 1, false],
      ['t/one', 'file', 1, false],
      ['t/to-file', 'link', 1, false],
    ])
    expect(refusal(() => anchor.tree(rel('t/a/to-directory'), { ...BOUNDS, depth: 2 })).code).toBe(
      'FILE_IS_LINK',
    )
  })

  test('bounds hold for entries and for bytes, over all directories together', () => {
    const { anchor, inside } = anchored(open)
    for (const d of ['a', 'b', 'c']) {
      mkdirSync(join(inside, d))
      for (let i = 0; i < 10; i++) writeFileSync(join(inside, d, `file-${i}`), '')
    }
    const some = anchor.tree(rel('.'), { depth: 9, entries: 20, bytes: 1e6 })
    expect({ count: some.entries.length, truncated: some.truncated }).toEqual({ count: 20, truncated: true })
    const few = anchor.tree(rel('.'), { depth: 9, entries: 1e6, bytes: 1000 })
    expect(few.truncated).toBe(true)
    expect(JSON.stringify(few.entries.map(({ path, kind }) => ({ path, kind }))).length).toBeLessThan(1000)
    expect(anchor.listSome(rel('a'), { entries: 10, bytes: 1e6 }).truncated).toBe(false)
    expect(anchor.listSome(rel('a'), { entries: 9, bytes: 1e6 })).toMatchObject({ truncated: true })
  })

  test('a name that is not UTF-8 is listed by its bytes', () => {
    const { anchor, inside } = anchored(open)
    const name = Buffer.from([0x66, 0xff])
    writeFileSync(Buffer.concat([Buffer.from(`${inside}/`), name]), '')
    expect(anchor.listSome(rel('.'), BOUNDS).entries).toEqual([{ bytes: name, kind: 'file' }])
    expect(anchor.tree(rel('.'), { ...BOUNDS, depth: 1 }).entries).toEqual([
      { path: undefined, bytes: name, kind: 'file', depth: 1, closed: false },
    ])
  })
})

test('SPEC 7.3 of 200,000 names only those are read that are shown; then all are removed', async () => {
  const { inside } = makePlace(fastPlace())
  const anchor = IMPLEMENTATIONS[0].open(inside)
  onTestFinished(() => anchor.close())
  mkdirSync(join(inside, 'many'))
  execFileSync('sh', ['-c', 'seq -f "name-%06g" 200000 | xargs touch'], { cwd: join(inside, 'many') })
  const heap = process.memoryUsage().rss
  const before = process.cpuUsage()
  const { entries, truncated } = anchor.listSome(rel('many'), { entries: 1e9, bytes: 1024 * 1024 })
  const { user, system } = process.cpuUsage(before)
  expect(truncated).toBe(true)
  expect(entries.length).toBeGreaterThan(10_000)
  expect(JSON.stringify(entries).length).toBeLessThan(1024 * 1024)
  expect(user + system).toBeLessThan(4_000_000)
  expect(process.memoryUsage().rss - heap).toBeLessThan(100 * 1024 * 1024)
  expect(await anchor.removeTree(rel('many'))).toEqual({
    files: 200_000,
    directories: 1,
    others: 0,
    bytes: 0,
    failed: undefined,
  })
})
