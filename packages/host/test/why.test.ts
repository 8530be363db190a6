import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Capability, CAPABILITIES } from '@cordon/policy'
import { probeKernel } from '@cordon/sandbox'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Compiler, compileProject } from '../src/policies.ts'
import { openAmbientProject, type ProjectOptions } from '../src/project.ts'
import { changeSetting } from '../src/settings.ts'
import { parseQuestion } from '../src/why/question.ts'
import { why, type Why } from '../src/why/why.ts'
import { projectIn } from './why-place.ts'

let base: string
let root: string
let options: ProjectOptions
let compiler: Compiler

beforeAll(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-why-')))
  root = join(base, 'ws')
  for (const dir of ['.cordon', 'a/b/c', 'd', 'home']) mkdirSync(join(root, dir), { recursive: true })
  for (const file of ['a/b/c/f', 'a/f', 'd/f', 'f']) writeFileSync(join(root, file), '', { mode: 0o755 })
  symlinkSync('../a/b', join(root, 'd/link'))
  symlinkSync('/etc', join(root, 'out'))
  ;({ options, compiler } = projectIn(base))
})

afterAll(() => rmSync(base, { recursive: true }))

const place = () => ({ cwd: root, home: compiler.home, env: { PATH: process.env['PATH'] } })

const write = (toml: string): void => writeFileSync(join(root, '.cordon/config.toml'), toml)

async function ask(capability: string, target: string, name = 't'): Promise<Why> {
  const project = await openAmbientProject(options)
  return why(
    project,
    await compileProject(project, compiler),
    name,
    parseQuestion(capability, target),
    place(),
  )
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
    because: 'where the mount out leads is not approved, so it grants nothing',
    notes: ['`cordon mount ls` says what it lacks'],
    rule: { axis: 'fs', rule: { path: 'out', origin: '.cordon/config.toml:5:1' } },
    fix: undefined,
  })
})

