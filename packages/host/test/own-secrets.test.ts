import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CAPABILITIES,
  type Capability,
  FsIndex,
  type FsRule,
  openAmbientRoot,
  parseRelPath,
} from '@cordon/policy'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { withGuard } from '../src/compile/guard.ts'
import { isSecretRule, withoutSecrets } from '../src/compile/own-secrets.ts'
import { GuardSurvey } from '../src/guard/survey.ts'

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-own-secrets-')))
afterAll(() => rmSync(dir, { recursive: true }))
const root = join(dir, 'w')
const around = join(dir, 'around')

/** Where the data lies: in the workspace, or behind a mount of it. */
const requestFor = (data: string): Parameters<typeof withGuard>[1] => {
  mkdirSync(join(data, 'mcp/packages'), { recursive: true })
  mkdirSync(root, { recursive: true })
  const survey = new GuardSurvey({
    root,
    cwd: root,
    home: join(dir, 'home'),
    own: [data],
    secret: [data],
    installed: [join(data, 'mcp/packages')],
    gitConfigs: [],
  })
  return { root: openAmbientRoot(root), survey, more: [], code: [] }
}

const rule = (path: string, grants: Iterable<Capability>, target?: string): FsRule => ({
  path: parseRelPath(path),
  grants: new Set(grants),
  external: target !== undefined,
  ...(target === undefined ? {} : { approvedTarget: target }),
})

const grantsAt = (rules: readonly FsRule[], path: string): readonly Capability[] => [
  ...(new FsIndex(rules).governing(parseRelPath(path))?.grants ?? []),
]

const anyGrants = fc.subarray([...CAPABILITIES])

describe.each([
  {
    where: 'in the workspace',
    data: join(root, 'data/cordon'),
    paths: ['.', 'data', 'data/cordon', 'data/cordon/seals', 'data/cordon/mcp/packages/x', 'other'],
    name: 'data/cordon',
    mounts: [],
  },
  {
    where: 'behind mounts',
    data: join(around, 'data/cordon'),
    paths: ['.', 'm/data', 'm/data/cordon', 'm/data/cordon/seals', 'at/x', 'in/x', 'other'],
    name: 'm/data/cordon',
    mounts: [
      ['m', around],
      ['at', join(around, 'data/cordon')],
      ['in', join(around, 'data/cordon/seals')],
    ] as const,
  },
])('decision 0452 approvals and keys that lie $where', ({ data, paths, name, mounts }) => {
  const request = requestFor(data)
  const secrets = [
    name,
    `${name}/seals`,
    `${name}/seals/key`,
    `${name}/mcp`,
    ...mounts.slice(1).flatMap(([at]) => [at, `${at}/x`]),
  ]
  const anyRules = fc
    .tuple(
      fc.array(fc.tuple(fc.constantFrom(...paths), anyGrants), { minLength: 1, maxLength: 6 }),
      fc.tuple(...mounts.map(() => anyGrants)),
    )
    .map(([plain, granted]) => [
      ...mounts.map(([at, target], i) => rule(at, granted[i] ?? [], target)),
      ...plain.map(([path, grants]) => rule(path, grants)),
    ])

  test('are granted by no rules, under the guard and without it', () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        for (const held of [withGuard(rules, request), withoutSecrets(rules, request)]) {
          for (const path of secrets) expect([path, grantsAt(held, path)]).toEqual([path, []])
          // A tool that only reads has the rules without those of the guard.
          const reading = held.filter(({ guard }) => guard === undefined)
          for (const path of secrets) expect([path, grantsAt(reading, path)]).toEqual([path, []])
        }
      }),
    )
  })

  test('and nothing else is granted more, or less, by it', () => {
    fc.assert(
      fc.property(anyRules, (rules) => {
        const held = withoutSecrets(rules, request)
        for (const path of ['.', 'other', 'm', 'm/data', 'data', 'm/x'])
          expect([path, grantsAt(held, path)]).toEqual([path, grantsAt(rules, path)])
        // A mount stays one: its own rule says so, and no second one at its path.
        for (const [at, target] of mounts)
          expect(new FsIndex(held).at(parseRelPath(at))?.approvedTarget).toBe(target)
      }),
    )
  })
})

test('decision 0452 the rule says that it is one of Cordon’s own', () => {
  const request = requestFor(join(root, 'data/cordon'))
  const held = withoutSecrets([rule('.', CAPABILITIES)], request)
  expect(held.filter(isSecretRule).map(({ path }) => path)).toEqual(['data/cordon'])
  expect(grantsAt(held, 'data/cordon/mcp/packages/x')).toEqual(['read', 'execute'])
})
