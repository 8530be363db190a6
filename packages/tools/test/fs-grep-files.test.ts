import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ToolResult } from '@cordon/tools'
import { type Call, failed, said, Workspace } from './support/workspace.ts'

/** Files and their matching lines, then the summary. */
const found = (files: Readonly<Record<string, readonly string[]>>, note: string) => ({
  type: 'success',
  content: [
    ...Object.entries(files).map(([name, lines]) => ({
      type: 'resource',
      resource: {
        uri: `file:///${name}#matches`,
        mimeType: 'text/plain',
        text: lines.map((line) => line.replace(/^(\d+)([:-])/, `${name}$2$1$2`)).join('\n'),
      },
    })),
    { type: 'text', text: note },
  ],
})

/** Both ways, which must answer the same: reading every file, and only what a first look names (decision 0071). */
async function grep(workspace: Workspace, args: object, call: Call = {}): Promise<ToolResult> {
  const plain = await workspace.run('fs_grep_files', args, call)
  const options = { ...call.options, confined: true }
  expect(await workspace.run('fs_grep_files', args, { ...call, options })).toEqual(plain)
  return plain
}

const FILES = { 'src/a.ts': 'one\nneedle here\nthree\n', 'src/b.ts': 'no newline needle', 'c.md': 'Needle\n' }

test('matching lines by file, with line numbers of the file', async () => {
  const workspace = new Workspace(FILES)
  expect(await grep(workspace, { pattern: 'needle' })).toEqual(
    found(
      { 'src/a.ts': ['2:needle here'], 'src/b.ts': ['1:no newline needle'] },
      '2 matching lines in 2 files; 3 files searched.',
    ),
  )
  expect(await grep(workspace, { pattern: 'n..dle', case: 'ignore', globs: ['*.md'] })).toEqual(
    found({ 'c.md': ['1:Needle'] }, '1 matching line in 1 file; 1 file searched.'),
  )
  expect(await grep(workspace, { pattern: 'needle', path: 'src/b.ts' })).toEqual(
    found({ 'src/b.ts': ['1:no newline needle'] }, '1 matching line in 1 file; 1 file searched.'),
  )
  expect(await grep(workspace, { pattern: 'nowhere' })).toEqual(
    said('0 matching lines in 0 files; 3 files searched.'),
  )
  expect(await grep(workspace, { pattern: 'e(', literal: true })).toEqual(
    said('0 matching lines in 0 files; 3 files searched.'),
  )
})

test('context stays in its file', async () => {
  const workspace = new Workspace({ a: '1\n2\nx\n', b: '1\n2\n3\n4\n5\n6\nx\n8\n', c: '1\n2\n' })
  expect(await grep(workspace, { pattern: '^x$', context: 2 })).toEqual(
    found(
      { a: ['1-1', '2-2', '3:x'], b: ['5-5', '6-6', '7:x', '8-8'] },
      '2 matching lines in 2 files; 3 files searched.',
    ),
  )
  expect(await grep(workspace, { pattern: 'x', before: 1 })).toEqual(
    found({ a: ['2-2', '3:x'], b: ['6-6', '7:x'] }, '2 matching lines in 2 files; 3 files searched.'),
  )
})

test('binary and UTF-16 files, content that is not UTF-8', async () => {
  const workspace = new Workspace({
    bin: Buffer.from('needle\0'),
    late: Buffer.concat([Buffer.alloc(10_000, 'needle\n'), Buffer.from([0])]),
    wide: Buffer.from('\ufeffa\nneedle ü\n', 'utf16le'),
    bom: '\ufeffneedle\n',
    latin1: Buffer.from('needle \xfc\n', 'latin1'),
  })
  expect(await grep(workspace, { pattern: '^needle' })).toEqual(
    found(
      { bom: ['1:needle'], latin1: ['1:needle \ufffd'], wide: ['2:needle ü'] },
      '3 matching lines in 3 files; 5 files searched. 2 binary files skipped.',
    ),
  )
})

test('SPEC 1.8 each path is checked and what policy hid is counted', async () => {
  const workspace = new Workspace({
    'a/x': 'needle',
    'secret/x': 'needle',
    'secret/public/y': 'needle',
    '.env': 'needle',
    b: 'needle',
  })
  const access = {
    fs: [{ path: '.', read: true }, { path: 'secret' }, { path: 'secret/public', read: true }, { path: 'b' }],
  }
  expect(await grep(workspace, { pattern: 'needle' }, { access })).toEqual(
    found(
      { 'a/x': ['1:needle'], 'secret/public/y': ['1:needle'] },
      '2 matching lines in 2 files; 2 files searched. 2 entries hidden by the access policy. 1 dotfile left out (hidden = true shows them).',
    ),
  )
  expect(await grep(workspace, { pattern: 'needle', path: 'b' }, { access })).toMatchObject({
    type: 'error',
  })
})

