import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type PolicyCase, runCases } from '../../src/cedar/cases.ts'
import { loadPolicies, type LoadedPolicies } from '../../src/cedar/load.ts'
import { cedarString, type Starter, STARTER_NAMES, starterPolicies } from '../../src/cedar/starters.ts'
import { COMMANDS } from '../../src/commands.ts'
import { isPrefix, parsePrefix, type PathPrefix } from '../../src/tokens/prefix.ts'

const load = (starters: readonly Starter[]): LoadedPolicies => {
  const result = loadPolicies(starterPolicies(starters))
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.problems))
  return result
}

type Short = [command: string, path: string, expect: PolicyCase['expect'], destination?: string]

/** The cases that did not come out as said. */
const wrong = (
  starters: readonly Starter[],
  cases: readonly Short[],
  more: Partial<PolicyCase> = {},
): unknown[] =>
  runCases(
    load(starters),
    cases.map(([command, path, verdict, destination]) => ({
      command: `/filesystem/${command}` as PolicyCase['command'],
      path,
      expect: verdict,
      ...(destination === undefined ? {} : { destination }),
      ...more,
    })),
  )
    .filter(({ passed }) => !passed)
    .map(({ case: { command, path }, explanation }) => [command, path, explanation.verdict])

const at = (path: string): PathPrefix => parsePrefix(path)

test('use case 1: a researcher reads a code tree', () => {
  expect(
    wrong(
      [{ name: 'filesystem:subdir-read', prefix: at('/repos/acme') }],
      [
        ['file/read', '/repos/acme/src/a.c', 'allow'],
        ['dir/tree', '/repos/acme', 'allow'],
        ['dir/list', '/repos/acme/src', 'allow'],
        ['file/read', '/repos/acme-2/a.c', 'deny'],
        ['dir/list', '/repos', 'deny'],
        ['file/write', '/repos/acme/src/a.c', 'deny'],
        ['file/delete', '/repos/acme/src/a.c', 'deny'],
      ],
    ),
  ).toEqual([])
})

test('use case 2: a codegen agent rewrites .ts files, and deletes need a passkey', () => {
  const starters: Starter[] = [
    { name: 'filesystem:write-subdir', prefix: at('/srv/code') },
    { name: 'filesystem:extension-filter', extensions: ['.ts'] },
    { name: 'filesystem:delete-step-up' },
  ]
  const cases: Short[] = [
    ['file/write', '/srv/code/a.ts', 'allow'],
    ['file/create', '/srv/code/b.ts', 'allow'],
    ['file/edit', '/srv/code/b.ts', 'allow'],
    ['file/write', '/srv/code/a.js', 'deny'],
    ['file/write', '/srv/code/a.ts.js', 'deny'],
    ['file/write', '/srv/codex/a.ts', 'deny'],
    ['dir/create', '/srv/code/sub', 'allow'],
    ['file/move', '/srv/code/a.ts', 'allow', '/srv/code/b.ts'],
    ['file/move', '/srv/code/a.ts', 'deny', '/srv/code/b.js'],
    ['file/copy', '/srv/code/a.ts', 'deny', '/srv/other/b.ts'],
    ['file/delete', '/srv/code/a.ts', 'step_up'],
    ['file/delete', '/srv/code/a.js', 'deny'],
    ['dir/delete_recursive', '/srv/code/sub', 'step_up'],
  ]
  expect(wrong(starters, cases)).toEqual([])
  expect(wrong(starters, [['file/delete', '/srv/code/a.ts', 'allow']], { cosigner: true })).toEqual([])
})

test('use case 3: a collector of logs', () => {
  expect(
    wrong(
      [{ name: 'filesystem:subdir-read', prefix: at('/var/log/myapp') }],
      [
        ['file/read', '/var/log/myapp/1.log', 'allow'],
        ['file/stat', '/var/log/myapp/1.log', 'allow'],
        ['file/search', '/var/log/myapp', 'allow'],
        ['file/read', '/var/log/auth.log', 'deny'],
      ],
    ),
  ).toEqual([])
})

