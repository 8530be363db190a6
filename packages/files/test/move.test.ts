import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Anchor } from '../src/index.ts'
import { fastPlace, IMPLEMENTATIONS, makePlace, openHandles, refusal, rel } from './place.ts'

describe.each(IMPLEMENTATIONS)('moving, $name', ({ open }) => {
  function setUp(): { anchor: Anchor; inside: string; outside: string } {
    const before = openHandles()
    onTestFinished(() => expect(openHandles()).toBe(before))
    const { inside, outside } = makePlace()
    for (const name of ['a', 'b']) writeFileSync(join(inside, name), name)
    for (const name of ['d', 'empty', 'full']) mkdirSync(join(inside, name))
    writeFileSync(join(inside, 'full/f'), 'f')
    symlinkSync('a', join(inside, 'link'))
    const anchor = open(inside)
    onTestFinished(() => anchor.close())
    return { anchor, inside, outside }
  }

  test('files, directories and links move to where nothing is', () => {
    const { anchor, inside } = setUp()
    anchor.rename(rel('a'), rel('d/a'))
    anchor.rename(rel('full'), rel('d/full'))
    anchor.rename(rel('link'), rel('d/link'))
    expect(readdirSync(inside).sort()).toEqual(['b', 'd', 'empty'])
    expect(readFileSync(join(inside, 'd/full/f'), 'utf8')).toBe('f')
    expect(anchor.readlink(rel('d/link'))).toBe('a')
  })

  test('what was looked at is what is moved and replaced, if the caller says so; else nothing is', () => {
    const { anchor, inside } = setUp()
    const [source, replaces] = [anchor.stat(rel('a')).version, anchor.stat(rel('b')).version]
    const changed = (name: string): object => ({
      code: 'FILE_CHANGED',
      message: `cannot move ${name}: it is not the version that was looked at`,
    })
    const move = (): void => anchor.rename(rel('a'), rel('b'), { replace: 'file', source, replaces })
    writeFileSync(join(inside, 'b'), 'other')
    expect(refusal(move)).toEqual(changed('b'))
    writeFileSync(join(inside, 'a'), 'other')
    expect(refusal(move)).toEqual(changed('a'))
    expect(readdirSync(inside)).toContain('a')
  })

  test.skipIf(fastPlace() === tmpdir())('another filesystem is refused if the caller says so', () => {
    const { anchor, inside } = setUp()
    const there = makePlace(fastPlace()).inside
    using other = open(there)
    expect(
      refusal(() => anchor.rename(rel('a'), rel('a'), { anchor: other, across: 'refuse' })),
    ).toMatchObject({ code: 'FILE_CROSS_DEVICE' })
    expect([readdirSync(there), readFileSync(join(inside, 'a'), 'utf8')]).toEqual([[], 'a'])
  })

  test('nothing is replaced unless asked, not even an empty directory', () => {
    const { anchor, inside } = setUp()
    const before = readdirSync(inside, { recursive: true, encoding: 'utf8' }).sort()
    for (const from of ['a', 'full', 'link'])
      for (const to of ['b', 'empty', 'link', 'a', 'full'])
        expect(refusal(() => anchor.rename(rel(from), rel(to)))).toEqual(exists(to))
    expect(refusal(() => anchor.rename(rel('none'), rel('new')))).toEqual({
      code: 'FILE_NOT_FOUND',
      message: 'cannot move none: it does not exist',
    })
    expect(readdirSync(inside, { recursive: true, encoding: 'utf8' }).sort()).toEqual(before)
    expect(readFileSync(join(inside, 'b'), 'utf8')).toBe('b')
  })

  test('when asked, a file is replaced, and nothing else is', () => {
    const { anchor, inside } = setUp()
    const replace = 'file'
    expect(refusal(() => anchor.rename(rel('a'), rel('empty'), { replace })).code).toBe('FILE_NOT_REGULAR')
    expect(refusal(() => anchor.rename(rel('a'), rel('link'), { replace })).code).toBe('FILE_IS_LINK')
    expect(refusal(() => anchor.rename(rel('full'), rel('a'), { replace }))).toEqual(exists('a'))
    anchor.rename(rel('a'), rel('b'), { replace })
    expect(readFileSync(join(inside, 'b'), 'utf8')).toBe('a')
    anchor.rename(rel('b'), rel('b'), { replace })
    anchor.rename(rel('b'), rel('c'), { replace })
    anchor.rename(rel('full'), rel('d/full'), { replace })
    expect(readdirSync(inside).sort()).toEqual(['c', 'd', 'empty', 'link'])
  })

  test('two names of one file: the old name goes, the file stays', () => {
    const { anchor, inside } = setUp()
    linkSync(join(inside, 'a'), join(inside, 'd/a'))
    anchor.rename(rel('a'), rel('a'), { replace: 'file' })
    anchor.rename(rel('a'), rel('d/a'), { replace: 'file' })
    expect(readdirSync(inside)).not.toContain('a')
    expect(readFileSync(join(inside, 'd/a'), 'utf8')).toBe('a')
  })

  test('from one anchor to another', () => {
    const { anchor, outside } = setUp()
    const other = open(outside)
    onTestFinished(() => other.close())
    anchor.rename(rel('full'), rel('moved'), { anchor: other })
    expect(readFileSync(join(outside, 'moved/f'), 'utf8')).toBe('f')
    anchor.rename(rel('a'), rel('moved/f'), { anchor: other, replace: 'file' })
    expect(readFileSync(join(outside, 'moved/f'), 'utf8')).toBe('a')
    expect(refusal(() => anchor.rename(rel('b'), rel('moved/f'), { anchor: other }))).toEqual(
      exists('moved/f'),
    )
  })
})

const exists = (path: string): object => ({
  code: 'FILE_EXISTS',
  message: `cannot move ${path}: it already exists`,
})
