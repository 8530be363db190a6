import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Anchor, type WalkOptions } from '../src/index.ts'
import { IMPLEMENTATIONS, makePlace, openHandles, refusal, rel } from './place.ts'

describe.each(IMPLEMENTATIONS)('walking, $name', ({ open }) => {
  function setUp(): { anchor: Anchor; inside: string; outside: string } {
    const before = openHandles()
    onTestFinished(() => expect(openHandles()).toBe(before))
    const { inside, outside } = makePlace()
    mkdirSync(join(inside, 'a/b/c'), { recursive: true })
    for (const path of ['a/1', 'a/b/2', 'a/b/c/3', '4']) writeFileSync(join(inside, path), path)
    writeFileSync(join(outside, 'secret'), '')
    symlinkSync(outside, join(inside, 'a/out'))
    const anchor = open(inside)
    onTestFinished(() => anchor.close())
    return { anchor, inside, outside }
  }

  test('everything below, links as links', () => {
    expect(all(setUp().anchor)).toEqual([
      '1 directory a',
      '1 file 4',
      '2 directory a/b',
      '2 file a/1',
      '2 link a/out',
      '3 directory a/b/c',
      '3 file a/b/2',
      '4 file a/b/c/3',
    ])
  })

  test('a directory can be left closed, and depth is bounded', () => {
    const { anchor } = setUp()
    const shallow = ['1 directory a', '1 file 4', '2 directory a/b', '2 file a/1', '2 link a/out']
    expect(all(anchor, { enter: (path) => path !== 'a/b' })).toEqual(shallow)
    const errors: string[] = []
    expect(all(anchor, { maxDepth: 2, unreadable: (error) => errors.push(error.message) })).toEqual(shallow)
    expect(errors).toEqual(['cannot list a/b: it is more than 2 levels deep'])
    expect(refusal(() => all(anchor, { maxDepth: 2 })).code).toBe('FILE_TOO_DEEP')
  })

  test('files are opened by the handle that the walk holds', () => {
    const { anchor } = setUp()
    const read: string[] = []
    for (const entry of anchor.walk()) {
      if (entry.kind !== 'file') continue
      const file = entry.open()
      read.push(file.readAll().toString())
      file.close()
    }
    expect(read.sort()).toEqual(['4', 'a/1', 'a/b/2', 'a/b/c/3'])
  })

  test('stopping early closes everything, and not starting opens nothing', () => {
    const { anchor } = setUp()
    const before = openHandles()
    anchor.walk()
    expect(openHandles()).toBe(before)
    for (const entry of anchor.walk()) if (entry.path === 'a/b/c/3') break
    expect(openHandles()).toBe(before)
  })

  test('what vanishes or turns into a link on the way is passed over', () => {
    const { anchor, inside, outside } = setUp()
    const seen: string[] = []
    for (const { path } of anchor.walk()) {
      seen.push(String(path))
      if (path === 'a/b') {
        renameSync(join(inside, 'a/b'), join(inside, 'moved'))
        symlinkSync(outside, join(inside, 'a/b'))
      }
    }
    expect(seen.filter((path) => path.startsWith('a/b'))).toEqual(['a/b'])
    expect(seen.join()).not.toContain('secret')
    for (const { path } of anchor.walk())
      if (path === 'moved') rmSync(join(inside, 'moved'), { recursive: true })
    const [last] = [...anchor.walk()].filter(({ path }) => path === 'a/b')
    expect(last?.kind).toBe('link')
  })

  test('a tree deeper than PATH_MAX is walked, or refused where paths are all there is', () => {
    const { anchor, inside } = setUp()
    mkdirSync(chain(join(inside, 'n')), { recursive: true })
    mkdirSync(chain(join(inside, 'm')), { recursive: true })
    renameSync(join(inside, 'm'), join(chain(join(inside, 'n')), 'm'))
    const errors: string[] = []
    const entries = [...anchor.walk(rel('n'), { unreadable: ({ code }) => errors.push(code) })]
    const deepest = entries.at(-1)?.path ?? rel('n')
    if (anchor.guarantee === 'exact') {
      expect([entries.length, errors]).toEqual([29, []])
      expect(anchor.list(deepest)).toEqual([])
    } else {
      expect(errors).toEqual(['FILE_INVALID'])
    }
  })
})

const all = (anchor: Anchor, options?: WalkOptions): string[] =>
  [...anchor.walk(rel('.'), options)].map(({ path, kind, depth }) => `${depth} ${kind} ${path}`).sort()

const chain = (top: string): string => join(top, ...Array.from({ length: 14 }, () => 'n'.repeat(200)))
