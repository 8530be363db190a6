import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MarkdownStream } from '../src/format/markdown.ts'
import { widthOf } from '../src/format/wrap.ts'

const styled = { style: (style: string, text: string): string => `<${style}>${text}</${style}>` }
const plain = { style: (_: string, text: string): string => text }

function render(pieces: readonly string[], width = 40, stream = styled): string {
  const markdown = new MarkdownStream(stream, () => width)
  return pieces.map((piece) => markdown.write(piece)).join('') + markdown.end()
}

describe('SPEC 6.5 Markdown as it streams', () => {
  test.each([
    ['plain words', 'plain words\n'],
    ['# Title\ntext', '<bold>Title</bold>\ntext\n'],
    ['a **bold** word', 'a <bold>bold</bold> word\n'],
    ['a `code` word', 'a <cyan>code</cyan> word\n'],
    ['an *emphasised* word and 2 * 3', 'an emphasised word and 2 * 3\n'],
    ['- one\n- two', '<cyan>• </cyan>one\n<cyan>• </cyan>two\n'],
    ['12. twelve', '<cyan>12. </cyan>twelve\n'],
    ['> said', '<dim>│ </dim><dim>said</dim>\n'],
    ['```ts\nconst a = 1 * 2\n```\nafter', '<dim>  ts\n</dim>  <cyan>const a = 1 * 2</cyan>\nafter\n'],
    ['| a | b |\nno table', '| a | b |\nno table\n'],
    ['*taken off*, and (*so*).', 'taken off, and (so).\n'],
    ['all *.ts and 2*3*4 and 2 ** 3', 'all *.ts and 2*3*4 and 2 ** 3\n'],
    ['an **open mark\nand after', 'an <bold>open</bold> <bold>mark</bold>\nand after\n'],
    ['#hashtag', '#hashtag\n'],
    ['`code` first', '<cyan>code</cyan> first\n'],
    ['```\n```js\n```', '  <cyan>```js</cyan>\n'],
    ['-dash', '-dash\n'],
    ['', ''],
    ['ended\n', 'ended\n'],
  ])('%j', (text, expected) => {
    expect(render([text])).toBe(expected)
  })

  test('is wrapped at the width, items below their text, wide characters counted twice', () => {
    expect(render(['- one two three four five six seven eight nine'], 24, plain)).toBe(
      '• one two three four\n  five six seven eight\n  nine\n',
    )
    expect(render(['你好你好你好 你好你好你好'], 20, plain)).toBe('你好你好你好\n你好你好你好\n')
  })

  test('a window that gets narrower counts from the next word on', () => {
    let width = 40
    const markdown = new MarkdownStream(plain, () => width)
    const before = markdown.write('one two three four five six ')
    width = 20
    expect(before + markdown.write('seven eight nine ten eleven') + markdown.end()).toBe(
      'one two three four five six\nseven eight nine ten\neleven\n',
    )
  })

  test('a table is aligned within the width, its cells wrapped', () => {
    const table =
      '| name | what it `does` | n |\n|:--|---|--:|\n| a\\|b | **one** thing | 7 |\n| 你好 | x | 12 |\n'
    expect(render([table, 'after'], 40, plain)).toBe(
      `name  what it does   n
────  ────────────  ──
a|b   one thing      7
你好  x             12
after
`,
    )
    expect(render(['| key | value |\n|-|-|\n| a | several words that are long |'], 24, plain)).toBe(
      `key  value
───  ───────────────────
a    several words that
     are long
`,
    )
  })

  test.each([
    ['a row', '| ' + 'x'.repeat(20_000)],
    ['rows', '| x |\n'.repeat(4001)],
  ])('a table that does not end is not held for ever: %s', (_, text) => {
    expect(new MarkdownStream(plain, () => 40).write(text)).not.toBe('')
  })

  test('a table with too many columns for the width is one line for each cell', () => {
    const table = '| aa | bb | cc | dd |\n|-|-|-|-|\n| 1 | 2 | 3 | 4 |\n| 5 | 6 |\n'
    expect(render([table], 20, plain)).toBe('aa: 1\nbb: 2\ncc: 3\ndd: 4\n\naa: 5\nbb: 6\ncc: \ndd: \n')
  })

  const row = (cell: string, columns: number): string => `|${`${cell}|`.repeat(columns)}\n`

  test.each([
    ['many columns, and rows without cells', row('x', 2500) + row('-', 2500) + '|\n'.repeat(9900)],
    ['more columns than anybody reads', row('x', 51) + row('-', 51) + row('1', 51)],
    ['more rows than anybody reads', row('x', 2) + row('-', 2) + '|\n'.repeat(1001)],
    ['long names, repeated for each row', row('x'.repeat(400), 20) + row('-', 20) + '|\n'.repeat(500)],
  ])('a table that is too large is printed as it was written: %s', (_, table) => {
    const drawn = render([table], 80, plain)
    expect(drawn.replaceAll('\n↳ ', '')).toBe(table)
    expect(drawn.split('\n').filter((each) => widthOf(each) > 80)).toEqual([])
  })

  test.each([20, 40, 100])('a table is drawn in a multiple of its length, at %i columns', (width) => {
    for (const columns of [1, 2, 6, 12, 13, 50])
      for (const name of ['x', 'x'.repeat(30), 'x'.repeat(300)])
        for (const cell of ['', 'y', 'y'.repeat(300), 'y '.repeat(150), '你'.repeat(300)])
          for (const rows of [1, 30, 1000]) {
            const table = row(name, columns) + row('-', columns) + `|${cell}\n`.repeat(rows)
            const drawn = render([table], width, plain)
            expect(drawn.length).toBeLessThan(20 * table.length + 2 * 50_000)
          }
  })

  test('is the same in whatever pieces it comes', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '**',
        '*',
        '`',
        '```',
        '\n',
        '# ',
        '- ',
        '> ',
        '1. ',
        ' ',
        '| ',
        '|-|-|\n',
        'word',
        '🙂',
        '         ',
        '~~~',
        'x'.repeat(45),
      ),
      fc.string({ maxLength: 5 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const text = pieces.join('')
        const letters = Array.from({ length: text.length }, (_, i) => text[i]!)
        expect(merged(render(letters))).toBe(merged(render([text])))
      }),
    )
  })

  test.each([
    ['one word', 'x'.repeat(200_000)],
    ['after a backtick', '`' + 'y'.repeat(200_000)],
    ['backticks alone', '`'.repeat(200_000)],
    ['spaces', ' '.repeat(200_000)],
    ['what looks like a fence', '```' + 'z'.repeat(200_000)],
    ['a line in a fence that begins like its end', '```\n```' + 'z'.repeat(200_000)],
    ['spaces in a fence', '```\n' + ' '.repeat(200_000)],
  ])('holds no more than a line, however long one is: %s', (_, text) => {
    const markdown = new MarkdownStream(plain, () => 80)
    let [given, shown] = [0, 0]
    for (const piece of text.match(/[^]{1,1000}/g)!) {
      given += piece.replaceAll(/[`\n]/g, '').length
      shown += markdown.write(piece).replaceAll(/[`\n]/g, '').length
      expect(given - shown).toBeLessThan(200)
    }
  })

  test('shows what it holds when a stream stalls, and goes on in the same word', () => {
    const markdown = new MarkdownStream(plain, () => 40)
    expect(markdown.write('it is hel')).toBe('it is')
    expect(markdown.settle()).toBe(' hel')
    expect(markdown.settle()).toBe('')
    expect(markdown.write('lo\n42')).toBe('lo\n')
    expect(markdown.settle()).toBe('42')
    expect(markdown.write(' is it') + markdown.end()).toBe(' is it\n')
    expect(markdown.write('```ts') + markdown.settle()).toBe('')
  })

  test('lets nothing of a model move the cursor, ring, or write the clipboard', () => {
    const hostile = '\u001b[2Jcleared \u001b]52;c;aGk=\u0007 \u009b31m \u202eback \u0007 end'
    const shown = render([hostile], 200, plain)
    expect(shown).not.toMatch(/[^\P{C}\n]/u)
    expect(shown).toContain('\\u{1b}[2Jcleared')
  })

  test('a long line of code goes on behind a sign, in whichever pieces it comes', () => {
    const code = `\`\`\`\n${'abcdefghij'.repeat(5)}\n\`\`\`\n`
    const drawn = `  ${'abcdefghij'.repeat(5).slice(0, 18)}\n↳ ${'abcdefghij'.repeat(5).slice(18, 36)}\n↳ ${'abcdefghij'.repeat(5).slice(36)}\n`
    expect(render([code], 20, plain)).toBe(drawn)
    expect(render(Array.from(code), 20, plain)).toBe(drawn)
    expect(render([`    ${'x'.repeat(40)}\n`], 20, plain)).toBe(
      `    ${'x'.repeat(16)}\n↳ ${'x'.repeat(18)}\n↳ ${'x'.repeat(6)}\n`,
    )
  })

  test.each([4, 8, 12, 19])('no row is wider than %i columns', (width) => {
    const text = [
      'Some words, and https://example.com/a/very/long/address and more.',
      '- an item that goes on',
      '        - a deep one that goes on',
      '> a quote that goes on, and averyveryverylongword',
      '# a heading of some words',
      '```a-very-long-label-of-a-fence',
      'const answer = 42',
      '```',
      '| name | a longer one |\n|---|---|\n| x | averyveryverylongword 你好 |',
      '你好你好你好你好你好你好你好',
    ].join('\n')
    for (const pieces of [[text], Array.from(text)])
      expect(
        render(pieces, width, plain)
          .split('\n')
          .filter((each) => widthOf(each) > width),
      ).toEqual([])
  })

  test('no letter carries more than four marks, in whichever pieces they come', () => {
    const pile = `a${'\u0301'.repeat(20_000)} x${'\ufe0f'.repeat(20_000)}`
    for (const pieces of [[pile], pile.match(/[^]{1,7}/g)!])
      expect(render(pieces, 80, plain)).not.toMatch(/\p{M}{5}/u)
  })
})

/** Two pieces of one style are one. */
const merged = (text: string): string => {
  const once = text.replaceAll(/<\/(\w+)><\1>/g, '')
  return once === text ? text : merged(once)
}
