import { expect, test } from 'vitest'
import { escapeOdd, oddIn, readsAsWritten, showSigned, skeletonOf } from '../src/odd.ts'

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
  ['a digit’s look-alike among digits', 'report-202\u0417', 'report-202\\u{417}'],
  ['another one', 'report-202\u04e0', 'report-202\\u{4e0}'],
  ['alone beside Latin', '\u0431.log Ada \u0417', '\\u{431}.log Ada \\u{417}'],
  ['beside a digit', '1\u0431 2\u05d0', '1\\u{431} 2\\u{5d0}'],
  ['Bengali four', 'v\u09ea.txt', 'v\\u{9ea}.txt'],
  ['noughts', '2\u0966\u07c0\u066023 \u0665', '2\\u{966}\\u{7c0}\\u{660}23 \\u{665}'],
  ['Myanmar among Latin', 'passw\u101drd', 'passw\\u{101d}rd'],
  ['Malayalam, Oriya', 'c\u0d20nfig c\u0b20nfig', 'c\\u{d20}nfig c\\u{b20}nfig'],
  ['one letter of them alone', 'Ada \u101d', 'Ada \\u{101d}'],
  ['a Hebrew letter as a bar', '\u05d5', '\\u{5d5}'],
  ['all of it Greek', '\u03f2\u03bf\u03c1\u03c5', '\\u{3f2}\\u{3bf}\\u{3c1}\\u{3c5}'],
  ['Greek among Cyrillic', '\u0391\u043d\u043d\u0430', '\\u{391}\\u{43d}\\u{43d}\\u{430}'],
  ['Katakana as a slash', 'etc\u30cepasswd', 'etc\\u{30ce}passwd'],
  ['Han as a slash', 'src\u4e3fmain', 'src\\u{4e3f}main'],
  ['Han as a hyphen', 'a\u4e00b a\u4e00\u4e00b', 'a\\u{4e00}b a\\u{4e00}\\u{4e00}b'],
  ['Hangul as a bar', 'l\u3163b', 'l\\u{3163}b'],
  ['a line of a box', 'a\u2500b', 'a\\u{2500}b'],
  ['a dash that joins', 'a\u2013b', 'a\\u{2013}b'],
  ['a small one', 'a\ufe58b', 'a\\u{fe58}b'],
  ['Arabic and Syriac marks', 'a\u066bb a\u0701b a\u0702b', 'a\\u{66b}b a\\u{701}b a\\u{702}b'],
  ['two dots', 'a\u205ab', 'a\\u{205a}b'],
  ['with a stress', '\u0441\u043e\u0301\u0440', '\\u{441}\\u{43e}\\u{301}\\u{440}'],
  ['a mark that is drawn as a slash', 'etc\u0338passwd a\u0337b', 'etc\\u{338}passwd a\\u{337}b'],
  ['as a hyphen, a low line', 'a\u0335b a\u0332b', 'a\\u{335}b a\\u{332}b'],
  ['marks of other scripts beside Latin', 'passw\u0d02rd a\u0903b', 'passw\\u{d02}rd a\\u{903}b'],
  ['a full stop of India, a stroke', 'etc\u0964passwd a\u0640b', 'etc\\u{964}passwd a\\u{640}b'],
  ['one letter twice', 'v1.\u101d\u101d', 'v1.\\u{101d}\\u{101d}'],
  ['Hiragana as a three', 'report-202\u308d', 'report-202\\u{308d}'],
  ['a note without a head', 'a\u{1d159}', 'a\\u{1d159}'],
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
  'отчёт 2024',
  'отчёт2024.txt',
  'Война и мир',
  'глава-2',
  '資料 v2',
  '資料.pdf',
  'レポート2024',
  'サーバー2',
  '2024年3月',
  'Tシャツ',
  'AIモデル',
  '第1章',
  '보고서 2024',
  'דוח 2024',
  'تقرير.pdf',
  'हिन्दी की रिपोर्ट 2',
  'རྒྱ་གར',
  'база',
  'обзор без образа за час',
  'ОТЧЕТ.docx',
  '3я глава',
  'GitとGitHub.md',
  'Vue和React对比.md',
  'مدارس و بيوت',
])('what people write stays as it is: %s', (text) => {
  expect(name(text)).toBe(text)
})

test('of a line in Chinese its full stops stay; of a name they do not', () => {
  expect(line('+你好，世界。')).toBe('+你好，世界。')
  expect(name('你好，世界')).toBe('你好\\u{ff0c}世界')
  expect(line('+a，b')).toBe('+a\\u{ff0c}b')
})

test('in one line, what is odd is in quotes, so that nothing that was typed passes for it', () => {
  expect(showSigned('/w/report', 'name')).toBe('/w/report')
  expect(showSigned('/w/report ', 'name')).toBe('"/w/report\\u{20}"')
  expect(showSigned('/w/"a"', 'name')).toBe('"/w/\\"a\\""')
  expect(showSigned('/w/\\u{20} ', 'name')).toBe('"/w/\\\\u{20}\\u{20}"')
  expect(showSigned('+say "x"', 'line')).toBe('+say "x"')
})

test('in one line, letters that a terminal could draw from the right are shown, too', () => {
  expect(showSigned('/w/\u05d0\u05d1/2024', 'name')).toBe('"/w/\\u{5d0}\\u{5d1}/2024"')
  expect(showSigned('+\u0639 = 1', 'line')).toBe('"+\\u{639} = 1"')
})

test('two names that are read as the same have one skeleton; those of other people have their own', () => {
  for (const alike of ['Аda', 'Adа', 'Αda', 'Ａda']) expect(skeletonOf(alike)).toBe(skeletonOf('Ada'))
  expect(skeletonOf('Key 1')).toBe(skeletonOf('Key l'))
  for (const [one, other] of [
    ['Ada 3', 'Ada З'],
    ['Ada 6', 'Ada б'],
    ['laptop-3', 'laptop-З'],
  ] as const)
    expect(skeletonOf(one)).toBe(skeletonOf(other))
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

test('a name that reads as it is written has nothing odd, and letters of one direction', () => {
  for (const good of ['Ada’s laptop', 'Işıl', 'Анна 2', 'Օլյա', 'Νίκος', '日本', 'דוד', 'Ada 3'])
    expect([good, readsAsWritten(good)]).toEqual([good, true])
  for (const bad of ['Ada З', 'Ada б', 'Ada ०', 'laptop-З', 'key 1 א', 'key אב 1', 'Adа', 'Ada\u200b'])
    expect([bad, readsAsWritten(bad)]).toEqual([bad, false])
})
