import {
  editFor,
  formatRule,
  fsRulesAllowing,
  NetIndex,
  netRuleAllowing,
  parseAccessPolicy,
  parseNetRule,
  parseNetTarget,
  Problems,
  type RuleData,
  setCommand,
} from '@cordon/policy'
import fc from 'fast-check'
import { expect, test } from 'vitest'

const rules = (...fs: object[]) => parseAccessPolicy({ fs }).fs

test('SPEC 4.7 the least first, each with what the rule that it replaces there grants', () => {
  const all = rules({ path: '.', read: true }, { path: 'src', update: true }, { path: 'doc', execute: true })
  const wish = { capability: 'create', target: 'src/gen/g.rs', rule: all[1], rules: all } as const
  const all3 = { create: true, update: true, delete: true }
  expect(fsRulesAllowing(wish)).toEqual([
    ...['src/gen/g.rs', 'src/gen', 'src'].flatMap((path) => [
      { path, create: true, update: true },
      { path, read: true, create: true, update: true },
      { path, ...all3 },
      { path, read: true, ...all3 },
    ]),
    { path: '.', read: true, create: true },
    { path: '.', read: true, ...all3 },
  ])
})

test('SPEC 4.7 where a wider rule cannot be withheld, what it grants of writing comes before all writing', () => {
  const all = rules({ path: 'src', read: true, update: true }, { path: 'src/gen' })
  const wish = { target: 'src/gen', rule: all[1], rules: all } as const
  const least = (capability: 'create' | 'delete') =>
    fsRulesAllowing({ ...wish, capability }).filter(({ path }) => path === 'src/gen')
  expect(least('create')).toEqual([
    { path: 'src/gen', create: true },
    { path: 'src/gen', read: true, create: true },
    { path: 'src/gen', create: true, update: true },
    { path: 'src/gen', read: true, create: true, update: true },
    { path: 'src/gen', create: true, update: true, delete: true },
    { path: 'src/gen', read: true, create: true, update: true, delete: true },
  ])
  expect(least('delete')[3]).toEqual({ path: 'src/gen', read: true, update: true, delete: true })
})

test('SPEC 4.10 the guard is lifted for what was asked about before all that is guarded, and for one right before others', () => {
  const all = rules(
    { path: '.', read: true, write: true, execute: true },
    { path: '.git/hooks', read: true, execute: true, guard: 'told' },
  )
  const ask = (capability: 'update' | 'read', target: string) =>
    fsRulesAllowing({ capability, target, rule: all[1], rules: all })
  const everything = { read: true, create: true, update: true, delete: true, execute: true }
  expect(ask('update', '.git/hooks/pre')).toEqual(
    ['.git/hooks/pre', '.git/hooks'].flatMap((path) => [
      { path, read: true, update: true, execute: true },
      { path, ...everything },
    ]),
  )
})

test('SPEC 4.10 what lies around what is guarded is tried as well, so that a file can be replaced', () => {
  const all = rules(
    { path: '.', read: true, write: true },
    { path: 'a', read: true, update: true, delete: true },
    { path: 'a/.npmrc', read: true, guard: 'told' },
  )
  const ask = (capability: 'update' | 'execute') =>
    fsRulesAllowing({ capability, target: 'a/.npmrc', rule: all[2], rules: all })
  expect(ask('update')).toEqual([
    { path: 'a/.npmrc', read: true, update: true },
    { path: 'a/.npmrc', read: true, update: true, delete: true },
    { path: 'a/.npmrc', read: true, create: true, update: true, delete: true },
  ])
  // What is withheld around it is no reason to lift the guard.
  expect(ask('execute')[0]).toEqual({ path: 'a/.npmrc', read: true, execute: true })
})

test('SPEC 1.3 of a link that is removed, only a rule of a directory above it speaks', () => {
  const all = rules({ path: '.', read: true }, { path: 'd', execute: true })
  const wish = { capability: 'delete', target: 'd/l', isLink: true, rule: all[1], rules: all } as const
  expect(fsRulesAllowing(wish)[0]).toEqual({ path: 'd', delete: true, execute: true })
  expect(new Set(fsRulesAllowing(wish).map(({ path }) => path))).toEqual(new Set(['d', '.']))
})

