import type { AccessConfig } from '@cordon/config'
import {
  type AccessPolicy,
  type CanonicalPath,
  FsIndex,
  type FsRule,
  parseFsRule,
  parseHost,
  parseRelPath,
  Problems,
} from '@cordon/policy'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type BindingKey, bindingKey, bindingsOf } from '../src/compile/bindings.ts'
import { compile, type CompileOptions } from '../src/compile/compile.ts'
import { DEFAULT_ENV, DEFAULT_FS, DEFAULT_NET } from '../src/compile/defaults.ts'
import type { Resolved, ResolveRule } from '../src/compile/resolve.ts'
import type { Subject } from '../src/compile/subject.ts'

/** A rule as config hands it over: external ones still carry the grants they ask for. */
function rule(data: { path: string; external?: boolean } & Record<string, unknown>): FsRule {
  const problems = new Problems()
  const { external = false, ...rest } = data
  return { ...parseFsRule(rest, '', problems)!, external, origin: `config.toml:${data.path}` }
}

const subject = (access?: Partial<AccessConfig>, variables: Subject['variables'] = []): Subject => ({
  kind: 'tool',
  name: 'edit',
  access: access && { fs: [], net: [], env: [], ...access },
  variables,
  key: ['conversation', 'tools', 'edit', 'access'],
})

const leadsTo =
  (places: Record<string, Resolved>): ResolveRule =>
  ({ path }) =>
    places[path] ?? { kind: 'inside', path }

const outside = (target: string): Resolved => ({ kind: 'outside', target: target as CanonicalPath })

function compileOne(one: Subject, options: Partial<CompileOptions> = {}) {
  const { policies, warnings, errors } = compile([one], {
    resolve: leadsTo({}),
    approved: new Set(),
    undeclared: 'defaults',
    ...options,
  })
  return {
    policy: policies.get(one)!,
    warnings: warnings.map((n) => n.message),
    errors: errors.map((n) => n.message),
  }
}

const read = (path: string, extra: Partial<FsRule> = {}): FsRule => ({
  ...rule({ path, read: true }),
  ...extra,
})

test('SPEC 3.1 inside, external false: an ordinary rule on the canonical path', () => {
  const resolve = leadsTo({ alias: { kind: 'inside', path: parseRelPath('src') } })
  expect(compileOne(subject({ fs: [read('alias')] }), { resolve })).toMatchObject({
    policy: { fs: [{ path: 'src', external: false, grants: new Set(['read']) }] },
    warnings: [],
    errors: [],
  })
})

test('SPEC 3.1 inside, external true: an error that points at the symlink itself', () => {
  const { errors } = compileOne(subject({ fs: [read('.', { external: true })] }))
  expect(errors).toEqual([
    'the rule for . has external = true, but it leads to . inside the workspace; point the rule at the symlink itself, or remove external',
  ])
})

test('SPEC 3.1 outside, external false: an error naming the rule', () => {
  const { errors } = compileOne(subject({ fs: [read('fork')] }), {
    resolve: leadsTo({ fork: outside('/x') }),
  })
  expect(errors).toEqual([
    'the rule for fork leads out of the workspace; if that is meant, add external = true',
  ])
})

test('SPEC 3.1 outside, external true, approved: the lexical path is kept, the target is the boundary', () => {
  const approved = new Set([bindingKey(parseRelPath('fork'), '/x')])
  const resolve = leadsTo({ fork: outside('/x') })
  expect(
    compileOne(subject({ fs: [read('fork', { external: true })] }), { resolve, approved }),
  ).toMatchObject({
    policy: { fs: [{ path: 'fork', external: true, approvedTarget: '/x', grants: new Set(['read']) }] },
    warnings: [],
    errors: [],
  })
})

test('SPEC 3.1 outside, external true, not approved: a tombstone and a warning', () => {
  const approved = new Set([bindingKey(parseRelPath('fork'), '/y')])
  const resolve = leadsTo({ fork: outside('/x') })
  const { policy, warnings } = compileOne(subject({ fs: [read('fork', { external: true })] }), {
    resolve,
    approved,
  })
  expect(policy.fs).toEqual([{ path: 'fork', grants: new Set(), external: true, origin: 'config.toml:fork' }])
  expect(warnings).toEqual([
    'the rule for fork leads to a target that is not approved; it grants nothing until it is',
  ])
})

