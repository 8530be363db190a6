import { existsSync, readdirSync, readFileSync, statSync, chmodSync, symlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { failed, said, Workspace } from './support/workspace.ts'

const diff = (header: string, ...lines: string[]) => ['--- a', '+++ a', header, ...lines].join('\n')

const DIFF = [
  'diff --git a/src/a b/src/a',
  '--- a/src/a',
  '+++ b/src/a\t2026-01-01',
  '@@ -1,3 +1,4 @@',
  ' 1',
  '-2',
  '+two',
  '+2.5',
  ' 3',
  '@@ -8,2 +9,1 @@ here',
  ' 8',
  '-9',
  '--- a/b',
  '+++ b/b',
  '@@ -1,2 +1,2 @@',
  ' x',
  '-y',
  '\\ No newline at end of file',
  '+z',
  '',
].join('\n')

const edit = (path: string) => ({ path, old: 'x', new: 'y' })

const modify = (workspace: Workspace, ...edits: object[]) => workspace.run('fs_modify_file', { edits })
const content = (workspace: Workspace, path: string) => readFileSync(workspace.path(path), 'utf8')

test('an exact replacement, once or everywhere, several in one file', async () => {
  const workspace = new Workspace({ a: 'one two\none $& three\n', 'd/b': 'x\r\ny' })
  chmodSync(workspace.path('a'), 0o750)
  expect(await modify(workspace, { path: 'a', old: 'two', new: '2\n$&' })).toEqual(
    said('changed a (+1 line)'),
  )
  expect(content(workspace, 'a')).toBe('one 2\n$&\none $& three\n')
  expect(
    await modify(
      workspace,
      { path: 'a', old: 'one', new: '1', all: true },
      { path: './a', old: '1 2', new: '12' },
      { path: 'd/b', old: 'x\r\n', new: '' },
    ),
  ).toEqual(said('changed a (same number of lines)\nchanged d/b (-1 lines)'))
  expect(content(workspace, 'a')).toBe('12\n$&\n1 $& three\n')
  expect(content(workspace, 'd/b')).toBe('y')
  expect(statSync(workspace.path('a')).mode & 0o777).toBe(0o750)
  expect(await modify(workspace, { path: 'a', old: '12', new: '12' })).toEqual(
    said('a is as it was: the new text is the old text'),
  )
})

test('what does not fit says what would help, and nothing is changed anywhere', async () => {
  const workspace = new Workspace({
    a: 'if (x) {\n\treturn 1\n}\nx\nx\n',
    b: 'b',
    bin: new Uint8Array([0, 1]),
  })
  const good = { path: 'b', old: 'b', new: 'c' }
  expect(await modify(workspace, good, { path: 'a', old: 'if (x) {\n  return 1', new: '' })).toEqual(
    failed('a: the old text is not in the file; line 1 has it with other whitespace'),
  )
  expect(await modify(workspace, good, { path: 'a', old: 'y', new: '' })).toEqual(
    failed('a: the old text is not in the file'),
  )
  expect(await modify(workspace, good, { path: 'a', old: 'x\n', new: '' })).toEqual(
    failed(
      'a: the old text is in the file 2 times (lines 4, 5); repeat more of its surroundings, or set all',
    ),
  )
  expect(await modify(workspace, good, { path: 'a', old: '', new: 'x' })).toEqual(
    failed('a: old is empty; to insert, repeat the text beside the new text'),
  )
  expect(await modify(workspace, good, { path: 'bin', old: 'x', new: '' })).toEqual(
    failed('bin is not UTF-8 text, so it cannot be changed as text'),
  )
  expect(await modify(workspace, good, { path: 'none', old: 'x', new: '' })).toEqual(
    failed('cannot open none: it does not exist'),
  )
  expect(content(workspace, 'b')).toBe('b')
  expect(await workspace.run('fs_modify_file', {})).toEqual(failed('give either edits or diff'))
  expect(await workspace.run('fs_modify_file', { edits: [] })).toEqual(
    failed('invalid arguments: edits: must have at least 1 item'),
  )
  expect(readdirSync(workspace.root).sort()).toEqual(['a', 'b', 'bin'])
})

test('a unified diff of several files', async () => {
  const workspace = new Workspace({ 'src/a': '1\n2\n3\n4\n5\n6\n7\n8\n9\n', b: 'x\ny' })
  expect(await workspace.run('fs_modify_file', { diff: DIFF })).toEqual(
    said('changed b (+1 line)\nchanged src/a (same number of lines)'),
  )
  expect(content(workspace, 'src/a')).toBe('1\ntwo\n2.5\n3\n4\n5\n6\n7\n8\n')
  expect(content(workspace, 'b')).toBe('x\nz\n')
})

test('a hunk at a wrong line goes to the only place that fits, or nowhere', async () => {
  const workspace = new Workspace({ a: 'p\nq\nr\nx\nx\n' })
  const apply = (text: string) => workspace.run('fs_modify_file', { diff: text })
  expect(await apply(diff('@@ -40,2 +40,2 @@', ' q', '-r', '+R'))).toEqual(
    said('changed a (same number of lines)'),
  )
  expect(content(workspace, 'a')).toBe('p\nq\nR\nx\nx\n')
  expect(await apply(diff('@@ -1,1 +1,1 @@', '-x', '+y'))).toEqual(
    failed('a: the hunk @@ -1,1 +1,1 @@ fits in 2 places, none of them at the stated line'),
  )
  expect(await apply(diff('@@ -1,2 +1,2 @@', ' p', '-nope', '+y'))).toEqual(
    failed('a: the hunk @@ -1,2 +1,2 @@ does not fit: its context and removed lines are not in the file'),
  )
  expect(await apply(diff('@@ -9,0 +9,1 @@', '+y'))).toEqual(
    failed('a: the hunk @@ -9,0 +9,1 @@ inserts at a line that is not there'),
  )
  expect(await apply(diff('@@ -1,3 +1,2 @@', ' p', '-q'))).toEqual(
    failed('invalid diff: the hunk @@ -1,3 +1,2 @@ does not have the lines that its header counts'),
  )
  expect(await apply(diff('@@ nonsense @@'))).toEqual(
    failed('invalid diff: @@ nonsense @@ is not a hunk header'),
  )
  expect(await apply('')).toEqual(failed('invalid diff: there are no --- and +++ lines in it'))
  expect(await apply('--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x')).toEqual(
    failed('invalid diff: it makes b/n; use fs_create_file'),
  )
  expect(await apply('--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x')).toEqual(
    failed('invalid diff: it removes a/n; use fs_delete_file'),
  )
  expect(await apply('--- a/n\n+++ b/m\n@@ -1 +1 @@\n-x\n+y')).toEqual(
    failed('invalid diff: it renames n to m; use fs_move_file'),
  )
})

test('everything in a diff is applied, or nothing (decision 0380)', async () => {
  const workspace = new Workspace({ a: 'p\nq\nr\n', open: 'p\nq' })
  const apply = (text: string) => workspace.run('fs_modify_file', { diff: text })
  const outside = (line: string, why: string) =>
    failed(
      `invalid diff: the line ${line} would not be applied: ${why}; a diff is --- and +++ lines and complete hunks, without text around them`,
    )
  const NO_HUNK = 'it is in no hunk: the counts of the header before it end there'
  const HUNK = ['@@ -2,1 +2,1 @@', '-q', '+Q'] as const
  const END = '\\ No newline at end of file'
  expect(await apply(diff(...HUNK, '--- q moves down', '+q'))).toEqual(
    outside('--- q moves down', 'no line with +++ follows it'),
  )
  expect(await apply(diff(...HUNK, '', 'reviewed'))).toEqual(outside('reviewed', NO_HUNK))
  expect(await apply(`Reviewed.\n${diff(...HUNK)}`)).toEqual(outside('Reviewed.', NO_HUNK))
  expect(await apply(diff(...HUNK, '', '+q'))).toEqual(outside('+q', NO_HUNK))
  expect(await apply(diff(...HUNK, END))).toEqual(
    failed(
      'a: the hunk @@ -2,1 +2,1 @@ ends with a line that is marked as the end of the file, and the file goes on; leave the line with the backslash out',
    ),
  )
  expect(await apply(diff('@@ -2,2 +2,2 @@', '-q', '+Q', END, ' r'))).toEqual(
    failed(
      'invalid diff: in the hunk @@ -2,2 +2,2 @@ a line follows one that is marked as the end of the file; leave the line with the backslash out',
    ),
  )
  for (const lines of [
    [END, '-q', '+Q'],
    ['-q', '+Q', END, END],
  ])
    expect(await apply(diff(HUNK[0], ...lines))).toEqual(
      failed('invalid diff: the hunk @@ -2,1 +2,1 @@ does not have the lines that its header counts'),
    )
  const toOpen = (text: string) => apply(text.replace('--- a\n+++ a\n', '--- open\n+++ open\n'))
  expect(await toOpen(diff('@@ -2,0 +3,1 @@', '+r'))).toEqual(
    failed(
      'open: the hunk @@ -2,0 +3,1 @@ inserts after a last line that has no line break; remove that line, marked by a line with a backslash, and add it again',
    ),
  )
  expect([content(workspace, 'a'), content(workspace, 'open')]).toEqual(['p\nq\nr\n', 'p\nq'])
  expect(await toOpen(diff('@@ -2,1 +2,2 @@', '-q', END, '+q', '+r', END))).toEqual(
    said('changed open (+1 line)'),
  )
  expect(content(workspace, 'open')).toBe('p\nq\nr')
})

test('SPEC 1.8 update on every target, or none is changed', async () => {
  const workspace = new Workspace({ 'src/a': 'x', 'lib/b': 'x' })
  symlinkSync('../lib/b', workspace.path('src/alias'))
  const access = {
    fs: [
      { path: '.', read: true },
      { path: 'src', update: true },
    ],
  }
  for (const [path, called] of [
    ['lib/b', 'lib/b'],
    ['src/alias', 'src/alias → lib/b'],
  ] as const)
    expect(
      await workspace.run('fs_modify_file', { edits: [edit('src/a'), edit(path)] }, { access }),
    ).toMatchObject({
      type: 'error',
      message: expect.stringContaining(`access denied: update on ${called}\n`) as string,
    })
  expect([content(workspace, 'src/a'), content(workspace, 'lib/b')]).toEqual(['x', 'x'])
  expect(await workspace.run('fs_modify_file', { edits: [edit('src/a')] }, { access })).toEqual(
    said('changed src/a (same number of lines)'),
  )
  expect(existsSync(workspace.path('.cordon-modify-journal'))).toBe(false)
})
