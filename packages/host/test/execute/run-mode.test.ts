import type { RunRule } from '@cordon/config'
import { expect, test } from 'vitest'
import { decideCallMode } from '../../src/execute/call-mode.ts'
import { askConsent, type Consenter } from '../../src/execute/consent.ts'
import { loadPatternTest } from '../../src/execute/patterns.ts'
import { decideRunMode } from '../../src/execute/run-mode.ts'
import { toolWith } from './support.ts'

const rules: readonly RunRule[] = [
  { arg: '/path', prefix: 'src/secret/', mode: 'skip' },
  { arg: '/path', prefix: 'src/', mode: 'unattended' },
  { arg: '/force', equals: false, mode: 'unattended' },
  { arg: '/a~1b/0', pattern: '^v\\d+$', mode: 'edit' },
]
const never = (): never => {
  throw new Error('no pattern here')
}
const decide = async (args: unknown) => decideRunMode(rules, args, await loadPatternTest(rules))

test('one mode for every call', () => {
  expect(decideRunMode('skip', {}, never)).toEqual({ mode: 'skip' })
})

test('the first rule that matches decides, otherwise it is asked', async () => {
  expect(await decide({ path: 'src/secret/x' })).toEqual({ mode: 'skip', rule: rules[0] })
  expect(await decide({ path: 'src/x' })).toEqual({ mode: 'unattended', rule: rules[1] })
  expect(await decide({ path: 'docs/x', force: false })).toEqual({ mode: 'unattended', rule: rules[2] })
  expect(await decide({ 'a/b': ['v12'] })).toEqual({ mode: 'edit', rule: rules[3] })
  expect(await decide({ path: 'docs/x', force: true, 'a/b': ['v'] })).toEqual({ mode: 'ask' })
  for (const odd of [null, [], 'src/', { path: 7 }, { path: null }, { path: ['src/'] }])
    expect(await decide(odd)).toEqual({ mode: 'ask' })
})

test('a path that climbs out of the prefix is asked about', async () => {
  expect(await decide({ path: 'src/../.env' })).toEqual({ mode: 'ask' })
  expect(await decide({ path: 'src/a..b' })).toEqual({ mode: 'unattended', rule: rules[1] })
})

test('a pattern cannot blow up: linear time, and none that needs more', async () => {
  const evil = { arg: '/x', pattern: '^(a+)+$', mode: 'unattended' } as const
  const matches = await loadPatternTest([evil])
  expect(decideRunMode([evil], { x: `${'a'.repeat(50_000)}b` }, matches)).toEqual({ mode: 'ask' })
  expect(() => matches('(a)\\1', 'aa')).toThrow(
    /^the pattern "\(a\)\\\\1" is not one that runs in linear time: /,
  )
})

/** A tool of which nobody knows where its calls lead. */
const NOWHERE = {
  filesNow: () => () => undefined,
  shownPaths: () => [],
  placesOf: () => undefined,
  secretAmong: () => undefined,
}

const consenter = (yes: boolean, edited?: unknown): Consenter => ({
  confirms: () => Promise.resolve(yes),
  edits: () => Promise.resolve(edited),
})

test('SPEC 6.5: consent by mode, and without anybody it is a no', async () => {
  const call = { path: 'a' }
  const outcome = async (run: 'ask' | 'unattended' | 'edit' | 'skip', who: Consenter | undefined) => {
    const consent = await askConsent(
      { ...toolWith({ run }), ...NOWHERE, secretIn: () => undefined },
      call,
      who,
    )
    return consent.kind === 'run' ? consent.arguments : consent.reason
  }
  expect(await outcome('unattended', undefined)).toBe(call)
  expect(await outcome('ask', consenter(true))).toBe(call)
  expect(await outcome('ask', consenter(false))).toBe('tool t: the call was declined')
  expect(await outcome('edit', consenter(false, { path: 'b' }))).toEqual({ path: 'b' })
  expect(await outcome('edit', consenter(true))).toBe('tool t: the call was declined')
  expect(await outcome('skip', consenter(true))).toBe('tool t: its run mode is skip, so it was not run')
  for (const mode of ['ask', 'edit'] as const)
    expect(await outcome(mode, undefined)).toBe(
      'tool t: its run mode needs a person, and there is nobody to ask; run = "unattended" would allow it',
    )
})

const secretIn = (args: unknown): string | undefined =>
  JSON.stringify(args).includes('.env') ? '.env may be secret' : undefined

test.for([
  // What was written, whether it was answered `always`, and then without and with a name of a secret.
  ['ask', 'written', false, ['ask', 'leave out'], ['ask', 'take']],
  ['ask', 'written', true, ['unattended', 'leave out'], ['ask', 'take']],
  ['edit', 'written', false, ['edit', 'leave out'], ['edit', 'take']],
  ['edit', 'written', true, ['edit', 'leave out'], ['edit', 'take']],
  ['unattended', 'written', false, ['unattended', 'take'], ['unattended', 'take']],
  ['unattended', 'by default', false, ['unattended', 'leave out'], ['ask', 'take']],
] as const)(
  'decision 0406: %s (%s, always: %s): a yes to a call gives the secrets that it names, and no others',
  async ([run, origin, isAllowed, plain, secret]) => {
    const { config } = toolWith({ run, runIsWritten: origin === 'written' })
    const decided = async (path: string) => {
      const { mode, secrets } = await decideCallMode({ config, isAllowed, secretIn }, { path })
      return [mode, secrets]
    }
    expect(await decided('.')).toEqual(plain)
    expect(await decided('.env')).toEqual(secret)
  },
)

const EDIT = 'Run t with these arguments, or change them first?'

test('SPEC 6.5: what a person edits is told to be secret before, and decided about as it is then', async () => {
  const asked: unknown[] = []
  const run = [
    { arg: '/path', equals: 'never', mode: 'skip' },
    { arg: '/path', pattern: '', mode: 'edit' },
  ] as const
  const subject = { ...toolWith({ run }), ...NOWHERE, secretIn }
  const consent = (from: string, to: string) =>
    askConsent(
      subject,
      { path: from },
      {
        confirms: () => Promise.resolve(false),
        edits: (...given) => {
          asked.push(given)
          return Promise.resolve({ path: to })
        },
      },
    )
  expect(await consent('.env', 'a')).toMatchObject({ kind: 'run', decision: { secrets: 'leave out' } })
  expect(await consent('a', '.env')).toMatchObject({ kind: 'run', decision: { secrets: 'take' } })
  expect(await consent('a', 'never')).toMatchObject({
    kind: 'refused',
    reason: 'tool t: its run mode is skip, so it was not run',
  })
  expect(asked).toEqual([
    [`${EDIT} .env may be secret`, { path: '.env' }],
    [EDIT, { path: 'a' }],
    [EDIT, { path: 'a' }],
  ])
})
