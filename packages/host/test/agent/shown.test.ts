import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CanonicalPath, parseRelPath } from '@cordon/policy'
import { describe, expect, test } from 'vitest'
import { showCall } from '../../src/agent/shown.ts'
import { openAmbientTextNow } from '../../src/agent/text-now.ts'

const PRICE = `export function total(price, tax) {
  // what a customer pays
  const sum = price - tax
  return sum
}
`

interface GivenEdit {
  readonly old: string
  readonly new: string
  readonly all?: boolean
}

const shown = (text: string | undefined, ...edits: readonly GivenEdit[]): readonly string[] | undefined =>
  showCall(
    'fs_modify_file',
    { edits: edits.map((edit) => ({ path: 'price.js', ...edit })) },
    { isOurs: true, textNow: () => text },
  ).changes[0]?.lines

describe('SPEC 6.5 what an edit would change', () => {
  test('is shown as whole lines of the file, with what is around them', () => {
    expect(shown(PRICE, { old: ' - ', new: ' + ' })).toEqual([
      '@@ -1,5 +1,5 @@',
      ' export function total(price, tax) {',
      '   // what a customer pays',
      '-  const sum = price - tax',
      '+  const sum = price + tax',
      '   return sum',
      ' }',
    ])
  })

  test('edits of one file are shown together, as one change', () => {
    const lines = shown(PRICE, { old: ' - ', new: ' + ' }, { old: 'price + tax', new: 'price + 2 * tax' })
    expect(lines?.filter((line) => /^[-+]/.test(line))).toEqual([
      '-  const sum = price - tax',
      '+  const sum = price + 2 * tax',
    ])
  })

  test('every occurrence is shown, and that it is every one', () => {
    const lines = shown(PRICE, { old: 'sum', new: 'all', all: true })
    expect([lines?.[0], ...(lines ?? []).filter((line) => line.startsWith('+'))]).toEqual([
      '(every occurrence)',
      '+  const all = price - tax',
      '+  return all',
    ])
  })

  test.each<[string, string | undefined, GivenEdit]>([
    ['the file cannot be read', undefined, { old: 'a', new: 'b' }],
    ['the old text is not there', PRICE, { old: 'nowhere', new: 'b' }],
    ['it is there twice', 'a a', { old: 'a', new: 'b' }],
  ])('where %s, by what the call says', (_, text, edit) => {
    expect(shown(text, edit)).toEqual([`-${edit.old}`, '+b'])
  })

  test('what would take the host too long, or too much memory, is not tried', () => {
    const long = 'a'.repeat(1_000_000)
    expect(shown(long, { old: `${'a'.repeat(500_000)}b`, new: 'c' })?.length).toBe(2)
    expect(shown(long, { old: 'a', new: long, all: true })?.length).toBe(3)
  })
})

test('the text is read in the workspace and in approved mounts, and by no other link', () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-shown-')))
  const root = join(dir, 'w') as CanonicalPath
  for (const name of ['w/src', 'fork', 'new']) mkdirSync(join(dir, name), { recursive: true })
  for (const name of ['w/src/a', 'fork/b', 'new/c', 'secret']) writeFileSync(join(dir, name), name)
  writeFileSync(join(root, 'binary'), Buffer.from([0xff, 0xfe, 0]))
  writeFileSync(join(root, 'large'), 'x'.repeat(2 ** 20 + 1))
  symlinkSync('../secret', join(root, 'link'))
  for (const name of ['fork', 'new']) symlinkSync(`../${name}`, join(root, name))
  const mount = (name: string, state: 'ok' | 'unapproved') => ({
    name: parseRelPath(name),
    target: join(dir, name) as CanonicalPath,
    tools: [],
    mode: 'ro' as const,
    state,
    reason: undefined,
  })
  const textNow = openAmbientTextNow(root, [mount('fork', 'ok'), mount('new', 'unapproved')])
  const read = [
    'src/a',
    './src/../src/a',
    'fork/b',
    'new/c',
    'link',
    '../secret',
    join(dir, 'secret'),
    'src',
    'binary',
    'large',
    'none',
  ]
  expect(read.filter((path) => textNow(path) !== undefined)).toEqual(['src/a', './src/../src/a', 'fork/b'])
  expect(textNow('fork/b')).toBe('fork/b')
})
