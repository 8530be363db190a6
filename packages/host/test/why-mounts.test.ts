import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { probeKernel } from '@cordon/sandbox'
import { openWorkspace } from '@cordon/workspace'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listMounts } from '../src/mount/list.ts'
import { type Compiler, compileProject } from '../src/policies.ts'
import { openAmbientProject, type ProjectOptions } from '../src/project.ts'
import { parseQuestion } from '../src/why/question.ts'
import { why, type Why } from '../src/why/why.ts'
import { projectIn } from './why-place.ts'

let base: string
let root: string
let options: ProjectOptions
let compiler: Compiler

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-why-mounts-')))
  root = join(base, 'ws')
  for (const dir of ['ws/.cordon', 'ext', 'other', 'home']) mkdirSync(join(base, dir), { recursive: true })
  for (const file of ['ext/x', 'home/f.txt']) writeFileSync(join(base, file), '')
  ;({ options, compiler } = projectIn(base))
})

afterEach(() => rmSync(base, { recursive: true }))

/** A mount as somebody wrote it, and where it was approved to lead. */
function mount(tool: string, grants: string, approved?: string): void {
  const rules = `[{ path = "src", read = true }, { path = "fork", external = true, ${grants} }]`
  writeFileSync(join(root, '.cordon/config.toml'), `[conversation.tools.${tool}.access]\nfs = ${rules}\n`)
  const { local } = openWorkspace(root, options.surroundings)!
  mkdirSync(local, { recursive: true, mode: 0o700 })
  const entry = { rule_path: 'fork', canonical_target: approved, approved_at: '2026-01-01T00:00:00.000Z' }
  const mounts = approved === undefined ? [] : [entry]
  writeFileSync(join(local, 'approvals.json'), JSON.stringify({ mounts }), { mode: 0o600 })
}

async function ask(tool: string, capability: string, target: string): Promise<Why> {
  const project = await openAmbientProject(options)
  const mounts = await listMounts(project, compiler)
  const place = { cwd: root, home: compiler.home, env: {}, mounts }
  return why(project, await compileProject(project, compiler), tool, parseQuestion(capability, target), place)
}

test('SPEC 3.4 a mount that grants nothing: each state has its own words and its own way out', async () => {
  const asked = (): Promise<Why> => ask('fs_read_file', 'read', 'fork/x')
  const ext = join(base, 'ext')
  mount('fs_read_file', 'read = true')
  symlinkSync(ext, join(root, 'fork'))
  expect(await asked()).toMatchObject({
    allowed: false,
    because: 'nobody has approved where the mount fork leads, so it grants nothing',
    notes: [],
    command: 'cordon policy compile',
    at: 'terminal',
    fix: undefined,
  })
  mount('fs_read_file', 'read = true', join(base, 'other'))
  expect(await asked()).toMatchObject({
    because: 'the mount fork leads elsewhere than where it was approved to lead, so it grants nothing',
    notes: [`to put it back: ln -sfn ${base}/other fork`],
    command: 'cordon policy compile',
    at: 'terminal',
  })
  // Approving mends nothing that leads nowhere.
  rmSync(join(root, 'fork'))
  mount('fs_read_file', 'read = true', ext)
  const gone = await asked()
  expect(gone).toMatchObject({
    because: 'the mount fork is broken: there is no link fork',
    notes: [],
    command: `cordon mount add fs_read_file:fork=${ext}`,
  })
  expect(gone.at).toBeUndefined()
  symlinkSync(join(base, 'nowhere'), join(root, 'fork'))
  const dangling = await asked()
  expect(dangling).toMatchObject({
    because: 'the mount fork is broken: fork leads to nothing that exists',
    notes: ['make what it leads to, or take the mount away: cordon mount rm fork'],
  })
  expect(dangling.command).toBeUndefined()
  rmSync(join(root, 'fork'))
  mount('fs_read_file', 'read = true')
  expect(await asked()).toMatchObject({
    because: 'the mount fork is broken: there is no link fork',
    notes: ['make the link again, or take the mount away: cordon mount rm fork'],
  })
})

test('SPEC 3.3 a read-only mount, and one of another tool: the command that the tool prints, and no rule', async () => {
  const ext = join(base, 'ext')
  symlinkSync(ext, join(root, 'fork'))
  mount('fs_modify_file', 'read = true', ext)
  expect(await ask('fs_modify_file', 'update', 'fork/x')).toMatchObject({
    allowed: false,
    because: 'the rule for fork does not grant update',
    command: 'cordon mount add fs_modify_file:fork="$(readlink -f fork)":rw',
    fix: undefined,
  })
  expect(await ask('fs_create_file', 'create', 'fork/y')).toMatchObject({
    allowed: false,
    because: 'the mount fork is for fs_modify_file only',
    command: `cordon mount add fs_create_file:fork=${ext}:rw`,
  })
  expect(await ask('fs_read_file', 'read', 'fork/x')).toMatchObject({
    command: `cordon mount add fs_read_file:fork=${ext}`,
  })
})

test('SPEC 4.12 a file directly in the home cannot be replaced there, so that no mount of it is suggested', async () => {
  const file = join(base, 'home/f.txt')
  symlinkSync(file, join(root, 'fork'))
  mount('fs_modify_file', 'read = true', file)
  for (const [tool, capability] of [
    ['fs_modify_file', 'update'],
    ['fs_create_file', 'update'],
  ] as const) {
    const found = await ask(tool, capability, 'fork')
    expect(found).toMatchObject({
      allowed: false,
      notes: [
        'a single file is replaced in its directory, and that one is your home, or holds it or the workspace; mount a directory instead',
      ],
      fix: undefined,
    })
    expect(found.command).toBeUndefined()
  }
})

test('SPEC 1.3 a mount point is not removed by any tool, and no edit is offered; a command of the person may', async () => {
  const ext = join(base, 'ext')
  symlinkSync(ext, join(root, 'fork'))
  mount('fs_modify_file', 'read = true', ext)
  expect(await ask('fs_delete_file', 'delete', 'fork')).toMatchObject({
    allowed: false,
    because: 'it is a mount of fs_modify_file, and a mount point is not removed or moved by a tool',
    fix: undefined,
  })
  // What lies around it is as it was.
  expect(await ask('fs_delete_file', 'delete', 'forks')).toMatchObject({ allowed: true })
  expect(await ask('fs_create_file', 'create', 'fork2/x')).toMatchObject({ allowed: true })
})

test.runIf(probeKernel().newRoot === 'works')(
  'SPEC 1.3 nor by a program that is not ours: what its other rules say of the place around it does not count',
  async () => {
    const ext = join(base, 'ext')
    symlinkSync(ext, join(root, 'fork'))
    mount('mine', 'read = true, write = true }, { path = ".", read = true, write = true', ext)
    appendFileSync(
      join(root, '.cordon/config.toml'),
      '[conversation.tools.mine]\nsource = "local"\ncommand = ["true"]\n',
    )
    expect(await ask('mine', 'delete', 'fork')).toMatchObject({
      allowed: false,
      because: 'it is a mount of mine, and a mount point is not removed or moved by a tool',
      rule: undefined,
      fix: undefined,
    })
    expect(await ask('mine', 'delete', 'fork/x')).toMatchObject({ allowed: true })
  },
)