test('SPEC 3.2 in a mount only the mount point itself is approved; without approval no rule helps', () => {
  const [mount, tombstone] = rules(
    { path: 'fork', external: true, approved_target: '/x', read: true },
    { path: 'old', external: true },
  )
  const ask = (rule: typeof mount) =>
    fsRulesAllowing({ capability: 'update', target: `${rule?.path}/a/b`, rule, rules: [mount!, tombstone!] })
  expect(ask(mount)).toEqual([{ path: 'fork', external: true, read: true, update: true }])
  expect(ask(tombstone)).toEqual([])
})

test('a rule and a command are exact: whole, in escapes that TOML and a shell have', () => {
  const path = `${'d'.repeat(600)}/\u001b\u202e\u{e0001}\\"\u007f`
  expect(formatRule({ path, read: true })).toBe(
    `{ path = "${'d'.repeat(600)}/\\u001b\\u202e\\U000e0001\\\\\\"\\u007f", read = true }`,
  )
  expect(setCommand(editFor('profiles.a.access.fs', { path: "it's", read: true }, 'rules'))).toBe(
    `cordon config set profiles.a.access.fs '+{ path = "it'\\''s", read = true }'`,
  )
  expect(editFor('k', { path: '.env', read: true }, 'default').value).toBe(
    '[{ path = ".", read = true, write = true, execute = true }, { path = ".env", read = true }]',
  )
})

const parsed = (data: RuleData) => {
  const problems = new Problems()
  const rule = parseNetRule(data, '', problems)
  problems.throwIfAny('rule')
  return rule!
}

test('SPEC 1.5 a denied path suggests that path, scheme and port, and the rule allows just that', () => {
  const target = parseNetTarget('https://api.example.com/admin/users')
  expect(netRuleAllowing(target)).toEqual({
    host: 'api.example.com',
    scheme: 'https',
    path_prefix: '/admin/users',
    allow: true,
  })
  // A rule that named the port is answered by one that does, too (decision 0515).
  expect(netRuleAllowing(target, { port: 443 })).toMatchObject({ scheme: 'https', port: 443 })
  const index = new NetIndex([parsed(netRuleAllowing(target))])
  const kind = (url: string): string => index.evaluate(parseNetTarget(url)).kind
  expect(kind('https://api.example.com/admin/users/1')).toBe('allowed')
  for (const url of [
    'https://api.example.com/admin',
    'http://api.example.com/admin/users',
    'https://api.example.com:8443/admin/users',
  ])
    expect(kind(url), url).toBe('unmatched')
})

test('SPEC 1.5 whatever said no, the suggested rule after it says yes', () => {
  const part = fc.string({ unit: 'binary', minLength: 1, maxLength: 4 }).filter((text) => text.isWellFormed())
  const path = fc.array(part, { maxLength: 4 }).map((parts) => `/${parts.map(encodeURIComponent).join('/')}`)
  const rule = fc.record(
    {
      host: fc.constant('h.org'),
      scheme: fc.constantFrom('http', 'https'),
      port: fc.constantFrom(80, 443, 8443),
      path_prefix: path,
    },
    { requiredKeys: ['host'] },
  )
  fc.assert(
    fc.property(
      fc.array(rule, { maxLength: 4 }),
      fc.constantFrom('http', 'https'),
      fc.constantFrom('', ':8443'),
      path,
      (denied, scheme, port, asked) => {
        const target = parseNetTarget(`${scheme}://h.org${port}${asked}`)
        const before = denied.map((data) => parsed({ ...data, allow: false }))
        const decision = new NetIndex(before).evaluate(target)
        const said = 'rule' in decision ? decision.rule : undefined
        const after = new NetIndex([...before, parsed(netRuleAllowing(target, said))])
        expect(after.evaluate(target).kind).toBe('allowed')
      },
    ),
  )
})
