import { expect, test } from 'vitest'
import { parseStarter } from '../src/starters.ts'

test('SPEC 7.4 a starter with its parameters', () => {
  expect(parseStarter('filesystem:extension-filter,extensions=.ts+.md,applies=writes')).toEqual({
    name: 'filesystem:extension-filter',
    extensions: ['.ts', '.md'],
    applies: 'writes',
  })
})

/** Whoever mistypes a restriction must not end up with a weaker one. */
test.each([
  ...['al', 'All', 'reads', '', 'all '].map((value) => [
    `filesystem:extension-filter,extensions=.ts,applies=${value}`,
    `filesystem:extension-filter: applies is all or writes, not ${JSON.stringify(value)}`,
  ]),
  ['filesystem:subdir-read,prefix=/a,prefix=/b', 'filesystem:subdir-read: prefix is given twice'],
  [
    'filesystem:extension-filter,extensions=.ts,extensions=.md',
    'filesystem:extension-filter: extensions is given twice; several are one: extensions=.ts+.md',
  ],
  [
    'filesystem:subdir-read,prefix=/a,from=/b',
    'filesystem:subdir-read has no parameter from; it has: prefix',
  ],
  ['filesystem:read-only,prefix=/a', 'filesystem:read-only has no parameter prefix; it has none'],
])('refused: %s', (text, message) => {
  expect(() => parseStarter(text)).toThrow(expect.objectContaining({ code: 'USAGE', message }))
})
