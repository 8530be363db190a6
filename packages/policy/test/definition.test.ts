/** The fast indexes against the text of SPEC 1.1: filter, sort, take one. Slow on purpose. */
import {
  CAPABILITIES,
  DEFAULT_PORTS,
  EnvIndex,
  type EnvRule,
  evaluateFs,
  fold,
  FsIndex,
  type FsRule,
  NetIndex,
  type NetRule,
  type NetTarget,
  parseAccessPolicy,
  parseNetTarget,
  parseRelPath,
} from '@cordon/policy'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

const RUNS = { numRuns: 3000 }

/** The most specific of the matching rules; on a tie the last. */
function winner<R>(
  rules: readonly R[],
  matches: (r: R) => boolean,
  specificity: (r: R) => number,
): R | undefined {
  return rules
    .filter(matches)
    .toSorted((a, b) => specificity(a) - specificity(b)) // stable, so of equals the last stays last
    .at(-1)
}

/** The very rule, not one that looks like it. */
function expectDecision<R>(decision: { kind: string; rule?: R }, rule: R | undefined, kind: string): void {
  expect(decision.kind).toBe(rule === undefined ? 'unmatched' : kind)
  expect(decision.rule).toBe(rule)
}

// Few names, so that rules meet; some differ by case or by Unicode form only.
const name = fc.constantFrom(
  'a',
  'b',
  'A',
  'ab',
  'a*',
  '?',
  '__proto__',
  'constructor',
  '\u00e9',
  'E\u0301',
  '\u00df',
  'SS',
)
const path = fc.array(name, { maxLength: 5 }).map((parts) => parts.join('/') || '.')
const flag = fc.option(fc.boolean(), { nil: undefined })
const fsRule = fc.record({
  path,
  read: flag,
  write: flag,
  create: flag,
  update: flag,
  delete: flag,
  execute: flag,
  external: flag,
})
const parts = (text: string): string[] => (text === '.' ? [] : text.split('/'))

test('decision 0022: the short way to fold what is ASCII agrees with the definition', () => {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  for (const text of [...ascii, ascii.join(''), 'Stra\u00dfe', 'CAF\u00c9'])
    expect(fold(text)).toBe(text.normalize('NFD').toUpperCase().toLowerCase().normalize('NFD'))
})

/** Another way to the same folding for the names above. */
const foldSlowly = (text: string): string =>
  text.replaceAll('\u00df', 'ss').replaceAll('\u00e9', 'e\u0301').toLowerCase()
const FORMS = { exact: (text: string): string => text, folded: foldSlowly }

for (const foldCase of ['exact', 'folded'] as const) {
  const form = FORMS[foldCase]
  test(`SPEC 1.2 FsIndex agrees with the definition, ${foldCase}`, () => {
    fc.assert(
      fc.property(
        fc.array(fsRule, { maxLength: 12 }),
        path,
        fc.constantFrom(...CAPABILITIES),
        (raw, at, want) => {
          const rules = parseAccessPolicy({ fs: raw }).fs
          const covers = (rule: FsRule): boolean =>
            parts(rule.path).every((part, i) => form(part) === form(parts(at)[i] ?? '/'))
          const rule = winner(rules, covers, (r) => parts(r.path).length)
          const decision = evaluateFs(new FsIndex(rules, foldCase), parseRelPath(at), want)
          expectDecision(decision, rule, rule?.grants.has(want) ? 'granted' : 'withheld')
        },
      ),
      RUNS,
    )
  })
}

const segments = fc.array(fc.constantFrom('x', 'y', 'x%2fy', '.', '', '%2E', 'z'), { maxLength: 4 })
const host = fc.constantFrom('h.org', 'H.ORG.', 'g.org')
const scheme = fc.constantFrom('http', 'https', 'ws', 'git', 'constructor')
const port = fc.constantFrom(80, 443, 8080)
const netRule = fc.record(
  { host, scheme, port, path_prefix: segments.map((s) => `/${s.join('/')}`), allow: fc.boolean() },
  { requiredKeys: ['host'] },
)
const url = fc
  .tuple(scheme, host, fc.option(port, { nil: undefined }), segments)
  .map(([s, h, p, path_]) => `${s}://${h}${p === undefined ? '' : `:${p}`}/${path_.join('/')}`)

