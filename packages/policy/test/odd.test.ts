import { expect, test } from 'vitest'
import { escapeOdd, oddIn, showSigned, skeletonOf } from '../src/odd.ts'

const name = (text: string): string => escapeOdd(text, oddIn(text, 'name'))
const line = (text: string): string => escapeOdd(text, oddIn(text, 'line'))

test('blanks that nobody would see in a name are shown; those between two words stay', () => {
  expect(name('/w/report ')).toBe('/w/report\\u{20}')
  expect(name(' /w/a')).toBe('\\u{20}/w/a')
  expect(name('/w/a  b')).toBe('/w/a\\u{20}\\u{20}b')
  expect(name('/w/a / b')).toBe('/w/a\\u{20}/\\u{20}b')
  expect(name('/w/my report.txt')).toBe('/w/my report.txt')
})

test('of a line of a file, those at its end; its indentation and tabs are seen', () => {
  expect(line('+\t  two  words ')).toBe('+\t  two  words\\u{20}')
  expect(line(' ')).toBe(' ') // of a diff: an empty line that stays
  expect(line('+ ')).toBe('+\\u{20}')
  expect(name('a\tb')).toBe('a\\u{9}b')
})

test.each([
  ['another form of an ASCII letter', 'no\u217ces', 'no\\u{217c}es'],
  ['a ligature', '\ufb01le', '\\u{fb01}le'],
  ['of another width, or a mathematician’s', '\uff41\u{1d41b}', '\\u{ff41}\\u{1d41b}'],
  ['a Latin letter of phonetics', 'confi\u0261', 'confi\\u{261}'],
  ['without its dot', '\u0131nit', '\\u{131}nit'],
  ['a small capital', '\u1d00dmin', '\\u{1d00}dmin'],
  ['a click', 'a\u01c3', 'a\\u{1c3}'],
  ['a hyphen', 'a\u2010b\u2212c', 'a\\u{2010}b\\u{2212}c'],
  ['a slash', 'a\u2571b\u2044c\u2215d', 'a\\u{2571}b\\u{2044}c\\u{2215}d'],
  ['a colon', 'a\u02d0b\u2236c', 'a\\u{2d0}b\\u{2236}c'],
  ['a full stop', 'a\u2024b\ufe52c', 'a\\u{2024}b\\u{fe52}c'],
  ['all of it Cherokee', '\u13a0\u13cf', '\\u{13a0}\\u{13cf}'],
  ['all of it Lisu', '\ua4d0\ua4f2', '\\u{a4d0}\\u{a4f2}'],
  ['Coptic, Deseret', '\u2c9f\u{10404}', '\\u{2c9f}\\u{10404}'],
  ['Greek among Latin', '\u03c1aypal', '\\u{3c1}aypal'],
  ['all of it Armenian that reads as Latin', '\u0570\u0578', '\\u{570}\\u{578}'],
  ['all of it Cyrillic that reads as Latin', '\u04bb\u0435\u04cf\u0440', '\\u{4bb}\\u{435}\\u{4cf}\\u{440}'],
  ['one Armenian letter', '\u054d', '\\u{54d}'],
  ['a bar, a low line, a tilde', '\u2015rf a\u2017b x\u2053y', '\\u{2015}rf a\\u{2017}b x\\u{2053}y'],
])('what passes for something else is shown as what it is: %s', (_, text, shown) => {
  expect(name(text)).toBe(shown)
})

test.each([
  'café',
  'naïve.txt',
  'Straße',
  'Żółć',
  'smørrebrød',
  'Đà Nẵng',
  'привет',
  'Ελλάδα και',
  'हिन्दी',
  '日本語 ②',
  '한국어',
  'עברית',
  'العربية',
  'Հայերեն',
  'ქართული',
  'it’s – “so”…',
  '10 m² ½ ™',
])('what people write stays as it is: %s', (text) => {
  expect(name(text)).toBe(text)
})

test('in one line, what is odd is in quotes, so that nothing that was typed passes for it', () => {
  expect(showSigned('/w/report', 'name')).toBe('/w/report')
  expect(showSigned('/w/report ', 'name')).toBe('"/w/report\\u{20}"')
  expect(showSigned('/w/"a"', 'name')).toBe('"/w/\\"a\\""')
  expect(showSigned('/w/\\u{20} ', 'name')).toBe('"/w/\\\\u{20}\\u{20}"')
  expect(showSigned('+say "x"', 'line')).toBe('+say "x"')
})

test('two names that are read as the same have one skeleton; those of other people have their own', () => {
  for (const alike of ['Аda', 'Adа', 'Αda', 'Ａda']) expect(skeletonOf(alike)).toBe(skeletonOf('Ada'))
  expect(skeletonOf('Key 1')).toBe(skeletonOf('Key l'))
  expect(skeletonOf('cafe\u0301')).toBe(skeletonOf('café'))
  for (const usual of ['Işıl', 'Анна', 'Օլյա', 'Νίκος', '日本']) expect(skeletonOf(usual)).not.toBe(undefined)
  for (const [a, b] of [
    ['Ada', 'ada'],
    ['Анна', 'Anna'],
    ['café', 'cafe'],
    ['Key 2', 'Key 3'],
  ] as const)
    expect(skeletonOf(a)).not.toBe(skeletonOf(b))
  for (const odd of ['Ꭺda', 'Ada\u2c9f', 'confi\u0261', 'a\u2215b']) expect(skeletonOf(odd)).toBe(undefined)
})
