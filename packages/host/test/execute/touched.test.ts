import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mergeSources } from '@cordon/config'
import { openAmbientRoot } from '@cordon/policy'
import { TOOLS } from '@cordon/tools'
import { expect, test } from 'vitest'
import { BUILT_IN_TOOLS } from '../../src/built-in-tools.ts'
import { callPaths } from '../../src/execute/call-paths.ts'
import { decideRunMode } from '../../src/execute/run-mode.ts'
import { touchedBy } from '../../src/execute/touched.ts'

const check = (tool: string, rule: string): string | undefined => {
  const text = `[conversation.tools.${tool}]\nrun = [{ ${rule}, mode = "skip" }]\n`
  try {
    mergeSources([BUILT_IN_TOOLS, { layer: 'user', label: 'user', text }])
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

test.each(TOOLS.map(({ name, parameters }) => [name, Object.keys(parameters.properties)] as const))(
  'the configuration knows the arguments of %s, and which of them are paths',
  (tool, names) => {
    expect(check(tool, 'arg = "/nope", equals = 1')).toContain(
      `fix: there are: ${names.map((name) => `/${name}`).join(', ')}`,
    )
    const isPath = (name: string): boolean =>
      touchedBy(tool, { [name]: 'a' }).some(({ path }) => path === 'a') || name === 'edits' || name === 'diff'
    for (const name of names)
      expect([name, check(tool, `arg = "/${name}", equals = 1`)?.includes('write path =') ?? false]).toEqual([
        name,
        isPath(name),
      ])
    expect([tool, check(tool, 'path = "src"') === undefined]).toEqual([tool, tool !== 'unix_utils'])
  },
)

const DIFF = '--- a/src/a\n+++ b/src/a\n@@ -1 +1 @@\n-a\n+b\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n'
const edits = (...paths: string[]) => ({ edits: paths.map((path) => ({ path, old: 'a', new: 'b' })) })

test('decision 0370: what loosens holds for every path of a call, what tightens for any, in every spelling', () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-touched-')))
  mkdirSync(join(dir, 'src'))
  writeFileSync(join(dir, '.env'), 'x')
  symlinkSync('../.env', join(dir, 'src/link'))
  const root = openAmbientRoot(dir)
  const rules = [
    { path: '.env', mode: 'skip' },
    { path: 'src', mode: 'unattended' },
  ] as const
  const never = (): never => expect.unreachable()
  const mode = (tool: string, args: unknown): string =>
    decideRunMode(rules, args, never, (given) => callPaths(tool, given, root, [])).mode
  expect(mode('fs_modify_file', edits('src/a', 'src/b/c'))).toBe('unattended')
  expect(mode('fs_modify_file', edits('src/a', 'docs/b'))).toBe('ask')
  for (const path of ['.env', './.env', 'src/../.env', 'src//../.env', 'src/link', '.ENV', '.env/x'])
    expect([path, mode('fs_modify_file', edits('src/a', path))]).toEqual([path, 'skip'])
  expect(mode('fs_modify_file', { diff: DIFF })).toBe('skip')
  // A search of all of it finds that, too.
  expect(mode('fs_grep_files', { pattern: 'x' })).toBe('skip')
  expect(mode('fs_grep_files', { pattern: 'x', path: 'src' })).toBe('unattended')
  expect(mode('fs_move_file', { from: 'src/a', to: 'docs/a' })).toBe('ask')
  expect(mode('fs_read_file', { path: 'srcs/a' })).toBe('ask')
  // What nobody can name is not run unasked.
  for (const args of [edits('../x'), edits('/etc'), { diff: 'none' }, {}])
    expect(mode('fs_modify_file', args)).toBe('skip')
})
