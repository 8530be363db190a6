import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RecordedStep } from '../packages/host/src/agent/recorded/script.ts'
import { cordon } from './harness/cordon.ts'
import { events, here, model, query, write } from './harness/query.ts'

const MANUAL = readFileSync(join(import.meta.dirname, '../docs/configuration.md'), 'utf8')
const [EXAMPLE = '', OTHERS = ''] = MANUAL.slice(MANUAL.indexOf('### Running by argument'))
  .match(/(?<=```toml\n)[^`]*/g)!
  .slice(0, 2)

const change = (...paths: string[]): RecordedStep => ({
  calls: [
    {
      tool: 'fs_modify_file',
      arguments: { edits: paths.map((path) => ({ path, old: 'old', new: 'new' })) },
    },
  ],
})
const outcomes = (): unknown[] =>
  events()
    .filter(({ kind }) => kind === 'tool_result')
    .map(({ outcome }) => outcome)

test('SPEC 6.5: the manual’s rules by path do what it says, also where one call changes two files', async () => {
  for (const name of ['.env', 'src/a', 'src/b', 'docs/a']) write(`w/${name}`, 'old\n')
  await model(
    [
      change('src/a'),
      change('./.env'),
      change('src/a', 'src/../.env'),
      change('src/b', 'docs/a'),
      { text: 'so' },
    ],
    EXAMPLE,
  )
  expect(query('go')).toMatchObject({ code: 0, stdout: 'so\n' })
  expect(outcomes()).toEqual(['success', 'skipped', 'skipped', 'denied'])
  expect(readFileSync(join(here.cwd, '.env'), 'utf8')).toBe('old\n')
})

test('SPEC 6.5: the manual’s rules by argument, on calls and on results', async () => {
  const push = (branch: string): RecordedStep => ({ calls: [{ tool: 'push', arguments: { branch } }] })
  const tool = `${OTHERS}source = "local"\ncommand = ["echo", "pushed"]\n`
  await model(
    [push('main'), push('draft/x'), push('other'), { text: 'so' }],
    tool.replace(
      'run = [',
      'run = [{ arg = "/branch", pattern = "^(draft/.*|other)$", mode = "unattended" }, ',
    ),
  )
  expect(query('go')).toMatchObject({ code: 0, stdout: 'so\n' })
  expect(outcomes()).toEqual(['skipped', 'success', 'denied'])
  expect(
    events()
      .filter(({ kind }) => kind === 'tool_result')
      .at(-1),
  ).toMatchObject({
    text: 'tool push: it was run, and its result is not handed over: its result mode needs a person, and there is nobody to ask',
  })
})

test.each([
  [
    'a pointer to no argument',
    '{ arg = "/path", equals = ".env", mode = "skip" }',
    'the tool has no argument "/path", so the rule would never match',
    'there are: /edits, /diff',
  ],
  [
    'a pointer to one path of several',
    '{ arg = "/edits/0/path", prefix = "src/", mode = "unattended" }',
    '"/edits/0/path" is one spelling of one path, and a call may have others',
    'write path = "…" instead: it holds for every path of the call, however it is spelled',
  ],
])('SPEC 6.5: %s is no rule', (_what, rule, message, fix) => {
  write('home/.config/cordon/config.toml', `[conversation.tools.fs_modify_file]\nrun = [${rule}]\n`)
  expect(cordon(here, 'config', 'validate')).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: error: \`conversation.tools.fs_modify_file.run[0].arg\`: ${message}\n  at ~/.config/cordon/config.toml:2:10\n  fix: ${fix}\n`,
  })
})
