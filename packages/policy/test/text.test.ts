import { jsonText, show, visible } from '@cordon/policy'
import { expect, test } from 'vitest'

test('SPEC 6.5 what cannot be seen in a name cannot be seen in a text either', () => {
  const points = [...Array(0x1_0000).keys(), ...Array.from({ length: 0x1000 }, (_, i) => 0xe_0000 + i)]
  const differ = points
    .map((point) => String.fromCodePoint(point))
    .filter((c) => (visible(c) === c) !== (show(c) === c))
  expect(differ).toEqual(['\t', '\n', '"'])
})

test('SPEC 6.5 a text of several lines stays as it is, and what hides in it is written out', () => {
  expect(visible('a\tb\n"你好" é\r\n')).toBe('a\tb\n"你好" é\\u{d}\n')
  expect(visible('ok\u{e0172}\u3164 = 1\u115f\u2800\u034f\u00a0\ufe0f\u200b\u2028\u001b[2J')).toBe(
    'ok\\u{e0172}\\u{3164} = 1\\u{115f}\\u{2800}\\u{34f}\\u{a0}\\u{fe0f}\\u{200b}\\u{2028}\\u{1b}[2J',
  )
})

test('a mark stands over the letter it belongs to, or is named', () => {
  for (const word of ['e\u0301te', 'हिन्दी', 'tiếng', 'ภาษาที่'])
    expect([show(word), visible(word)]).toEqual([word, word])
  expect(visible('\u20d2 - removed')).toBe('\\u{20d2} - removed')
  expect(visible('a\n\u20d2b')).toBe('a\n\\u{20d2}b')
  expect(show('-\u0336x')).toBe('"-\\u{336}x"')
  expect(visible(`a${'\u0301'.repeat(6)}`)).toBe(`a${'\u0301'.repeat(4)}\\u{301}\\u{301}`)
})

test('SPEC 6.5 JSON is the same data, in letters that any terminal can be shown', () => {
  const value = {
    'k\u202e': ['\u009b2J\u007f\u0085', 'a\nb\t"é 你', '\u200b\u2066\ufeff\u{e0001}\ud800', 1, null],
  }
  for (const indent of [undefined, 2]) {
    expect(JSON.parse(jsonText(value, indent))).toEqual(value)
    expect(jsonText(value, indent)).toMatch(/^[\n -~é你]+$/)
  }
  expect(jsonText('\u009b\u{e0001}')).toBe('"\\u009b\\udb40\\udc01"')
})
