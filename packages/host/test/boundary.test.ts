import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FsRule, openAmbientRoot, parseAccessPolicy } from '@cordon/policy'
import { expect, test } from 'vitest'
import { boundaryOf } from '../src/compile/boundary.ts'
import { executeTool, type ToolWorld } from '../src/execute/execute.ts'
import { JournalKeys } from '../src/execute/journal-keys.ts'
import { GuardSurvey } from '../src/guard/survey.ts'
import { toolWith } from './execute/support.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-boundary-')))
const root = openAmbientRoot(make('ws'))
const home = make('home')
for (const dir of ['ws/src', 'ws/docs', 'ws/vault', 'ws/.git/hooks', 'ext/one']) make(dir)
for (const file of [
  'ws/src/a',
  'ws/docs/d',
  'ws/vault/key',
  'ws/top',
  'ws/.npmrc',
  'ext/one/note',
  'ext/one/other',
  'home/.profile',
])
  writeFileSync(join(base, file), 'old')

function make(name: string): string {
  mkdirSync(join(base, name), { recursive: true })
  return join(base, name)
}

const DIRECTORIES = new Set(
  ['', '/src', '/docs', '/vault', '/.git', '/.git/hooks'].map((name) => root.path + name),
)
const FILES = new Set(['/src/a', '/docs/d', '/vault/key', '/top', '/.npmrc'].map((name) => root.path + name))
const kind = (path: string) =>
  DIRECTORIES.has(path) || path === join(base, 'ext/one')
    ? 'dir'
    : FILES.has(path) || path === join(base, 'ext/one/note')
      ? 'file'
      : 'missing'
const guard = {
  root,
  survey: new GuardSurvey({ root: root.path, cwd: root.path, home, own: [], gitConfigs: [] }),
  more: [],
  code: [],
}

const outer = (...fs: object[]): Record<string, string> =>
  Object.fromEntries(
    boundaryOf(parseAccessPolicy({ fs }), guard, kind)
      .fs.filter((rule) => rule.guard === undefined)
      .map(({ path, grants, approvedTarget }: FsRule) => [
        path,
        [...grants].join(' ') +
          (approvedTarget === undefined ? '' : ` at ${approvedTarget.slice(base.length)}`),
      ]),
  )
const ALL = 'read create update delete'

test('SPEC 4.12 what grants any writing is writable, what grants none is read-only or hidden', () => {
  expect(
    outer(
      { path: '.', read: true, execute: true },
      { path: 'src', update: true },
      { path: 'vault' },
      { path: 'docs', execute: true },
    ),
  ).toEqual({
    '.': 'read',
    src: ALL,
    vault: '',
    docs: '',
  })
})

test('SPEC 4.12 the directory of a single file, and the nearest one above what is missing, count as writable', () => {
  expect(outer({ path: '.', read: true }, { path: 'src/a', update: true })).toEqual({
    '.': 'read',
    'src/a': ALL,
    src: ALL,
  })
  expect(outer({ path: 'docs/x/y', create: true })).toEqual({ 'docs/x/y': ALL, docs: ALL })
  expect(outer({ path: '.', read: true }, { path: '.config/jp/tools', read: true, write: true })).toEqual({
    '.': ALL,
    '.config/jp/tools': ALL,
  })
})

test('SPEC 4.12 mounts keep their mode; of one that leads to a file its directory, unless that is the home or holds the workspace', () => {
  const mount = (target: string, more: object) => ({
    path: 'm',
    external: true,
    approved_target: join(base, target),
    ...more,
  })
  expect(outer(mount('ext/one', { read: true }))).toEqual({ m: 'read at /ext/one' })
  expect(outer(mount('ext/one', { create: true }))).toEqual({ m: `${ALL} at /ext/one` })
  expect(outer(mount('ext/one/note', { read: true }))).toEqual({ m: 'read at /ext/one/note' })
  expect(outer(mount('ext/one/note', { update: true }))).toEqual({ m: `${ALL} at /ext/one` })
  expect(outer(mount('home/.profile', { update: true }))).toEqual({ m: `${ALL} at /home/.profile` })
  // The kernel sees the place, not the name: one name that may write is enough.
  expect(
    outer(mount('ext/one', { read: true }), { ...mount('ext/one', { update: true }), path: 'n' }),
  ).toEqual({
    m: `${ALL} at /ext/one`,
    n: `${ALL} at /ext/one`,
  })
})