test('SPEC 3.1 broken link, external true: a tombstone and a warning', () => {
  const resolve = leadsTo({ fork: { kind: 'broken', reason: 'it dangles' } })
  const { policy, warnings } = compileOne(subject({ fs: [read('fork', { external: true })] }), { resolve })
  expect(policy.fs).toEqual([{ path: 'fork', grants: new Set(), external: true, origin: 'config.toml:fork' }])
  expect(warnings).toEqual(['the rule for fork is a broken mount (it dangles); it grants nothing'])
})

test('SPEC 4.2 no access: the defaults, as rules', () => {
  expect(compileOne(subject()).policy).toEqual({ fs: DEFAULT_FS, net: DEFAULT_NET, env: DEFAULT_ENV })
})

test('SPEC 4.2 a declared axis replaces its default, the others keep theirs', () => {
  const { policy } = compileOne(subject({ fs: [read('src')] }))
  expect(policy).toEqual({ fs: [read('src')], net: DEFAULT_NET, env: DEFAULT_ENV })
})

test('SPEC 4.2 with the sandbox off, undeclared is unrestricted', () => {
  expect(compileOne(subject({ fs: [read('src')] }), { undeclared: 'unrestricted' }).policy).toEqual({
    fs: [read('src')],
    net: [],
    env: [],
  })
})

test('SPEC 5.2 variables are exact reads, and an explicit read = false wins', () => {
  const variables = [{ name: 'TOKEN', read: true }]
  const env = [{ name: 'TOKEN', read: false }]
  expect(compileOne(subject({ env }, variables)).policy.env).toEqual([...DEFAULT_ENV, ...variables, ...env])
})

test('SPEC 3.2 one binding across tools, with what each tool gets', () => {
  const resolve = leadsTo({ fork: outside('/x') })
  const one = subject({ fs: [read('fork', { external: true })] })
  const other = {
    ...subject({ fs: [{ ...rule({ path: 'fork', read: true, write: true }), external: true }] }),
    name: 'write',
  }
  expect(bindingsOf([one, other], resolve)).toEqual([
    {
      key: 'fork\0/x',
      rulePath: 'fork',
      target: '/x',
      grants: [
        { subject: 'edit', capabilities: ['read'] },
        { subject: 'write', capabilities: ['read', 'create', 'update', 'delete'] },
      ],
    },
  ])
})

test('SPEC 1.1 no sequence of dropped rules allows what the full policy denied', () => {
  const names = ['a', 'b', 'a/b', 'a/b/c', 'b/a', '.']
  const anyRule = fc.record({
    path: fc.constantFrom(...names),
    read: fc.boolean(),
    write: fc.boolean(),
    external: fc.boolean(),
  })
  const property = fc.property(
    fc.array(anyRule, { minLength: 1, maxLength: 6 }),
    fc.subarray(names),
    fc.constantFrom('a', 'b', 'a/b', 'a/b/c', 'a/x', 'b/a/z', 'q'),
    fc.constantFrom('read', 'update'),
    (rules, approvedNames, target, want) => {
      const places = Object.fromEntries(
        names.filter((name) => name !== '.').map((name) => [name, outside(`/ext/${name}`)]),
      )
      const resolve: ResolveRule = (r) =>
        r.external && r.path !== '.' ? places[r.path]! : { kind: 'inside', path: r.path }
      const one = subject({ fs: rules.filter((r) => r.path !== '.' || !r.external).map(rule) })
      if (one.access!.fs.length === 0) return
      const keys = (of: readonly string[]): Set<BindingKey> =>
        new Set(of.map((name) => bindingKey(parseRelPath(name), `/ext/${name}`)))
      const full = compileOne(one, { resolve, approved: keys(names) }).policy
      const dropped = compileOne(one, { resolve, approved: keys(approvedNames) }).policy
      const grants = (policy: AccessPolicy): boolean =>
        new FsIndex(policy.fs).governing(parseRelPath(target))?.grants.has(want) ?? false
      expect(dropped.fs.length).toBeGreaterThan(0)
      if (grants(dropped)) expect(grants(full)).toBe(true)
    },
  )
  fc.assert(property, { numRuns: 2000 })
})

test('SPEC 1.1 the host that stands for all of them is spelled as every other one', () => {
  expect(DEFAULT_NET.map(({ host }) => parseHost(host))).toEqual(DEFAULT_NET.map(({ host }) => host))
})