test('links are not followed, mounts are searched by their name', async () => {
  const workspace = new Workspace({ a: 'needle' })
  writeFileSync(join(workspace.outside, 'x'), 'needle')
  symlinkSync('/etc', join(workspace.outside, 'etc'))
  symlinkSync(workspace.outside, workspace.path('fork'))
  symlinkSync('a', workspace.path('again'))
  const rule = { path: 'fork', external: true, approved_target: workspace.outside, read: true }
  const access = { fs: [{ path: '.', read: true }, rule] }
  expect(await grep(workspace, { pattern: 'needle' }, { access })).toEqual(
    found(
      { a: ['1:needle'] },
      '1 matching line in 1 file; 1 file searched. Not entered: fork (a mount; name it as the path to look into it).',
    ),
  )
  expect(await grep(workspace, { pattern: 'needle', path: 'fork' }, { access })).toEqual(
    found({ 'fork/x': ['1:needle'] }, '1 matching line in 1 file; 1 file searched.'),
  )
})

test('invalid and catastrophic patterns, limits', async () => {
  const workspace = new Workspace({ a: `${'a'.repeat(100_000)}!\n`.repeat(3), b: 'x\n'.repeat(100) })
  expect(await grep(workspace, { pattern: 'a(' })).toMatchObject({
    type: 'error',
    message: expect.stringContaining('invalid pattern: regex parse error:') as string,
  })
  expect(await grep(workspace, { pattern: '(a+)+$' })).toEqual(
    said('0 matching lines in 0 files; 2 files searched.'),
  )
  expect(await grep(workspace, { pattern: 'x{1000}{1000}{1000}' })).toMatchObject({
    type: 'error',
  })
  expect(await grep(workspace, { pattern: 'a\nb' })).toEqual(
    failed('the pattern must be one line: it has a line break or a NUL'),
  )
  expect(await grep(workspace, { pattern: '' })).toEqual(failed('the pattern is empty'))
  expect(await grep(workspace, { pattern: '--files' })).toEqual(
    said('0 matching lines in 0 files; 2 files searched.'),
  )
  expect(await grep(workspace, { pattern: 'x', path: 'b', limit: 2 })).toEqual(
    found(
      { b: ['1:x', '2:x'] },
      '2 matching lines in 1 file; 1 file searched. Stopped after 2 matches; there may be more.',
    ),
  )
  const long = await grep(workspace, { pattern: '!' })
  expect(JSON.stringify(long).length).toBeLessThan(10_000)
})

test('a name with a line break cannot look like two, here and in a list', async () => {
  const workspace = new Workspace({ 'a\nb.ts': 'needle\n', 'say "hi"': 'needle\n' })
  const texts = async (tool: string, args: object): Promise<string[]> => {
    const result = await workspace.run(tool, args)
    if (result.type !== 'success') throw new Error('it failed')
    return result.content.flatMap((block) =>
      block.type === 'resource' && 'text' in block.resource ? [block.resource.text] : [],
    )
  }
  expect(await texts('fs_grep_files', { pattern: 'needle' })).toEqual([
    String.raw`"a\nb.ts":1:needle`,
    String.raw`"say \"hi\"":1:needle`,
  ])
  expect(await texts('fs_list_files', {})).toEqual([String.raw`"a\nb.ts"` + '\n' + String.raw`"say \"hi\""`])
})

test('SPEC 4.9 what the host says may be secret is not searched, and no answer depends on what is in it', async () => {
  const workspace = new Workspace({
    a: 'needle',
    '.env': 'needle',
    'd/.ENV.local': 'needle',
    'd/id_rsa/x': 'needle',
    'd/shut/.env/x': 'needle',
  })
  mkdirSync(join(workspace.outside, '.aws'))
  for (const name of ['.aws/credentials', 'x']) writeFileSync(join(workspace.outside, name), 'needle')
  symlinkSync(workspace.outside, workspace.path('fork'))
  const fork = { path: 'fork', external: true, approved_target: workspace.outside, read: true }
  const reopened = [{ path: 'd/shut' }, { path: 'd/shut/.env/x', read: true }]
  const access = { fs: [{ path: '.', read: true }, fork, ...reopened] }
  const options = { not_searched: ['**/.env*', 'id_rsa', join(workspace.outside, '.aws')] }
  const search = (args: object): Promise<ToolResult> =>
    grep(workspace, { hidden: true, ...args }, { access, options })
  const asked = '(a person is asked about a call that names it as its path).'
  const left =
    '1 entry hidden by the access policy. ' +
    'Not entered: fork (a mount; name it as the path to look into it). ' +
    `Not searched, because it may be secret: .env, d/.ENV.local, d/id_rsa, d/shut/.env/x ${asked}`
  expect(await search({ pattern: 'needle' })).toEqual(
    found({ a: ['1:needle'] }, `1 matching line in 1 file; 1 file searched. ${left}`),
  )
  expect(await search({ pattern: 'other', limit: 1 })).toEqual(
    said(`0 matching lines in 0 files; 1 file searched. ${left}`),
  )
  expect(await search({ pattern: 'needle', path: 'fork' })).toEqual(
    found(
      { 'fork/x': ['1:needle'] },
      `1 matching line in 1 file; 1 file searched. Not searched, because it may be secret: fork/.aws ${asked}`,
    ),
  )
  for (const path of ['.env', 'd/id_rsa', 'd/id_rsa/x', 'fork/.aws/credentials'])
    expect(await search({ pattern: 'needle', path })).toEqual(
      said(`Not searched, because it may be secret: ${path} ${asked}`),
    )
})
