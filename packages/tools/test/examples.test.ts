import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { failed, said, Workspace } from './support/workspace.ts'

const EXAMPLES = join(import.meta.dirname, '../../../examples/tools')
const LANGUAGES = {
  TypeScript: [process.execPath, '--conditions=cordon-source', join(EXAMPLES, 'word-count.ts')],
  Python: ['python3', join(EXAMPLES, 'word_count.py')],
} as const

function start([program, ...args]: readonly [string, ...string[]], call: object) {
  const { stdout, stderr, status } = spawnSync(program, args, { input: JSON.stringify(call) })
  return { output: JSON.parse(stdout.toString('utf8')) as unknown, stderr: stderr.toString('utf8'), status }
}

for (const [language, command] of Object.entries(LANGUAGES))
  test(`docs/writing-tools.md the example in ${language} counts, describes and refuses`, () => {
    const workspace = new Workspace({ 'a.txt': 'one two\nthree\n', 'secret/b': 'x' })
    symlinkSync('secret/b', workspace.path('alias'))
    symlinkSync('/etc', workspace.path('etc'))
    symlinkSync(workspace.outside, workspace.path('fork'))
    mkdirSync(join(workspace.outside, 'd'))
    writeFileSync(join(workspace.outside, 'd/c'), 'one two')
    symlinkSync('/etc/hostname', join(workspace.outside, 'out'))
    const mount = { path: 'fork', external: true, approved_target: workspace.outside, read: true }
    const access = {
      fs: [{ path: '.', read: true }, { path: 'secret' }, mount, { path: 'gone', external: true }],
    }
    const run = (path: string, action = 'run') =>
      start(command, { context: { root: workspace.root, action, access }, tool: { arguments: { path } } })
    expect(run('./x/../a.txt')).toEqual({ output: said('3 words'), stderr: '', status: 0 })
    expect(run('fork/d/c')).toEqual({ output: said('2 words'), stderr: '', status: 0 })
    expect(run('a.txt', 'format_arguments')).toEqual({
      output: said('count the words of a.txt'),
      stderr: '',
      status: 0,
    })
    const refused = (path: string, message: string) => {
      const { output, status } = run(path)
      expect(status).toBe(1)
      expect((output as { message: string }).message.split('\n')[0]).toBe(message)
    }
    refused('secret/b', 'access denied: read on secret/b')
    const linked = language === 'Python' ? 'secret/b' : 'alias → secret/b'
    refused('alias', `access denied: read on ${linked}`)
    refused('/etc/passwd', 'path is outside the workspace: /etc/passwd (absolute paths are not permitted)')
    refused('etc/passwd', 'path escapes the workspace: etc/passwd')
    refused('../x', 'path escapes the workspace: ../x')
    refused('gone', 'access denied: read on gone')
    const { output } = run('fork/out')
    expect((output as { message: string }).message).toMatch(/^path escapes the workspace: fork\/out/)
  })

test('the example in Python asks about a large file, and takes the answer', () => {
  const workspace = new Workspace({ big: 'x '.repeat(600_000) })
  const context = { root: workspace.root, action: 'run', access: null }
  const call = (answers?: object) => ({ context, tool: { arguments: { path: 'big' }, answers } })
  expect(start(LANGUAGES.Python, call()).output).toEqual({
    type: 'needs_input',
    question: { id: 'large', text: 'big has 1200000 bytes. Count anyway?', answer_type: 'boolean' },
  })
  expect(start(LANGUAGES.Python, call({ large: true })).output).toEqual(said('600000 words'))
  expect(start(LANGUAGES.Python, { context, tool: { arguments: { path: 'none' } } })).toMatchObject({
    output: { ...failed(''), message: expect.stringContaining('No such file') as string },
    status: 1,
  })
})

test('the plain command: a placeholder is one argument, whatever is in it', () => {
  const workspace = new Workspace({ 'a b; rm x': 'one two\n' })
  const line = /^command = (.*)$/m.exec(readFileSync(join(EXAMPLES, 'word-count.toml'), 'utf8'))?.[1] ?? ''
  const [program = '', ...args] = (JSON.parse(line) as string[]).map((word) =>
    word === '{{tool.arguments.path}}' ? 'a b; rm x' : word,
  )
  const { stdout, status } = spawnSync(program, args, { cwd: workspace.root })
  expect([stdout.toString('utf8'), status]).toEqual(['2 a b; rm x\n', 0])
})
