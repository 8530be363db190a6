import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type AccessPolicy,
  CAPABILITIES,
  FsIndex,
  type FsRule,
  parseHost,
  type RelPath,
} from '@cordon/policy'
import { buildEnvironment } from '@cordon/sandbox'
import { DEFAULT_NET } from '../src/compile/defaults.ts'
import { unionOf, unionOfFs } from '../src/compile/union.ts'

const names = fc.constantFrom('a', 'b', 'c')
const path = fc.array(names, { maxLength: 3 }).map((parts) => (parts.join('/') || '.') as RelPath)
const rule = fc.record({
  path,
  grants: fc.subarray([...CAPABILITIES]).map((grants) => new Set(grants)),
  external: fc.constant(false),
})
const rules = fc.array(rule, { minLength: 1, maxLength: 5 })

const grantsAt = (list: readonly FsRule[], target: RelPath): readonly string[] =>
  CAPABILITIES.filter((each) => new FsIndex(list).governing(target)?.grants.has(each))

test('SPEC 4.8: of files a command has what any of its policies grants, and nothing else', () => {
  fc.assert(
    fc.property(rules, rules, path, (one, other, target) => {
      const either = new Set([...grantsAt(one, target), ...grantsAt(other, target)])
      expect(grantsAt(unionOfFs([one, other]), target)).toEqual(
        CAPABILITIES.filter((each) => either.has(each)),
      )
    }),
  )
})

const envRule = fc.record({
  name: fc.constantFrom('A', 'AB', 'A*', 'AB*', 'NODE_OPTIONS', 'NODE_*', '*', 'HOME'),
  read: fc.boolean(),
})
const envRules = fc.array(envRule, { minLength: 1, maxLength: 4 })

test('SPEC 4.8: the same of variables; those that load code by their exact name only', () => {
  const host = { A: '1', AB: '1', ABC: '1', X: '1', NODE_OPTIONS: '1', NODE_X: '1', HOME: '1' }
  const seen = (env: AccessPolicy['env']): string[] =>
    Object.keys(buildEnvironment({ fs: [], net: [], env }, host)).toSorted()
  const policy = (env: AccessPolicy['env']): AccessPolicy => ({ fs: [], net: [], env })
  fc.assert(
    fc.property(envRules, envRules, (one, other) => {
      // Every compiled policy has rules for the minimal set.
      const [a, b] = [
        [...HOME, ...one],
        [...HOME, ...other],
      ]
      expect(seen(unionOf([policy(a), policy(b)]).env)).toEqual(
        [...new Set([...seen(a), ...seen(b)])].toSorted(),
      )
    }),
  )
})

const HOME = [{ name: 'HOME', read: true }]

test('hosts of two policies are both allowed; a refusal that another policy lifts has no sure answer', () => {
  const host = parseHost('a.example')!
  const allow = [{ host, allow: true }]
  const refuse = [
    { host, allow: true },
    { host, pathPrefix: '/private', allow: false },
  ]
  const policy = (net: AccessPolicy['net']): AccessPolicy => ({ fs: [], net, env: [] })
  expect(unionOf([policy(DEFAULT_NET), policy(allow)]).net).toEqual(allow)
  expect(unionOf([policy(DEFAULT_NET), policy(DEFAULT_NET)]).net).toBe(DEFAULT_NET)
  expect(() => unionOf([policy(allow), policy(refuse)])).toThrow(
    'the profiles disagree about a.example: one of them refuses a part of it',
  )
})
