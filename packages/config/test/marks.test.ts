import fc from 'fast-check'
import { parse, TomlError } from 'smol-toml'
import { expect, test } from 'vitest'
import { type Mark, markToml } from '../src/toml/marks.ts'
import { tomlDocument } from './random-toml.ts'

/** What the marks say is there: keys and list positions, and each value as its own text reads. */
function valuesByMarks(text: string, mark: Mark): unknown {
  if (mark.to > mark.from) return parse(`v = ${text.slice(mark.from, mark.to)}`)['v']
  if (mark.items) return mark.items.map((item) => valuesByMarks(text, item))
  return tableByMarks(text, mark)
}

const tableByMarks = (text: string, mark: Mark): unknown =>
  Object.fromEntries([...(mark.keys ?? [])].map(([key, inner]) => [key, valuesByMarks(text, inner)]))

/** The same, but by the marks inside of tables and lists in braces and brackets. */
function namesByMarks(mark: Mark): unknown {
  if (mark.items) return mark.items.map(namesByMarks)
  if (mark.keys) return Object.fromEntries([...mark.keys].map(([key, inner]) => [key, namesByMarks(inner)]))
  return mark.to > mark.from ? true : {} // a header with nothing below it
}

function namesOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(namesOf)
  if (typeof value !== 'object' || value === null || value instanceof Date) return true
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, namesOf(inner)]))
}

test('decision 0031: the marks agree with smol-toml about every key, element and value', () => {
  fc.assert(
    fc.property(tomlDocument, (text) => {
      const values = parse(text)
      const { root } = markToml(text)
      expect(tableByMarks(text, root)).toEqual(values)
      expect(namesByMarks(root)).toEqual(namesOf(values))
    }),
    { numRuns: 1500 },
  )
})

test('a mark points at the key, the element or the header', () => {
  const text = 'a = 1\n[b."c d"]\n  e.f = [ 1, { g = 2 } ]\n[[h]]\n[[h]]\ni = 3\n'
  const { root } = markToml(text)
  const at = (...path: (string | number)[]): string => {
    let mark: Mark | undefined = root
    for (const part of path) mark = typeof part === 'number' ? mark?.items?.[part] : mark?.keys?.get(part)
    return text.slice(mark?.at ?? text.length).split('\n')[0]!
  }
  expect(at('a')).toBe('a = 1')
  expect(at('b', 'c d')).toBe('[b."c d"]')
  expect(at('b', 'c d', 'e', 'f')).toBe('f = [ 1, { g = 2 } ]')
  expect(at('b', 'c d', 'e', 'f', 1, 'g')).toBe('g = 2 } ]')
  expect(at('h', 1)).toBe('[[h]]')
  expect(at('h', 1, 'i')).toBe('i = 3')
})

test('on text that is no TOML the walk ends, with nothing useful or with an error', () => {
  const alphabet = Array.from('[]{}"\'#=.,\\\n\r a1-')
  const junk = fc.string({ unit: fc.constantFrom(...alphabet), maxLength: 60 })
  fc.assert(
    fc.property(junk, (text) => {
      try {
        for (const { mark } of markToml(text).sections)
          for (const inner of mark.keys?.values() ?? []) void inner.keys
      } catch (error) {
        expect(error).toBeInstanceOf(TomlError)
      }
    }),
    { numRuns: 3000 },
  )
})