test('use case 4: everything in a sandbox, nothing beside it', () => {
  const [starter] = [{ name: 'filesystem:developer-sandbox', id: '4' } as const]
  const inside = COMMANDS.filter((command) => !/move|copy/.test(command)).map((command): Short => [
    command.slice('/filesystem/'.length),
    '/tmp/agent-4/x',
    'allow',
  ])
  expect(wrong([starter], inside)).toEqual([])
  expect(
    wrong(
      [starter],
      inside.map(([command]): Short => [command, '/tmp/agent-42/x', 'deny']),
    ),
  ).toEqual([])
  expect(
    wrong(
      [starter],
      [
        ['file/move', '/tmp/agent-4/x', 'allow', '/tmp/agent-4/y'],
        ['file/move', '/tmp/agent-4/x', 'deny', '/tmp/agent-42/y'],
        ['file/copy', '/tmp/agent-42/x', 'deny', '/tmp/agent-4/y'],
      ],
    ),
  ).toEqual([])
})

test('use case 5: artefacts move from the build to the releases', () => {
  const starter = {
    name: 'filesystem:write-subdir',
    prefix: at('/srv/releases'),
    from: at('/build/out'),
  } as const
  expect(
    wrong(
      [starter],
      [
        ['file/move', '/build/out/app.tgz', 'allow', '/srv/releases/app.tgz'],
        ['file/copy', '/build/out/app.tgz', 'allow', '/srv/releases/app.tgz'],
        ['file/move', '/srv/releases/app.tgz', 'allow', '/srv/releases/app-1.tgz'],
        ['file/copy', '/srv/releases/app.tgz', 'allow', '/srv/releases/app-1.tgz'],
        ['file/move', '/srv/releases/app.tgz', 'deny', '/build/out/app.tgz'],
        ['file/move', '/build/out/app.tgz', 'deny', '/build/out/app-1.tgz'],
        ['file/move', '/etc/passwd', 'deny', '/srv/releases/passwd'],
        ['file/write', '/build/out/app.tgz', 'deny'],
      ],
    ),
  ).toEqual([])
})

test('starters combined: what may not be read is not moved or copied to where it may', () => {
  expect(
    wrong(
      [
        { name: 'filesystem:subdir-read', prefix: at('/ws/pub') },
        { name: 'filesystem:write-subdir', prefix: at('/ws') },
      ],
      [
        ['file/copy', '/ws/priv/s', 'deny', '/ws/pub/s'],
        ['file/move', '/ws/priv/s', 'deny', '/ws/pub/s'],
        ['file/copy', '/ws/priv/s', 'allow', '/ws/priv/t'],
        ['file/move', '/ws/priv/s', 'allow', '/ws/other/s'],
        ['file/copy', '/ws/pub/s', 'allow', '/ws/pub/t'],
        ['file/move', '/ws/pub/s', 'allow', '/ws/priv/s'],
      ],
    ),
  ).toEqual([])
})

test('read-only reads and lists everywhere, and does nothing else', () => {
  const reads = ['file/read', 'file/stat', 'file/search', 'dir/list', 'dir/tree']
  const cases = COMMANDS.filter((command) => !/move|copy/.test(command)).map((command): Short => {
    const short = command.slice('/filesystem/'.length)
    return [short, '/anywhere/x', reads.includes(short) ? 'allow' : 'deny']
  })
  expect(wrong([{ name: 'filesystem:read-only' }], cases)).toEqual([])
})

