import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CaseError, parseCases, runCases } from '../../src/cedar/cases.ts'
import { decide, explain, judge } from '../../src/cedar/decide.ts'
import { loadPolicies, type LoadedPolicies } from '../../src/cedar/load.ts'
import { type PolicyRequest } from '../../src/cedar/request.ts'
import { COMMANDS } from '../../src/commands.ts'

const loaded = (text: string): LoadedPolicies => {
  const result = loadPolicies(text)
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.problems))
  return result
}

const request = (more: Partial<PolicyRequest> = {}, path = '/srv/ws/a.ts'): PolicyRequest => ({
  app: 'codegen',
  agent: 'did:key:agent',
  command: '/filesystem/file/read',
  resource: { path, isDirectory: false, exists: true, size: 7 },
  ...more,
})

test('the statements that decided, of a yes and of a no', () => {
  const policies =
    loaded(`@id("reads") permit(principal in App::"codegen", action == Action::"/filesystem/file/read", resource);
@id("never") forbid(principal, action, resource) when { resource.name == ".env" };`)
  expect(decide(policies, request())).toEqual({ decision: 'allow', statements: ['reads'], errors: [] })
  expect(decide(policies, request({}, '/srv/ws/.env'))).toEqual({
    decision: 'deny',
    statements: ['never'],
    errors: [],
  })
  expect(decide(policies, request({ app: 'other' }))).toEqual({
    decision: 'deny',
    statements: [],
    errors: [],
  })
})

test('SPEC 7.4 any evaluation error is a no, also where another statement permits', () => {
  const policies = loaded(`@id("all") permit(principal, action, resource);
@id("overflow") forbid(principal, action, resource) when { resource.size * 9000000000000000 * 1000 > 1 };`)
  expect(decide(policies, request())).toEqual({
    decision: 'deny',
    statements: [],
    errors: [
      'overflow: integer overflow while attempting to multiply the values `63000000000000000` and `1000`',
    ],
  })
  expect(judge(policies, request()).verdict).toBe('deny')
})

test('attributes are of the path that is touched', () => {
  const attribute = (condition: string, path: string): string =>
    decide(loaded(`permit(principal, action, resource) when { ${condition} };`), request({}, path)).decision
  const all: [string, string, string][] = [
    ['resource.extension == ".ts"', '/a/b.ts', 'allow'],
    ['resource.extension == ".ts"', '/a.ts/b', 'deny'],
    ['resource.extension == ".env"', '/a/.env', 'allow'],
    ['resource.extension == ""', '/a/.env', 'deny'],
    ['resource.extension == ".gz"', '/a/b.tar.gz', 'allow'],
    ['resource.name == "b.ts" && resource.path == "/a/b.ts"', '/a/b.ts', 'allow'],
    ['resource in Directory::"/a"', '/a/b/c', 'allow'],
    ['resource in Directory::"/a"', '/ab', 'deny'],
    ['resource in Directory::"/a"', '/a b/c', 'deny'],
    ['resource in Directory::"/"', '/a', 'allow'],
    ['resource.size == 7 && resource.exists && !resource.is_dir', '/a', 'allow'],
    ['resource is File', '/a', 'allow'],
    ['resource is Directory', '/a', 'deny'],
  ]
  for (const [condition, path, decision] of all)
    expect([condition, path, attribute(condition, path)]).toEqual([condition, path, decision])
})

test('a directory is inside itself, and the destination has attributes of its own', () => {
  const directory = { path: '/srv/ws', isDirectory: true, exists: true, size: 0 }
  const inside = loaded('permit(principal, action, resource in Directory::"/srv/ws");')
  expect(decide(inside, request({ command: '/filesystem/dir/list', resource: directory })).decision).toBe(
    'allow',
  )
  const copy = loaded(
    'permit(principal, action == Action::"/filesystem/file/copy", resource) when { context.destination in Directory::"/out" && !context.destination.exists };',
  )
  const to = (path: string, exists = false): string =>
    decide(
      copy,
      request({
        command: '/filesystem/file/copy',
        destination: { path, isDirectory: false, exists, size: 0 },
      }),
    ).decision
  expect([to('/out/a'), to('/outside/a'), to('/out/a', true), to('/srv/ws/a.ts')]).toEqual([
    'allow',
    'deny',
    'deny',
    'deny',
  ])
  // A copy without a destination is nothing the provider would ask; if it does, the answer is no.
  expect(decide(copy, request({ command: '/filesystem/file/copy' }))).toMatchObject({
    decision: 'deny',
    statements: [],
  })
})

test('SPEC 7.5 what needs a signature is found by asking twice', () => {
  const policies = loaded(`@id("all") permit(principal, action, resource);
@id("signed") forbid(principal, action == Action::"/filesystem/file/delete", resource) unless { context has cosigner && context.cosigner };
@id("never") forbid(principal, action, resource) when { resource.name == ".env" };`)
  const remove = request({ command: '/filesystem/file/delete' })
  expect(judge(policies, remove)).toEqual({
    verdict: 'step_up',
    decision: { decision: 'deny', statements: ['signed'], errors: [] },
  })
  expect(judge(policies, { ...remove, cosigned: true }).verdict).toBe('allow')
  expect(judge(policies, { ...remove, cosigned: false }).verdict).toBe('step_up')
  expect(judge(policies, request({ command: '/filesystem/file/delete' }, '/a/.env')).verdict).toBe('deny')
  expect(explain(policies, remove)).toEqual({
    verdict: 'step_up',
    decision: { decision: 'deny', statements: ['signed'], errors: [] },
    decided: [
      {
        id: 'signed',
        effect: 'forbid',
        line: 2,
        text: '@id("signed") forbid(principal, action == Action::"/filesystem/file/delete", resource) unless { context has cosigner && context.cosigner };',
      },
    ],
    permits: ['all'],
    permitting: [
      { id: 'all', effect: 'permit', line: 1, text: '@id("all") permit(principal, action, resource);' },
    ],
  })
})

