/** Every parser gets junk, and answers with a value or a typed error: `outcome` lets nothing else pass. */
import {
  evaluateCommand,
  type Invocation,
  isEnvName,
  parseAccessPolicy,
  parseCommandRule,
  parseContext,
  parseEnvRule,
  parseFsRule,
  parseHost,
  parseNetRule,
  parseNetTarget,
  parseRelPath,
  ParseError,
  Problems,
} from '@cordon/policy'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { outcome } from './vectors.ts'

const context = parseContext({
  root: '/',
  action: 'run',
  access: {
    fs: [{ path: '.', read: true }],
    net: [{ host: 'h.org', allow: true }],
    env: [{ name: 'A*', read: true }],
    commands: { git: { args: [['log', '**']], envs: ['GIT_*'] } },
  },
})

const parsers: Record<string, (junk: unknown) => unknown> = {
  parseContext,
  'parseContext access': (junk) => parseContext({ root: '/', action: 'run', access: junk }),
  parseAccessPolicy,
  parseFsRule: (junk) => parseFsRule(junk, 'x', new Problems()),
  parseNetRule: (junk) => parseNetRule(junk, 'x', new Problems()),
  parseEnvRule: (junk) => parseEnvRule(junk, 'x', new Problems()),
  parseCommandRule: (junk) => parseCommandRule(junk, 'x', new Problems()),
  parseHost,
  parseNetTarget,
  parseRelPath,
  isEnvName,
  evaluateCommand: (junk) => evaluateCommand({ git: {} }, junk as Invocation),
  'evaluateCommand undeclared': (junk) => evaluateCommand(undefined, junk as Invocation),
  checkRead: (junk) => context.checkRead(junk as string),
  checkCreate: (junk) => context.checkCreate(junk as string),
  checkUpdate: (junk) => context.checkUpdate(junk as string),
  checkDelete: (junk) => context.checkDelete(junk as string),
  checkExecute: (junk) => context.checkExecute(junk as string),
  checkNet: (junk) => context.checkNet(junk as string),
  checkEnv: (junk) => context.checkEnv(junk as string),
  checkCommand: (junk) => context.checkCommand(junk as Invocation),
}

const FIELDS =
  'root action access fs net env commands path read write external approved_target host scheme port path_prefix allow name args envs program __proto__ constructor toString'
const field = fc.constantFrom(...FIELDS.split(' '))
const leaf = fc.oneof(
  fc.anything({ maxDepth: 1, withBigInt: true, withNullPrototype: true, withSparseArray: true }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '.',
    '/',
    'a',
    '*',
    '**',
    'A*',
    'h.org',
    '\0',
    '\ud800',
    '\u{1f600}',
    0,
    -1,
    1e9,
    Number.NaN,
    true,
    null,
  ),
)
/** Objects with the right names and anything in them, so that the parsers get past the first check. */
const shaped = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(field, tie('value')), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value

test.each(Object.keys(parsers))('SPEC 1.9 %s answers junk with a value or a typed error', (name) => {
  fc.assert(
    fc.property(shaped, (junk) => {
      outcome(() => parsers[name]!(junk))
    }),
    { numRuns: 800 },
  )
})

const MIB = 1_048_576
const UNITS =
  'a / ../ ./ // . % %2e %2e%2e/ : :1 @ [ ] * ? = \\ - xn-- 1. 0x :// http:// a@ a/../ \u00df \u3002 \ud800 \u0301 \u{1f600}'
const units = [...UNITS.split(' '), ' ', '\0', '\n', '\n/../']

/** Linear patterns take milliseconds on this, quadratic ones hours: the test's own time limit is the check. */
test.each(units)('SPEC 1.9 a mebibyte of %j is answered in bounded time', (unit) => {
  const long = unit.repeat(Math.ceil(MIB / unit.length))
  const half = `${long.slice(0, 60_000)}!`
  for (const text of [
    long,
    half,
    `${long}!`,
    `a${long}`,
    `/${long}`,
    `http://${half}`,
    `http://h.org/${half}`,
    `[${long}]`,
  ]) {
    for (const parse of Object.values(parsers)) outcome(() => parse(text))
    const rules = {
      fs: [{ path: text }, { path: 'a', external: true, approved_target: text }],
      net: [
        { host: text },
        { host: 'h.org', scheme: text },
        { host: 'h.org', path_prefix: text, allow: true },
      ],
      env: [{ name: text, read: true }],
      commands: { [text]: { args: [[text]], envs: [text] } },
    }
    outcome(() => parseAccessPolicy(rules))
    outcome(() => parseContext({ root: text, action: text, access: rules, workspace_id: text }))
    outcome(() => context.checkCommand({ program: text, args: [text], envs: [text] }))
  }
})

test('SPEC 1.9 huge lists: bad ones stop at a hundred problems, good ones are read', () => {
  const bad = outcome(() => parseAccessPolicy({ fs: Array.from({ length: 300_000 }, () => 1) }))
  expect(bad).toEqual({ error: 'PARSE' })
  try {
    parseAccessPolicy({ fs: Array.from({ length: 300_000 }, () => 1), net: 1 })
  } catch (error) {
    expect((error as ParseError).problems.length).toBe(100)
  }
  const good = Array.from({ length: 100_000 }, (_, i) => ({ path: `d${i}/x`, read: true }))
  expect(parseAccessPolicy({ fs: good }).fs.length).toBe(100_000)
})

test('SPEC 1.9 deep nesting is not followed', () => {
  let deep: unknown = 1
  for (let i = 0; i < 200_000; i++) deep = i % 2 ? [deep] : { fs: deep }
  for (const parse of Object.values(parsers)) outcome(() => parse(deep))
  expect(outcome(() => parseAccessPolicy({ fs: deep, net: [deep], env: { deep } }))).toEqual({
    error: 'PARSE',
  })
})

test('SPEC 1.9 __proto__ in JSON is a field like any other', () => {
  const access = JSON.parse(
    '{"__proto__": {"fs": [{"path": "/"}]}, "fs": [{"__proto__": {"path": "b"}, "path": "a", "read": true}], "commands": {"__proto__": {"args": [["x"]]}}}',
  ) as unknown
  const policy = parseAccessPolicy(access)
  expect(policy.fs).toEqual([{ path: 'a', grants: new Set(['read']), external: false }])
  expect(Object.keys(policy.commands!)).toEqual(['__proto__'])
  expect(evaluateCommand(policy.commands, { program: '__proto__', args: ['y'] }).kind).toBe('refused')
  expect(evaluateCommand(policy.commands, { program: 'args', args: [] }).kind).toBe('refused')
  expect(Object.getPrototypeOf({})).toBe(Object.prototype)
})

test('SPEC 1.7 what is no command line is refused, also where any program is allowed', () => {
  expect(evaluateCommand(undefined, 'git log' as unknown as Invocation)).toEqual({
    kind: 'refused',
    rule: undefined,
    reason: 'it is not a command line',
  })
})

test('SPEC 1.9 only own fields count, whatever a prototype says', () => {
  const inherited = Object.create({ path: '.', read: true }) as object
  expect(outcome(() => parseAccessPolicy({ fs: [inherited] }))).toEqual({ error: 'PARSE' })
})
