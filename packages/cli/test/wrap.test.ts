import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cut, widthOf, wrap } from '../src/format/wrap.ts'

describe('SPEC 6.5 lines within the width', () => {
  test.each([
    ['one two three', 7, ['one two', 'three']],
    ['one twothreefour five', 5, ['one', 'twoth', 'reefo', 'ur', 'five']],
    ['a  b   c', 4, ['a  b', '   c']],
    ['你好你好', 5, ['你好', '你好']],
    ['你好', 1, ['你', '好']],
    ['✅✅✅', 4, ['✅✅', '✅']],
    ['e\u0301e\u0301', 1, ['e\u0301', 'e\u0301']],
    ['का का', 2, ['का', 'का']],
    ['', 10, ['']],
  ])('%j in %i columns', (text, width, lines) => {
    expect(wrap(text, width)).toEqual(lines)
  })

  test('a word with a colour of ours is not cut', () => {
    expect(wrap('\u001b[31mtwelvetwelve\u001b[39m x', 6)).toEqual(['\u001b[31mtwelvetwelve\u001b[39m', 'x'])
  })

  test('nothing is lost, and no line is too wide', () => {
    const text = fc.stringMatching(/^[\u0301ae你✅ ]{0,60}$/u)
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 20 }), (given, width) => {
        const lines = wrap(given, width)
        expect(lines.join('').replaceAll(' ', '')).toBe(given.replaceAll(' ', ''))
        expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(width)
        expect(cut(given, width).join('')).toBe(given)
      }),
    )
  })

  test.each([
    ['one word', 'a'.repeat(900_000)],
    ['many words', 'a '.repeat(450_000)],
    ['wide characters', '你'.repeat(300_000)],
  ])('costs what the text is long: %s of a megabyte', { timeout: 30_000 }, (_, text) => {
    const lines = wrap(text, 80)
    expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
  })
})