test('more versions than Cedar is to remember: each still answers for itself', () => {
  const versions = Array.from({ length: 300 }, (_, i) =>
    loaded(`@id("p${i}") permit(principal, action, resource) when { resource.size == ${i} };`),
  )
  for (let round = 0; round < 2; round++)
    for (const [i, policies] of versions.entries()) {
      const resource = { path: '/a', isDirectory: false, exists: true, size: i }
      expect(decide(policies, request({ resource })).statements).toEqual([`p${i}`])
      expect(decide(policies, request({ resource: { ...resource, size: i + 1 } })).decision).toBe('deny')
    }
})

test('the table of cases beside a policy', () => {
  const policies = loaded(
    '@id("ts") permit(principal, action, resource) when { resource.extension == ".ts" };',
  )
  const cases = parseCases([
    { command: '/filesystem/file/read', path: '/a.ts', expect: 'allow' },
    { name: 'wrong', command: '/filesystem/file/read', path: '/a.py', expect: 'allow' },
    { command: '/filesystem/file/copy', path: '/a.ts', destination: '/b', expect: 'allow' },
  ])
  expect(runCases(policies, cases).map(({ passed, explanation }) => [passed, explanation.verdict])).toEqual([
    [true, 'allow'],
    [false, 'deny'],
    [true, 'allow'],
  ])
  const read = { command: '/filesystem/file/read', path: '/a', expect: 'allow' }
  const wrong: [unknown, string][] = [
    [{}, 'case 1: expected an array of cases, got an object'],
    [[1], 'case 1: expected an object, got 1'],
    [[{ ...read, cosiner: true }], 'case 1: unknown key cosiner'],
    [[{ ...read, size: 'big' }], 'case 1: size must be a number'],
    [[read, { ...read, command: '/filesystem' }], 'case 2: command is not one of the provider'],
    [[{ ...read, path: 'a' }], 'case 1: path and destination must be absolute'],
    [[{ ...read, destination: '/b' }], 'case 1: move and copy need a destination, and nothing else has one'],
    [[{ ...read, expect: 'maybe' }], 'case 1: expect must be allow, deny or step_up'],
    [[{ ...read, size: 1.5 }], 'case 1: size must be a whole number'],
  ]
  for (const [json, message] of wrong) {
    expect(() => parseCases(json)).toThrow(CaseError)
    expect(() => parseCases(json)).toThrow(message)
  }
})

describe('decision 0591: what policies cannot tell apart is decided once', () => {
  const POLICIES = {
    'a directory': 'permit (principal, action, resource in Directory::"/a");',
    'an extension': `permit (principal, action, resource);
      forbid (principal, action == Action::"/filesystem/file/read", resource) when { [".x"].contains(resource.extension) };`,
    'a size, and whether it is there': `permit (principal, action, resource) when { resource.size < 2 };
      forbid (principal, action in [Action::"/filesystem/file/write"], resource) when { resource.exists };`,
    'whether it has an attribute': `permit (principal, action, resource);
      forbid (principal, action, resource) when { resource has extension };`,
    'a name': 'permit (principal, action, resource) when { resource.name like "*b" };',
    'a path': 'permit (principal, action, resource) unless { resource.path == "/a/b" };',
    'one file, in the scope': 'permit (principal, action, resource == File::"/a/b");',
    'one file, in a condition': `permit (principal, action, resource);
      forbid (principal, action, resource) when { resource in [File::"/a/b", File::"/a.x"] };`,
    'where it goes': `permit (principal, action, resource);
      forbid (principal, action in [Action::"/filesystem/file/copy"], resource) when { context.destination.name == "b" };`,
  }
  const path = fc.constantFrom(
    '/a',
    '/b',
    '/a/b',
    '/a/c',
    '/a/b.x',
    '/a.x',
    '/.x',
    '/b/b',
    '/b/c.x',
    '/a/b/b',
  )
  const resource = fc.record({
    path,
    isDirectory: fc.boolean(),
    exists: fc.boolean(),
    size: fc.constantFrom(1, 2),
  })
  const asked = fc.record({
    app: fc.constantFrom('a', 'b'),
    agent: fc.constant('x'),
    command: fc.constantFrom(...COMMANDS.filter((command) => !/move|copy/.test(command))),
    resource,
    cosigned: fc.boolean(),
  })
  const copied = fc.record({
    app: fc.constant('a'),
    agent: fc.constant('x'),
    command: fc.constant('/filesystem/file/copy' as const),
    resource,
    destination: path.map((to) => ({ path: to, isDirectory: false, exists: false, size: 0 })),
  })
  test.each(Object.entries(POLICIES))('by %s', (_, text) => {
    const policies = loaded(text)
    const apart = { ...policies, looksAt: new Map() }
    fc.assert(
      fc.property(fc.oneof(asked, copied), (each) => {
        expect(decide(policies, each)).toEqual(decide(apart, each))
      }),
      { numRuns: 1000 },
    )
  })
})
