import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { isNews, noteDirectories, notedDirectories, wasNoted } from '@cordon/workspace'
import { type CanonicalPath } from '@cordon/policy'
import { expect, test } from 'vitest'
import { around, tempDir } from './fixture.ts'

const WHAT = 'work'

interface Noted {
  readonly dir: (name: string) => string
  readonly note: (names: readonly string[]) => 'kept' | 'not-all'
  readonly known: () => readonly string[]
  readonly file: () => string
}

/** Directories of one place, and what is remembered of them. */
function noted(): Noted {
  const base = tempDir()
  const root = base as CanonicalPath
  const dir = (name: string): string => {
    mkdirSync(join(base, name), { recursive: true })
    return join(base, name)
  }
  const said = join(base, 'data/cordon/workspace/.said')
  return {
    dir,
    note: (names) =>
      noteDirectories(
        WHAT,
        root,
        names.map((name) => join(base, name)),
        around(base),
      ),
    known: () => notedDirectories(WHAT, root, around(base)).map((path) => path.slice(base.length + 1)),
    file: () =>
      join(
        said,
        readdirSync(said).find((name) => name.startsWith(WHAT))!,
      ),
  }
}

test('a line that a full disk cut off is passed over, and nothing is glued to it', () => {
  const { note, known, file } = noted()
  note(['a', 'b'])
  truncateSync(file(), readFileSync(file()).length - 3)
  expect(known()).toEqual(['a'])
  expect(note(['c'])).toBe('kept')
  expect(known()).toEqual(['a', 'c'])
  expect(note(['b'])).toBe('kept')
  expect(known()).toEqual(['a', 'c', 'b'])
})

test('lines that were glued, or are no text, are passed over', () => {
  const { note, known, file } = noted()
  note(['a', 'b'])
  const text = readFileSync(file(), 'utf8')
  truncateSync(file(), text.length - 3)
  const base = tempDir()
  const root = base as CanonicalPath
  isNews('said', root, around(base))
  const said = join(base, 'data/cordon/workspace/.said')
  const other = join(said, readdirSync(said)[0]!)
  truncateSync(other, readFileSync(other).length - 1)
  expect(isNews('said', root, around(base))).toBe(true) // a line that does not end may be a part of one
  expect(isNews('said', root, around(base))).toBe(false)
  expect(wasNoted('said', root, around(base))).toBe(true)
  expect(known()).toEqual(['a'])
})

test('what is gone makes room, and what finds none is said', () => {
  const { dir, note, known, file } = noted()
  const names = (from: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, n) => `${from}/${n}`)
  for (const name of ['first', 'late', ...names('x', 4999)]) dir(name)
  expect(note(['first', ...names('x', 4999)])).toBe('kept')
  expect(known()).toHaveLength(5000)
  expect(note(['late'])).toBe('not-all')
  expect(note(['first'])).toBe('kept')
  rmSync(dir('x'), { recursive: true })
  expect(note(['late'])).toBe('kept')
  expect(known()).toEqual(['first', 'late'])
  expect(readdirSync(join(file(), '..'))).toHaveLength(1)
  expect(note(names('y', 4999))).toBe('not-all')
  expect(known()).toHaveLength(5000)
})