test('SPEC 4.10 and 4.12 where the boundary is wider than the rule, the guard is as wide', () => {
  const { fs, net } = boundaryOf(
    parseAccessPolicy({
      fs: [
        { path: '.', read: true },
        { path: 'top', update: true },
      ],
    }),
    guard,
    kind,
  )
  const guarded = fs.filter((rule) => rule.guard !== undefined)
  expect(guarded.map(({ path }) => path)).toEqual(expect.arrayContaining(['.git/hooks', '.npmrc', '.cordon']))
  expect(guarded.every(({ grants }) => [...grants].every((each) => each === 'read'))).toBe(true)
  expect(net.some(({ allow }) => allow)).toBe(false)
})

const world: ToolWorld = {
  root,
  home,
  unfinished: join(base, 'unfinished'),
  env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home },
  sandbox: { mode: 'enforce', sensitive: [], guard: [], unix_sockets: 'pairs', limits: {} },
}

test('SPEC 4.12 the kernel holds the boundary, also against the tool itself', async () => {
  const policy = parseAccessPolicy({
    fs: [
      { path: '.', read: true },
      { path: 'src', update: true },
      { path: 'vault' },
      { path: 'top', update: true },
      { path: 'docs', read: true },
    ],
  })
  const boundary = boundaryOf(policy, guard, kind)
  const attempts = [
    'cat vault/key',
    'echo x > vault/key',
    'echo x > docs/d',
    'rm docs/d',
    'mv docs elsewhere',
    'echo x > .git/hooks/pre',
    'mv .git/hooks .git/h',
    'echo x > .npmrc',
    `cat ${home}/.profile`,
    `echo x > ${base}/ext/one/note`,
    `ls ${base}/ext`,
    'cp /bin/true src/t && chmod +x src/t && src/t',
    'exec 3<>/dev/tcp/127.0.0.1/22',
  ]
  const script = `${attempts.map((line, i) => `(${line}) >/dev/null 2>&1 && echo "${i} done"`).join('\n')}\necho held > src/a && echo writable`
  const { reply } = await executeTool(
    {
      tool: { ...toolWith({}), command: ['bash', '-c', script] },
      arguments: {},
      policy,
      boundary,
      answers: { configured: {}, respondent: undefined },
    },
    world,
  )
  expect(reply).toEqual({ type: 'success', content: [{ type: 'text', text: 'writable\n' }] })
  expect(
    ['vault/key', 'docs/d', '.npmrc'].map((file) => readFileSync(join(root.path, file), 'utf8')),
  ).toEqual(['old', 'old', 'old'])
  expect(existsSync(join(root.path, '.git/hooks/pre'))).toBe(false)
})

test('SPEC 4.12 after a timeout the host finishes what was decided, before it reports', async () => {
  const files = Array.from({ length: 300 }, (_, i) => `src/f${i}`)
  for (const file of files) writeFileSync(join(root.path, file), 'old')
  const fs = [{ path: '.', read: true, write: true }]
  const edits = files.map((path) => ({ path, old: 'old', new: 'new' }))
  // The real tool, killed as soon as its change is decided; then nothing more happens.
  const tools = join(import.meta.dirname, '../../cli/dist/tools.cjs')
  const script = `
    const { spawn } = require('node:child_process')
    const { existsSync, readFileSync } = require('node:fs')
    const tool = spawn(process.execPath, [${JSON.stringify(tools)}, 'fs_modify_file'], { stdio: ['pipe', 'ignore', 'ignore'] })
    tool.stdin.end(readFileSync(0))
    const look = () => existsSync('.cordon-modify-journal') ? tool.kill('SIGKILL') : setImmediate(look)
    look()
    setInterval(() => {}, 1000)`
  const tool = {
    ...toolWith({ timeout_secs: 20 }),
    name: 'fs_modify_file',
    shipped: true,
    command: [process.execPath, '-e', script],
    own: [tools],
  }
  const policy = parseAccessPolicy({ fs })
  const journalKeys = new JournalKeys({ local: join(base, 'local') })
  const { reply } = await executeTool(
    { tool, arguments: { edits }, policy, answers: { configured: {}, respondent: undefined } },
    { ...world, journalKeys },
  )
  expect(reply).toMatchObject({
    type: 'error',
    message:
      'the tool was stopped after 20 s (timeout_secs)\nThe change that was interrupted has been completed (300 files).',
  })
  expect(new Set(files.map((file) => readFileSync(join(root.path, file), 'utf8')))).toEqual(new Set(['new']))
  expect(existsSync(join(root.path, '.cordon-modify-journal'))).toBe(false)
  expect(journalKeys.begin('none')).toEqual({ open: {}, left: [] })
})
