import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Capability, CAPABILITIES } from '@cordon/policy'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Compiler, compileProject } from '../src/policies.ts'
import { openAmbientProject, type ProjectOptions } from '../src/project.ts'
import { changeSetting } from '../src/settings.ts'
import { parseQuestion } from '../src/why/question.ts'
import { why, type Why } from '../src/why/why.ts'

let base: string
let root: string
let options: ProjectOptions
let compiler: Compiler

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-why-')))
  root = join(base, 'ws')
  for (const dir of ['.cordon', 'a/b/c', 'd', 'home']) mkdirSync(join(root, dir), { recursive: true })
  for (const file of ['a/b/c/f', 'a/f', 'd/f', 'f']) writeFileSync(join(root, file), '')
  symlinkSync('../a/b', join(root, 'd/link'))
  symlinkSync('/etc', join(root, 'out'))
  const surroundings = { env: {}, platform: 'linux', home: join(base, 'home'), uid: process.getuid?.() }
  options = { cwd: root, surroundings, cfg: [] }
  compiler = {
    pid: process.pid,
    uid: surroundings.uid,
    home: surroundings.home,
    session: 'test',
    person: undefined,
  }
})

afterAll(() => rmSync(base, { recursive: true }))

const write = (toml: string): void => writeFileSync(join(root, '.cordon/config.toml'), toml)

async function ask(capability: string, target: string): Promise<Why> {
  const project = openAmbientProject(options)
  return why(project, await compileProject(project, compiler), 't', parseQuestion(capability, target))
}

const tool = '[conversation.tools.t]\nsource = "local"\ncommand = ["true"]\n'

test('SPEC 4.7 the whole answer: rule, origin, losers, edit', async () => {
  write(`${tool}
[[conversation.tools.t.access.fs]]
path = "."
read = true
[[conversation.tools.t.access.fs]]
path = "a/b"
read = true
`)
  expect(await ask('update', 'd/link/c/f')).toMatchObject({
    subject: 'tool t',
    allowed: false,
    canonical: 'a/b/c/f',
    because: 'the rule for a/b does not grant update',
    rule: { axis: 'fs', rule: { path: 'a/b', origin: '.cordon/config.toml:8:1' } },
    others: [{ axis: 'fs', rule: { path: '.', origin: '.cordon/config.toml:5:1' } }],
    fix: {
      layer: 'workspace',
      key: 'conversation.tools.t.access.fs',
      value: '+{ path = "a/b/c/f", read = true, update = true }',
    },
  })
})

test('SPEC 4.7 a mount that nobody approved: the rule and the reason, and no edit', async () => {
  write(`${tool}
[[conversation.tools.t.access.fs]]
path = "out"
external = true
read = true
`)
  expect(await ask('read', 'out/passwd')).toMatchObject({
    allowed: false,
    because: 'the mount out is not approved, or its link is broken, so it grants nothing',
    rule: { axis: 'fs', rule: { path: 'out', origin: '.cordon/config.toml:5:1' } },
    fix: undefined,
  })
})

test('SPEC 4.7 what lies outside is denied, and no edit is suggested', async () => {
  write(tool)
  expect(await ask('read', 'out/passwd')).toMatchObject({
    allowed: false,
    canonical: undefined,
    because: 'path escapes the workspace: out/passwd',
    fix: undefined,
  })
})

test('SPEC 4.7 an edit that a later layer would override is suggested where it counts', async () => {
  write(tool)
  mkdirSync(join(root, 'sub'), { recursive: true })
  writeFileSync(
    join(root, 'sub/.cordon.toml'),
    'conversation.tools.t.access.fs = { strategy = "replace", value = [{ path = ".", read = true }] }\n',
  )
  const project = openAmbientProject({ ...options, cwd: join(root, 'sub') })
  const found = why(project, await compileProject(project, compiler), 't', parseQuestion('update', 'f'))
  expect(found).toMatchObject({ allowed: false, fix: { layer: 'user-workspace' } })
})

test('SPEC 4.7 the suggested edit, applied, makes the same question answer allow', async () => {
  const path = fc.constantFrom('.', 'a', 'a/b', 'a/b/c', 'd', 'd/link', 'f', 'new/deep', 'a/f')
  const flags = fc.record(
    Object.fromEntries([...CAPABILITIES, 'write'].map((name) => [name, fc.boolean()])) as Record<
      Capability,
      fc.Arbitrary<boolean>
    >,
    { requiredKeys: [] },
  )
  const fsRule = fc.tuple(path, flags).map(([p, caps]) => ({ path: p, ...caps }))
  const host = fc.constantFrom('api.example.com', 'other.example.com')
  const netRule = fc.record(
    {
      host,
      allow: fc.boolean(),
      scheme: fc.constantFrom('https', 'http'),
      port: fc.constantFrom(443, 8443),
      path_prefix: fc.constantFrom('/', '/a', '/a/b'),
    },
    { requiredKeys: ['host', 'allow'] },
  )
  const envRule = fc.record({ name: fc.constantFrom('A', 'A*', 'AB', '*', 'PATH'), read: fc.boolean() })
  const question = fc.oneof(
    fc.tuple(
      fc.constantFrom<string>(...CAPABILITIES),
      fc.constantFrom('f', 'a/f', 'a/b/c/f', 'd/link', 'd/link/c', 'new/deep/x', 'd/../a/f', 'a'),
    ),
    fc.tuple(
      fc.constant('net'),
      fc.constantFrom(
        'https://api.example.com/a/b/c',
        'http://api.example.com/',
        'https://other.example.com:8443/a',
        'ssh://api.example.com',
      ),
    ),
    fc.tuple(fc.constant('env'), fc.constantFrom('A', 'AB', 'ABC', 'PATH', 'LC_ALL')),
  )
  const inline = (rules: readonly object[]): string =>
    `[${rules
      .map(
        (rule) =>
          `{ ${Object.entries(rule)
            .map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
            .join(', ')} }`,
      )
      .join(', ')}]`
  const property = fc.asyncProperty(
    fc.array(fsRule, { maxLength: 4 }),
    fc.array(netRule, { maxLength: 4 }),
    fc.array(envRule, { maxLength: 4 }),
    question,
    async (fs, net, env, [capability, target]) => {
      write(
        `${tool}[conversation.tools.t.access]\nfs = ${inline(fs)}\nnet = ${inline(net)}\nenv = ${inline(env)}\n`,
      )
      const before = await ask(capability, target)
      if (before.allowed) return
      expect(before.fix, `no edit for ${capability} ${target}`).toBeDefined()
      changeSetting(options, before.fix!)
      expect(await ask(capability, target)).toMatchObject({ allowed: true })
    },
  )
  await fc.assert(property, { numRuns: 150 })
})