test('an extension filter takes away, also from reads and searches, or only from writes', () => {
  const all: Starter[] = [
    { name: 'filesystem:read-only' },
    { name: 'filesystem:extension-filter', extensions: ['.py', '.ts'] },
  ]
  expect(
    wrong(all, [
      ['file/read', '/a.py', 'allow'],
      ['file/read', '/a.sh', 'deny'],
      ['file/read', '/.ts', 'allow'],
      ['file/read', '/.env', 'deny'],
      ['dir/list', '/a', 'allow'],
    ]),
  ).toEqual([])
  expect(wrong(all, [['file/search', '/a', 'deny']], { is_dir: true })).toEqual([])
  const writes: Starter[] = [
    { name: 'filesystem:read-only' },
    { name: 'filesystem:extension-filter', extensions: ['.ts'], applies: 'writes' },
    { name: 'filesystem:write-subdir', prefix: at('/') },
  ]
  expect(
    wrong(writes, [
      ['file/read', '/a.sh', 'allow'],
      ['file/write', '/a.sh', 'deny'],
      ['file/write', '/a.ts', 'allow'],
    ]),
  ).toEqual([])
})

test('an extension filter of unknown extent is none at all', () => {
  const applies = 'reads' as 'all'
  expect(() =>
    starterPolicies([{ name: 'filesystem:extension-filter', extensions: ['.ts'], applies }]),
  ).toThrow(
    expect.objectContaining({
      code: 'STARTER_INVALID',
      message: 'an extension filter applies to all or writes, not to reads',
    }),
  )
})

test('all six combine, twice', () => {
  const six: Starter[] = [
    { name: 'filesystem:read-only' },
    { name: 'filesystem:subdir-read', prefix: at('/a') },
    { name: 'filesystem:write-subdir', prefix: at('/a') },
    { name: 'filesystem:extension-filter', extensions: ['.ts'] },
    { name: 'filesystem:delete-step-up', prefix: at('/a') },
    { name: 'filesystem:developer-sandbox', id: '42' },
  ]
  expect(six.map(({ name }) => name)).toEqual(STARTER_NAMES)
  expect(load([...six, ...six]).statements).toHaveLength(2 * load(six).statements.length)
})

test('no parameter can inject Cedar', () => {
  const evil = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '"); permit(principal, action, resource);//',
      '"',
      '\\"',
      '*',
      ' ',
      '\u202e',
      '\u2028',
      'a" || true || "',
    ),
  )
  const counts = load([{ name: 'filesystem:subdir-read', prefix: at('/a') }]).statements.length
  fc.assert(
    fc.property(fc.array(evil, { minLength: 1, maxLength: 3 }), (names) => {
      const prefix = `/${names.map((name) => name.replaceAll('/', '') || 'x').join('/')}`
      if (!isPrefix(prefix)) return
      const result = loadPolicies(starterPolicies([{ name: 'filesystem:subdir-read', prefix }]))
      // Cedar itself refuses some texts (invisible characters); what loads is one statement about that path.
      if (result.kind === 'refused') return
      expect(result.statements).toHaveLength(counts)
      const outside = { command: '/filesystem/file/read', path: '/elsewhere/x', expect: 'deny' } as const
      const within = { command: '/filesystem/file/read', path: `${prefix}/x`, expect: 'allow' } as const
      expect(runCases(result, [within, outside]).map(({ passed }) => passed)).toEqual([true, true])
    }),
    { numRuns: 300 },
  )
  expect(cedarString('a"\\\n\u202e')).toBe('"a\\"\\\\\\u{a}\\u{202e}"')
})

test.each([
  [
    { name: 'filesystem:extension-filter', extensions: [] },
    'an extension filter needs at least one extension',
  ],
  [
    { name: 'filesystem:extension-filter', extensions: ['ts'] },
    'ts is not an extension: write it with its dot, as .ts',
  ],
  [
    { name: 'filesystem:extension-filter', extensions: ['.tar.gz'] },
    '.tar.gz is not an extension: write it with its dot, as .ts',
  ],
  [
    { name: 'filesystem:developer-sandbox', id: '../etc' },
    "../etc is not an agent's id: letters, digits, '.', '_' and '-', at most 64",
  ],
] as const)('refused: %j', (starter, message) => {
  expect(() => starterPolicies([starter as Starter])).toThrow(message)
})
