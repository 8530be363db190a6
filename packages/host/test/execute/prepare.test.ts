import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type PreparedTool, Preparations } from '../../src/execute/prepare.ts'
import { compileProject } from '../../src/policies.ts'
import type { Project } from '../../src/project.ts'
import { SessionPlace } from '../worker/support.ts'

const configFor = (tool: string, ...rules: readonly string[]): Record<string, string> => ({
  '.cordon/config.toml': `[conversation.tools.${tool}.access]\nfs = [${rules.join(', ')}]\n`,
})
const config = (...rules: readonly string[]): Record<string, string> => configFor('fs_read_file', ...rules)

/** Prepares the same tool again and again, as a session does. */
async function preparing(
  where: SessionPlace,
  name = 'fs_read_file',
): Promise<{ readonly prepare: (project?: Project) => Promise<PreparedTool>; readonly project: Project }> {
  const project = await where.project()
  const preparations = new Preparations()
  const compiler = { pid: process.pid, uid: process.getuid?.(), home: where.home, session: 'test' }
  const preparation = {
    name,
    compiler: { ...compiler, person: undefined },
    installation: { node: process.execPath, tools: '/tools.cjs' },
  }
  return { prepare: (now = project) => preparations.prepare(now, preparation), project }
}

const CHANGES: Readonly<Record<string, (root: string) => void>> = {
  'a link on the way leads elsewhere': (root) => {
    unlinkSync(join(root, 'link'))
    symlinkSync('b', join(root, 'link'))
  },
  'what was missing is there': (root) => mkdirSync(join(root, 'missing')),
  'a directory is a link by now': (root) => {
    renameSync(join(root, 'a'), join(root, 'c'))
    symlinkSync('b', join(root, 'a'))
  },
  'what was there is gone': (root) => rmSync(join(root, 'a'), { recursive: true }),
}

for (const [name, change] of Object.entries(CHANGES))
  test(`decision 0252: a policy is taken again for the next call, until ${name}`, async () => {
    const paths = ['link', 'missing/deep', 'a']
    await using where = new SessionPlace({
      ...config(...paths.map((path) => `{ path = "${path}", read = true }`)),
      'a/f': 'a',
      'b/f': 'b',
    })
    symlinkSync('a', join(where.root, 'link'))
    const { prepare } = await preparing(where)
    const first = await prepare()
    where.write('a/g', 'no rule is about it')
    expect(await prepare()).toBe(first)
    change(where.root)
    const next = await prepare()
    expect(next).not.toBe(first)
    expect(await prepare()).toBe(next)
  })

test('decision 0301: what comes out the same of a project that is opened anew is the one from before, and nothing else is', async () => {
  const tool = 'fs_create_file'
  await using where = new SessionPlace(configFor(tool, '{ path = ".", read = true, update = true }'))
  const { prepare } = await preparing(where, tool)
  const first = await prepare()
  const again = await prepare(await where.project())
  expect(again).not.toBe(first)
  expect([again.policy, again.boundary, again.context]).toEqual([first.policy, first.boundary, first.context])
  expect(again.policy === first.policy && again.boundary === first.boundary).toBe(true)
  where.write('.git/config', '[core]\nhooksPath = a/hooks\n')
  const guarded = await prepare(await where.project())
  expect(guarded.policy).not.toEqual(first.policy)
  where.write('.cordon/config.toml', configFor(tool, '{ path = "a", read = true }')['.cordon/config.toml']!)
  const other = await prepare(await where.project())
  expect(other.policy.fs.map(({ path }) => path)).toContain('a')
  expect((await prepare(await where.project())).policy).toBe(other.policy)
})

test('decision 0252: what a person was asked about is looked up for every call', async () => {
  await using mount = new SessionPlace(config('{ path = "fork", external = true, read = true }'))
  mkdirSync(join(mount.base, 'target'))
  symlinkSync(join(mount.base, 'target'), join(mount.root, 'fork'))
  await using secret = new SessionPlace({ ...config('{ path = ".env", read = true }'), '.env': 'x' })
  for (const where of [mount, secret]) {
    const { prepare } = await preparing(where)
    expect(await prepare()).not.toBe(await prepare())
  }
})

test('decision 0436: no guard is looked for that could take writing from a tool that only reads', async () => {
  const rule = '{ path = ".", read = true, write = true }'
  for (const [name, isGuarded] of [
    ['fs_read_file', false],
    ['fs_create_file', true],
  ] as const) {
    await using where = new SessionPlace({ ...configFor(name, rule), '.git/config': '[core]\n' })
    const { prepare, project } = await preparing(where, name)
    const { policy, boundary, context } = await prepare()
    expect(policy.fs.some(({ guard }) => guard !== undefined)).toBe(isGuarded)
    expect(context.data.access).toBe(policy)
    // The kernel lets one that only reads write nothing at all.
    if (!isGuarded) expect(boundary?.fs.map(({ path, grants }) => [path, ...grants])).toEqual([['.', 'read']])
    // Who asks is told of the guard, whoever it is about.
    const compiler = { pid: process.pid, uid: process.getuid?.(), home: where.home, session: 'test' }
    const { bySubject } = await compileProject(project, { ...compiler, person: undefined })
    const explained = [...bySubject].find(([subject]) => subject.name === name)?.[1]
    expect(explained?.fs.some(({ guard }) => guard !== undefined)).toBe(true)
  }
})