test('SPEC 4.7 what lies outside is denied, and no edit is suggested', async () => {
  write(tool)
  expect(await ask('read', 'out/passwd')).toMatchObject({
    allowed: false,
    canonical: undefined,
    because: 'path escapes the workspace: out/passwd (out is a link out of it)',
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
  const project = await openAmbientProject({ ...options, cwd: join(root, 'sub') })
  const policies = await compileProject(project, compiler)
  const found = why(project, policies, 't', parseQuestion('update', 'f'), place())
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
    fc.constantFrom('t', 'fs_modify_file', 'fs_create_file', 'fs_delete_file'),
    async (fs, net, env, [capability, target], name) => {
      write(
        `${tool}[conversation.tools.${name}.access]\nfs = ${inline(fs)}\nnet = ${inline(net)}\nenv = ${inline(env)}\n`,
      )
      const before = await ask(capability, target, name)
      if (before.allowed || before.never) return
      // Of a program that is not ours the kernel holds every rule, and some it cannot hold beside others.
      const isFile = (CAPABILITIES as readonly string[]).includes(capability)
      if (!before.fix && name === 't' && isFile) return
      // A directory with a rule of its own goes only where the one above is writable, which takes two rules.
      if (!before.fix && capability === 'delete' && ['a', 'd/link/c'].includes(target)) return
      expect(before.fix, `no edit for ${capability} ${target}`).toBeDefined()
      await changeSetting(options, before.fix!)
      expect(await ask(capability, target, name)).toMatchObject({ allowed: true })
    },
  )
  await fc.assert(property, { numRuns: 300 })
})

const rule = (path: string, ...granted: string[]): string =>
  `[[conversation.tools.t.access.fs]]\npath = "${path}"\n${granted.map((name) => `${name} = true\n`).join('')}`

test('SPEC 4.7 for a program that is not ours, what the kernel adds to the rule', async () => {
  write(`${tool}${rule('.', 'read')}${rule('a', 'read', 'update')}${rule('new/deep', 'read', 'write')}`)
  expect(await ask('update', 'a/f')).toMatchObject({
    allowed: true,
    notes: ['replacing a file by renaming another over it also needs create and delete'],
  })
  expect(await ask('update', 'new/deep/x')).toMatchObject({
    allowed: true,
    notes: ['the path does not exist, so it cannot be granted: create it first'],
  })
  expect(await ask('read', 'a/f')).toMatchObject({ allowed: true, notes: [] })
})

test('SPEC 4.7 an edit that this machine cannot enforce is not suggested', async () => {
  // A rule on the file alone would make every call fail: what is hidden cannot be shown in part and written.
  write(`${tool}${rule('.', 'read', 'write')}${rule('a/b')}`)
  const found = await ask('update', 'a/b/c/f')
  expect(found).toMatchObject({
    allowed: false,
    because: 'the rule for a/b does not grant update',
    fix: { value: '+{ path = "a/b/c/f", read = true, update = true }' },
  })
  await changeSetting(options, found.fix!)
  expect(await ask('update', 'a/b/c/f')).toMatchObject({ allowed: true })
  // The same at a place where nothing that grants it can be held: nothing is suggested.
  write(`${tool}${rule('a/b', 'create', 'update')}`)
  expect(await ask('delete', 'f')).toMatchObject({ allowed: false, fix: undefined })
})

test('SPEC 4.7 a policy that this machine cannot enforce grants nothing, and why says so', async () => {
  write(`${tool}${rule('.', 'read', 'write')}${rule('a', 'read', 'create')}`)
  expect(await ask('read', 'f')).toMatchObject({
    allowed: false,
    because:
      'this machine cannot enforce the policy, so every call fails; `cordon policy explain` says why: a',
  })
})

test('SPEC 4.12 a shipped tool that writes needs no more than its rule says', async () => {
  const own = (text: string): string => text.replaceAll('tools.t.', 'tools.fs_delete_file.')
  write(
    own(
      `${rule('.', 'read')}${rule('a', 'read', 'create')}${rule('d', 'read', 'delete')}${rule('new/deep', 'create')}`,
    ) + of('fs_create_file', `${rule('a', 'read', 'create')}${rule('new/deep', 'create')}`),
  )
  for (const target of ['a/x', 'new/deep/x'])
    expect(await ask('create', target, 'fs_create_file')).toMatchObject({ allowed: true, notes: [] })
  const asked = (capability: string, target: string): Promise<Why> =>
    ask(capability, target, 'fs_delete_file')
  expect(await asked('delete', 'd/f')).toMatchObject({ allowed: true, notes: [] })
  // The directory of a rule is a mount point where what lies around it is not writable.
  write(own(`${rule('.', 'read')}${rule('d', 'read', 'delete')}`))
  expect(await asked('delete', 'd')).toMatchObject({
    allowed: false,
    because: 'its rule begins here, and the directory above is not writable for the tool',
    fix: { value: '+{ path = ".", read = true, delete = true }' },
  })
})

test('no edit is offered for what can be nowhere, because a file is in the way', async () => {
  write(
    `${rule('.', 'read', 'write')}${rule('a/f/x', 'read')}`.replaceAll('tools.t.', 'tools.fs_create_file.'),
  )
  expect(await ask('create', 'a/f/x/y', 'fs_create_file')).toMatchObject({
    allowed: false,
    because: 'a/f is no directory, so there can be nothing below it',
    rule: undefined,
    notes: [],
    fix: undefined,
  })
  // Nor is it allowed where a rule grants it, whoever asks.
  write(`${tool}${rule('.', 'read', 'write')}`)
  expect(await ask('read', 'a/f/x')).toMatchObject({
    allowed: false,
    because: 'a/f is no directory, so there can be nothing below it',
  })
})

test('a way over a link that no rule shows is not there inside, and the edit names it', async () => {
  write(`[[conversation.tools.fs_modify_file.access.fs]]\npath = "a/b/c"\nupdate = true\n`)
  expect(await ask('update', 'a/b/c/f', 'fs_modify_file')).toMatchObject({ allowed: true })
  expect(await ask('update', 'd/link/c/f', 'fs_modify_file')).toMatchObject({
    allowed: false,
    canonical: 'a/b/c/f',
    because: 'the way leads over a link in a directory that no rule shows',
    fix: { value: '+{ path = "d/link/c/f", update = true }' },
  })
})

test('SPEC 4.12 a way over a link through a covered directory is closed for any program, and that one is named', async () => {
  symlinkSync('d/../a', join(root, 'detour'))
  write(`${tool}${rule('.', 'read')}${rule('d')}`)
  expect(await ask('read', 'a/f')).toMatchObject({ allowed: true })
  expect(await ask('read', 'detour/f')).toMatchObject({
    allowed: false,
    canonical: 'a/f',
    because: 'the way leads over a link through d, which no rule shows',
  })
})

test('SPEC 4.7 a tool whose own program may not be executed can do nothing, and the edit is about that', async () => {
  const own = tool.replace('["true"]', '["a/f"]')
  write(`${own}${rule('d', 'read')}`)
  const fix = { value: '+{ path = "a/f", read = true, execute = true }' }
  for (const [capability, target] of [
    ['read', 'd/f'],
    ['env', 'HOME'],
  ] as const)
    expect(await ask(capability, target)).toMatchObject({
      question: { capability, target },
      allowed: false,
      because: 'it cannot be started at all: execute a/f is denied, because no rule covers that path',
      fix,
    })
  expect(await ask('execute', 'a/f')).toMatchObject({ because: 'no rule covers that path', fix })
  write(`${own}${rule('d', 'read')}${rule('a/f', 'read', 'execute')}`)
  expect(await ask('read', 'd/f')).toMatchObject({ allowed: true })
  // Where nothing is confined, nothing keeps it from starting.
  const outside = { ...options, cfg: ['sandbox.mode="off"'] }
  write(`${own}${rule('d', 'read')}`)
  const project = await openAmbientProject(outside)
  const policies = await compileProject(project, compiler)
  expect(why(project, policies, 't', parseQuestion('read', 'd/f'), place())).toMatchObject({ allowed: true })
})

/** Rules of a shipped tool, where `rule` writes them for `t`. */
const of = (name: string, text: string): string => text.replaceAll('tools.t.', `tools.${name}.`)

test('SPEC 4.12 a shipped tool that reads is planned as it is called: without rights that it never uses', async () => {
  // No kernel could hold this of a program that writes; what is never written needs nobody to hold it.
  write(of('fs_read_file', `${rule('.', 'read', 'write')}${rule('a', 'read', 'create')}`))
  expect(await ask('read', 'a/f', 'fs_read_file')).toMatchObject({ allowed: true, notes: [] })
  expect(await ask('update', 'f', 'fs_read_file')).toMatchObject({
    allowed: false,
    because: 'this tool only reads',
    fix: undefined,
  })
  // What grants only writing shows it nothing: the link is not there inside, and the edit names it.
  for (const name of ['fs_read_file', 'fs_grep_files']) {
    write(of(name, rule('.', 'create')))
    expect(await ask('read', 'd/link/c/f', name)).toMatchObject({
      allowed: false,
      canonical: 'a/b/c/f',
      fix: { value: '+{ path = "d/link/c/f", read = true, create = true }' },
    })
  }
})

test('SPEC 1.3 what is deleted or moved is the link, so that no edit names it', async () => {
  write(of('fs_delete_file', rule('a', 'delete')))
  expect(await ask('delete', 'd/link', 'fs_delete_file')).toMatchObject({
    allowed: false,
    canonical: 'd/link',
    fix: { value: '+{ path = "d", delete = true }' },
  })
})

test('SPEC 1.8 a move replaces a file and no link: why asks about the entry, as the tool does', async () => {
  write(of('fs_move_file', rule('a', 'read', 'write')))
  // What the link leads to could be updated, and the link is not.
  expect(await ask('update', 'd/link', 'fs_move_file')).toMatchObject({
    allowed: false,
    canonical: 'd/link',
    because: 'd/link is a link, and only a file is replaced',
    fix: undefined,
  })
  expect(await ask('update', 'd/f', 'fs_move_file')).toMatchObject({
    fix: { value: '+{ path = "d/f", update = true }' },
  })
  write(of('fs_modify_file', rule('a', 'read', 'write')))
  expect(await ask('update', 'd/link/c/f', 'fs_modify_file')).toMatchObject({ canonical: 'a/b/c/f' })
})

test('SPEC 4.7 what a program that is not ours can never do is a no, with the least rule that makes it work', async () => {
  write(`${tool}${rule('a/f', 'read', 'write')}`)
  expect(await ask('update', 'a/f')).toMatchObject({ allowed: true })
  expect(await ask('delete', 'a/f')).toMatchObject({
    allowed: false,
    because:
      'a path with a rule of its own can be changed in place, and not be removed or replaced: that is for a rule of the directory above',
    fix: { value: '+{ path = "a", read = true, create = true, update = true, delete = true }' },
  })
  write(`${tool}${rule('new/deep', 'read', 'write')}`)
  expect(await ask('create', 'new/deep/x')).toMatchObject({
    allowed: false,
    because:
      'its rule is for a path that does not exist yet, and nothing is made there while the directory above does not grant create; make it first, or grant that',
    fix: { value: '+{ path = ".", create = true }' },
  })
})

test('SPEC 4.7 what a shipped tool can never do is a no, with the reason and without an edit', async () => {
  execFileSync('mkfifo', [join(root, 'pipe')])
  const everything = rule('.', 'read', 'write', 'execute')
  for (const [name, capability, target, because] of [
    ['fs_read_file', 'read', 'a', 'a is a directory, and only a file is read'],
    ['fs_read_file', 'read', 'pipe', 'pipe is a fifo, and only a file is read'],
    ['fs_list_files', 'read', 'f', 'f is a file, and only a directory is listed'],
    ['fs_grep_files', 'read', 'pipe', 'pipe is a fifo, and only files and directories are searched'],
    ['fs_list_files', 'update', 'f', 'this tool only reads'],
    ['fs_list_files', 'execute', 'f', 'this tool never needs execute'],
    ['fs_create_file', 'execute', 'f', 'this tool never needs execute'],
    ['fs_create_file', 'update', 'a', 'a is a directory, and only a file is replaced'],
    ['fs_create_file', 'create', 'a/f/x', 'a/f is no directory, so there can be nothing below it'],
    ['fs_modify_file', 'update', 'd/link', 'a/b is a directory, and only a file is changed'],
    ['fs_move_file', 'create', 'a', 'a is a directory, and only a file is replaced'],
  ] as const)
    for (const rules of [everything, rule('d', 'read')]) {
      write(of(name, rules))
      expect(await ask(capability, target, name), `${name} ${capability} ${target}`).toMatchObject({
        allowed: false,
        because,
        rule: undefined,
        notes: [],
        fix: undefined,
      })
    }
  rmSync(join(root, 'pipe'))
  // Another program in its place can.
  write(`${tool.replace('tools.t]', 'tools.fs_read_file]')}${of('fs_read_file', everything)}`)
  expect(await ask('read', 'a', 'fs_read_file')).toMatchObject({ allowed: true })
})

test('SPEC 4.12 no rule gives a network to a shipped tool that writes, and none is suggested', async () => {
  const allow = (name: string): string =>
    `[conversation.tools.${name}.access]\nnet = [{ host = "example.com", allow = true }]\n`
  const no = { because: 'the shipped tools that write never have a network', notes: [], fix: undefined }
  for (const name of ['fs_create_file', 'fs_modify_file', 'fs_delete_file', 'fs_move_file'])
    for (const text of ['', allow(name)]) {
      write(text)
      expect(await ask('net', 'https://example.com', name)).toMatchObject({ allowed: false, ...no })
    }
})

test('SPEC 4.7 a file that nobody may start is not started by a rule', async () => {
  write(`${tool}${rule('.', 'read', 'execute')}`)
  expect(await ask('execute', 'f')).toMatchObject({ allowed: true })
  chmodSync(join(root, 'f'), 0o644)
  const no = { allowed: false, because: 'the permissions of f do not let you', fix: undefined }
  expect(await ask('execute', 'f')).toMatchObject(no)
  write(`${tool}${rule('d', 'read')}`)
  expect(await ask('execute', 'f')).toMatchObject(no)
  chmodSync(join(root, 'f'), 0o755)
})

test('SPEC 1.3 what no rule can change says why, and not what was asked', async () => {
  write(of('fs_delete_file', rule('.', 'read', 'write')))
  expect(await ask('delete', '.', 'fs_delete_file')).toMatchObject({
    allowed: false,
    because: 'the workspace root is not an entry of the workspace',
  })
})

test.runIf(probeKernel().newRoot === 'works')(
  'SPEC 4.3 a directory with something in it that the kernel holds apart is not moved or removed, and why says so',
  async () => {
    const held = 'a/b/c below it is held by a mount of its own, so it is not moved or removed'
    for (const name of ['t', 'fs_delete_file']) {
      write(`${tool}${of(name, `${rule('.', 'read', 'write')}${rule('a/b/c', 'read')}`)}`)
      for (const target of ['a', 'a/b'])
        expect(await ask('delete', target, name)).toMatchObject({ allowed: false, because: held, notes: [] })
      expect(await ask('delete', 'a/f', name)).toMatchObject({ allowed: true })
      expect(await ask('delete', 'd', name)).toMatchObject({ allowed: true })
    }
    // What has the same all the way down needs no mount.
    write(`${tool}${rule('.', 'read', 'write')}${rule('a/b/c', 'read', 'write')}`)
    expect(await ask('delete', 'a')).toMatchObject({ allowed: true })
  },
)
