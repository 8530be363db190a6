import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { runTool, TOOLS } from '@cordon/tools'
import { expect, test } from 'vitest'
import { failed, said, showed, Workspace } from './support/workspace.ts'

const start = (input: string, ...args: string[]) => {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--conditions=cordon-source', MAIN, ...args],
    { input },
  )
  return { output: JSON.parse(stdout.toString('utf8')) as unknown, stderr: stderr.toString('utf8'), status }
}

const invalid = (message: string) => failed(`invalid tool call: ${message}`)

const MAIN = join(import.meta.dirname, '../src/main.ts')
const EXAMPLES: Readonly<Record<string, object>> = {
  fs_read_file: { path: 'a', head: 3 },
  fs_list_files: { path: 'src', globs: ['*.ts'] },
  fs_grep_files: { pattern: 'x+' },
  fs_create_file: { path: 'new', content: 'hi' },
  fs_modify_file: {
    edits: [
      { path: 'a', old: 'x', new: 'y' },
      { path: 'b', old: 'x', new: 'y' },
    ],
  },
  fs_delete_file: { path: 'a' },
  fs_move_file: { from: 'a', to: 'b' },
  unix_utils: { util: 'wc', args: ['-l', 'a'] },
}

test('SPEC 1.9 format_arguments says what would be done and touches nothing', async () => {
  const workspace = new Workspace({ a: 'x' })
  const described = await Promise.all(
    TOOLS.map(async ({ name }) =>
      workspace.run(name, EXAMPLES[name], { action: 'format_arguments', access: { fs: [{ path: 'none' }] } }),
    ),
  )
  expect(described).toEqual(
    [
      'read a, first 3 lines',
      'list src, only *.ts',
      'search . for x+',
      'create new (2 bytes)',
      'change a, b',
      'delete a',
      'move a to b',
      'run wc -l a',
    ].map((line) => said(line)),
  )
  expect(execFileSync('ls', [workspace.root]).toString('utf8')).toBe('a\n')
})

test('the program: one JSON object, exit code 0 or 1', () => {
  const workspace = new Workspace({ a: 'x' })
  const context = { root: workspace.root, action: 'run' }
  expect(
    start(JSON.stringify({ context, tool: { name: 'fs_read_file', arguments: { path: 'a' } } })),
  ).toEqual({
    output: showed('file:///a', 'x'),
    stderr: '',
    status: 0,
  })
  expect(start(JSON.stringify({ context, tool: { arguments: { path: 'b' } } }), 'fs_read_file')).toEqual({
    output: failed('cannot open b: it does not exist'),
    stderr: '',
    status: 1,
  })
})

test('junk on standard input is a typed error', async () => {
  expect(await runTool(undefined, '')).toEqual(invalid('standard input is not JSON'))
  expect(await runTool(undefined, '['.repeat(1_000_000))).toEqual(invalid('standard input is not JSON'))
  expect(await runTool(undefined, '{}')).toEqual(
    invalid('expected an object with context and tool on standard input'),
  )
  expect(await runTool('rm', '{"tool":{}}')).toEqual(
    failed(`no tool is called "rm"; there are ${TOOLS.map(({ name }) => name).join(', ')}`),
  )
  expect(await runTool('fs_read_file', '{"tool":{}}')).toMatchObject({
    type: 'error',
    message: expect.stringMatching(/^invalid context: /) as string,
  })
  const root = JSON.stringify({
    context: { root: '/nonexistent-root', action: 'run' },
    tool: { arguments: { path: 'a' } },
  })
  expect(await runTool('fs_read_file', root)).toEqual(
    failed('cannot resolve path: /nonexistent-root (ENOENT)'),
  )
})

test('any arguments at all get an answer, never a throw or an internal error', async () => {
  const workspace = new Workspace({ a: 'x', 'd/b': 'y' })
  const names = [...new Set(TOOLS.flatMap(({ parameters }) => Object.keys(parameters.properties)))]
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom('a', 'd', 'd/b', '..', '/etc/passwd', '\0', '.', 'x'.repeat(10_000), -1, 2 ** 60, true),
  )
  const anyArgs = fc.dictionary(fc.constantFrom(...names), value)
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...TOOLS.map(({ name }) => name)), anyArgs, async (name, args) => {
      const result = await workspace.run(name, args, {
        access: { fs: [{ path: '.', read: true }, { path: 'd' }] },
      })
      expect(JSON.stringify(result)).not.toMatch(/internal error|etc\/passwd:|root:x:/)
    }),
    { numRuns: 300 },
  )
})

test('every tool publishes a schema with a description for each argument', () => {
  for (const { name, description, parameters } of TOOLS) {
    expect(name).toMatch(/^[a-z_]+$/)
    expect(description).not.toBe('')
    expect(JSON.parse(JSON.stringify(parameters))).toEqual(parameters)
    for (const [argument, schema] of Object.entries(parameters.properties))
      expect({ name, argument, description: schema.description }).toEqual({
        name,
        argument,
        description: expect.stringMatching(/\S/) as string,
      })
  }
})