const prefixOf = (rule: NetRule): string[] =>
  decodeURIComponent(rule.pathPrefix ?? '')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')

function netMatches(rule: NetRule, target: NetTarget): boolean {
  if (rule.host !== target.host) return false
  if (rule.scheme !== undefined && rule.scheme !== target.scheme) return false
  if (target.port !== (rule.port ?? DEFAULT_PORTS[target.scheme])) return false
  return prefixOf(rule).every((segment, i) => segment === target.segments[i])
}

const netSpecificity = (rule: NetRule): number =>
  Number(rule.scheme !== undefined) + Number(rule.port !== undefined) + prefixOf(rule).length

test('SPEC 1.5 NetIndex agrees with the definition', () => {
  fc.assert(
    fc.property(fc.array(netRule, { maxLength: 12 }), url, (raw, text) => {
      const rules = parseAccessPolicy({ net: raw }).net
      const target = parseNetTarget(text)
      const rule = winner(rules, (r) => netMatches(r, target), netSpecificity)
      const decision = new NetIndex(rules).evaluate(target)
      expectDecision(decision, rule, rule?.allow ? 'allowed' : 'refused')
    }),
    RUNS,
  )
})

const variable = fc
  .array(fc.constantFrom('A', 'B', '_', '\u00dc', '\u{1f600}'), { minLength: 1, maxLength: 4 })
  .map((letters) => letters.join(''))
const envRule = fc.record({
  name: fc.oneof(
    variable,
    variable.map((text) => `${text}*`),
    fc.constant('*'),
  ),
  read: fc.boolean(),
})

const literal = (rule: EnvRule): string => rule.name.replace(/\*$/, '')
const isExact = (rule: EnvRule): boolean => !rule.name.endsWith('*')

test('SPEC 1.6 EnvIndex agrees with the definition', () => {
  fc.assert(
    fc.property(fc.array(envRule, { maxLength: 12 }), variable, (raw, asked) => {
      const rules = parseAccessPolicy({ env: raw }).env
      const rule = winner(
        rules,
        (r) => (isExact(r) ? r.name === asked : asked.startsWith(literal(r))),
        // Exact beats prefix on a tie of bytes.
        (r) => Buffer.byteLength(literal(r)) + (isExact(r) ? 0.5 : 0),
      )
      const decision = new EnvIndex(rules).evaluate(asked)
      expectDecision(decision, rule, rule?.read ? 'allowed' : 'refused')
    }),
    RUNS,
  )
})

test('SPEC 1.1 a tombstone in the place of a rule never widens', () => {
  fc.assert(
    fc.property(fc.array(fsRule, { minLength: 1, maxLength: 10 }), fc.nat(), path, (raw, pick, at) => {
      const rules = parseAccessPolicy({ fs: raw }).fs
      const dropped = pick % rules.length
      const left = rules.map((rule, i) => (i === dropped ? { ...rule, grants: new Set<never>() } : rule))
      const [before, after] = [new FsIndex(rules), new FsIndex(left)]
      for (const want of CAPABILITIES) {
        const now = evaluateFs(after, parseRelPath(at), want).kind
        if (now === 'granted') expect(evaluateFs(before, parseRelPath(at), want).kind).toBe('granted')
      }
    }),
    RUNS,
  )
})

test('SPEC 1.1 adding a tombstone anywhere never widens', () => {
  fc.assert(
    fc.property(
      fc.array(fsRule, { minLength: 1, maxLength: 10 }),
      path,
      fc.nat(),
      path,
      (raw, grave, place, at) => {
        const rules = parseAccessPolicy({ fs: raw }).fs
        const [tombstone] = parseAccessPolicy({
          fs: [{ path: grave, external: true, read: true, write: true }],
        }).fs
        const more = rules.toSpliced(place % (rules.length + 1), 0, tombstone!)
        for (const want of CAPABILITIES) {
          const now = evaluateFs(new FsIndex(more), parseRelPath(at), want).kind
          if (now === 'granted')
            expect(evaluateFs(new FsIndex(rules), parseRelPath(at), want).kind).toBe('granted')
        }
      },
    ),
    RUNS,
  )
})
