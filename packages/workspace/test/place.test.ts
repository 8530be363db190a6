import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  initWorkspace,
  openWorkspace,
  prepareLocal,
  trailOf,
  unmarkedWorkspace,
  userConfigFile,
  userDataDir,
} from '@cordon/workspace'
import { expect, onTestFinished, test } from 'vitest'
import { around, freshWorkspace, HOLDER, startChild, tempDir } from './fixture.ts'

test('a workspace is found from any directory below it, and nothing is written to find it', async () => {
  const { base, workspace } = await freshWorkspace('My Projekt (ä)')
  const before = readdirSync(workspace.local)
  const deep = join(workspace.root, 'a/b')
  mkdirSync(deep, { recursive: true })
  expect(openWorkspace(deep, around(base))).toEqual(workspace)
  expect(workspace).toMatchObject({
    slug: 'my-projekt-a',
    shared: join(workspace.root, '.cordon'),
    local: join(base, 'data/cordon/workspace', `my-projekt-a-${workspace.id}`),
  })
  expect(workspace.id).toMatch(/^[a-z0-9]{8}$/)
  expect(readdirSync(workspace.local)).toEqual(before)
  expect(openWorkspace(base, around(base))).toBeUndefined()
})

test('init keeps the id that is there, also when two run at once', async () => {
  const base = tempDir()
  const both = await Promise.all([1, 2].map(() => initWorkspace(base, around(base), HOLDER)))
  expect(both[0]).toEqual(both[1])
  expect(readFileSync(join(base, '.cordon/id'), 'utf8')).toBe(`${both[0]!.id}\n`)
})

test('a directory marked by hand has an id without having to be written to', () => {
  const base = tempDir()
  mkdirSync(join(base, '.cordon'))
  const first = openWorkspace(base, around(base))!
  expect(openWorkspace(base, around(base))).toEqual(first)
  expect(existsSync(join(base, '.cordon/id'))).toBe(false)
})

test('the id of a directory without one follows from its path, the same in every version', () => {
  expect(unmarkedWorkspace('/', around('/')).id).toBe('f32c619y')
  const [one, other] = ['one', 'other'].map((name) => join(tempDir(), name))
  for (const dir of [one!, other!]) mkdirSync(dir)
  expect(unmarkedWorkspace(one!, around('/')).id).not.toBe(unmarkedWorkspace(other!, around('/')).id)
})

test('the user-local place is closed to others, also if it was made by hand', async () => {
  const { workspace } = await freshWorkspace()
  rmSync(workspace.local, { recursive: true })
  mkdirSync(workspace.local, { recursive: true })
  chmodSync(workspace.local, 0o755)
  await prepareLocal(workspace, HOLDER)
  expect(statSync(workspace.local).mode & 0o777).toBe(0o700)
  expect(statSync(join(workspace.local, 'workspace.json')).mode & 0o777).toBe(0o600)
})

test('a directory has one place, also for who looks while another process records it', async () => {
  const base = tempDir()
  const roots = Array.from({ length: 20 }, (_, i) => join(base, `ws${i}`))
  for (const root of roots) mkdirSync(join(root, '.cordon'), { recursive: true })
  const child = startChild('prepare', [join(base, 'data'), ...roots])
  onTestFinished(() => void child.kill('SIGKILL'))
  for (const root of roots) {
    const { local } = openWorkspace(root, around(base))!
    const seen = new Set([local])
    while (!existsSync(join(local, 'workspace.json')) && child.exitCode === null) {
      for (let i = 0; i < 20; i++) seen.add(openWorkspace(root, around(base))!.local)
      await setImmediate()
    }
    expect([...seen]).toEqual([local])
  }
})

test('a renamed workspace keeps its place', async () => {
  const { base, workspace } = await freshWorkspace('before')
  await prepareLocal(workspace, HOLDER)
  renameSync(workspace.root, join(base, 'after'))
  const renamed = openWorkspace(join(base, 'after'), around(base))!
  expect(renamed.local).toBe(workspace.local)
  await prepareLocal(renamed, HOLDER)
  expect(JSON.parse(readFileSync(join(renamed.local, 'workspace.json'), 'utf8'))).toMatchObject({
    root: join(base, 'after'),
  })
})

test('a copy with the same id gets a place of its own, while the first lives and after it is gone', async () => {
  const { base, workspace } = await freshWorkspace('project')
  await prepareLocal(workspace, HOLDER)
  mkdirSync(join(base, 'evil'))
  cpSync(workspace.root, join(base, 'evil/project'), { recursive: true, preserveTimestamps: true })
  const copy = openWorkspace(join(base, 'evil/project'), around(base))!
  expect(copy.id).toBe(workspace.id)
  expect(copy.local).not.toBe(workspace.local)
  rmSync(workspace.root, { recursive: true })
  expect(openWorkspace(copy.root, around(base))!.local).toBe(copy.local)
  await prepareLocal(copy, HOLDER)
  expect(openWorkspace(copy.root, around(base))!.local).toBe(copy.local)
})

test('a fresh checkout at the same path, with the same id, finds the place of the last one', async () => {
  const { base, workspace } = await freshWorkspace('project')
  await prepareLocal(workspace, HOLDER)
  cpSync(workspace.root, join(base, 'clone'), { recursive: true })
  rmSync(workspace.root, { recursive: true })
  renameSync(join(base, 'clone'), workspace.root)
  expect(openWorkspace(workspace.root, around(base))!.local).toBe(workspace.local)
})

test('two copies that look at the same moment do not share a place', async () => {
  const { base, workspace } = await freshWorkspace('project')
  rmSync(workspace.local, { recursive: true })
  cpSync(workspace.root, join(base, 'x/project'), { recursive: true })
  const copy = openWorkspace(join(base, 'x/project'), around(base))!
  expect(copy.local).toBe(workspace.local) // neither is recorded yet
  await prepareLocal(workspace, HOLDER)
  await expect(prepareLocal(copy, HOLDER)).rejects.toThrow(
    `cannot use the workspace at ${copy.root}: its user-local place was taken a moment ago; run this again`,
  )
  expect(openWorkspace(copy.root, around(base))!.local).not.toBe(workspace.local)
})

test('a damaged record gives the place to nobody', async () => {
  const { base, workspace } = await freshWorkspace('project')
  await prepareLocal(workspace, HOLDER)
  writeFileSync(join(workspace.local, 'workspace.json'), '{"root":')
  expect(openWorkspace(workspace.root, around(base))!.local).not.toBe(workspace.local)
})

test.for([
  ['an id that climbs', '../../../../etc'],
  ['an empty id', ''],
  ['a long id', 'a'.repeat(5000)],
  ['an id in capitals', 'ABCDEFGH'],
])('%s is refused, and init renews it', async ([, id]) => {
  const base = tempDir()
  mkdirSync(join(base, '.cordon'))
  writeFileSync(join(base, '.cordon/id'), id!)
  expect(() => openWorkspace(base, around(base))).toThrow(
    `cannot use the workspace at ${base}: .cordon/id is not an id (5 to 10 of a-z and 0-9); run \`cordon init\` to renew it`,
  )
  expect((await initWorkspace(base, around(base), HOLDER)).id).toMatch(/^[a-z0-9]{8}$/)
})

test('a linked marker does not borrow the workspace it points to', async () => {
  const { base, workspace } = await freshWorkspace()
  mkdirSync(join(base, 'other'))
  symlinkSync(workspace.shared, join(base, 'other/.cordon'))
  expect(() => openWorkspace(join(base, 'other'), around(base))).toThrow(
    `cannot use the workspace at ${join(base, 'other')}: .cordon is a symbolic link; it must be a directory of its own`,
  )
  rmSync(join(workspace.shared, 'id'))
  symlinkSync('/etc/hostname', join(workspace.shared, 'id'))
  expect(() => openWorkspace(workspace.root, around(base))).toThrow('.cordon/id: it is a symbolic link')
})

test('a marker that another user put above us is refused', () => {
  const base = tempDir()
  mkdirSync(join(base, '.cordon'))
  mkdirSync(join(base, 'mine'))
  const owner = process.getuid!() === 0 ? 12345 : process.getuid!()
  if (process.getuid!() === 0) chownSync(join(base, '.cordon'), owner, owner)
  const me = { uid: 54321 }
  const refused = `cannot use the workspace at ${base}: .cordon belongs to the user with id ${owner}, who could make your tools run anything; use a directory of your own`
  const trust = `if you trust that user with everything of yours: CORDON_TRUST_UID=${owner}`
  const messageFor = (uid: number): string => {
    try {
      openWorkspace(join(base, 'mine'), around(base, { uid }))
    } catch (error) {
      return (error as Error).message
    }
    return 'it was opened'
  }
  expect(messageFor(me.uid)).toBe(`${refused}; ${trust}`)
  // Root alone can take it over.
  expect(messageFor(0)).toBe(`${refused}, or take it over with chown; ${trust}`)
  const trusting = around(base, { ...me, env: { CORDON_TRUST_UID: String(owner) } })
  expect(openWorkspace(join(base, 'mine'), trusting, 'any')?.root).toBe(base)
})

test('SPEC 2.1 a mark that this user neither made nor used counts for its own directory, and not for those below', async () => {
  const base = tempDir()
  const deep = join(base, 'clone/src')
  mkdirSync(deep, { recursive: true })
  mkdirSync(join(base, 'clone/.cordon'))
  const me = around(base)
  expect(openWorkspace(join(base, 'clone'), me)?.root).toBe(join(base, 'clone'))
  expect(openWorkspace(deep, me)).toBeUndefined()
  expect(unmarkedWorkspace(deep, me)).toMatchObject({ root: deep, passedOver: [join(base, 'clone')] })
  expect(openWorkspace(deep, me, 'any')?.root).toBe(join(base, 'clone'))
  await prepareLocal(openWorkspace(join(base, 'clone'), me)!, HOLDER)
  expect(openWorkspace(deep, me)?.root).toBe(join(base, 'clone'))
})

test('the places of a user follow the platform, and a relative XDG path is ignored', () => {
  const plain = { env: { XDG_DATA_HOME: 'relative' }, platform: 'linux', home: '/home/u', uid: 1 }
  expect(userDataDir(plain)).toBe('/home/u/.local/share/cordon')
  expect(userDataDir({ ...plain, platform: 'darwin' })).toBe('/home/u/Library/Application Support/cordon')
  expect(userDataDir({ ...plain, env: { XDG_DATA_HOME: '/d' } })).toBe('/d/cordon')
  expect(userConfigFile({ ...plain, env: { XDG_CONFIG_HOME: '/c' } })).toBe('/c/cordon/config.toml')
  expect(userConfigFile(plain)).toBe('/home/u/.config/cordon/config.toml')
})

test('SPEC 2.1 inside another workspace a mark counts only where this user made it', async () => {
  const { base, workspace } = await freshWorkspace()
  const inner = join(workspace.root, 'src')
  mkdirSync(join(inner, '.cordon/deeper/.cordon'), { recursive: true })
  expect(openWorkspace(inner, around(base))).toEqual({ ...workspace, passedOver: [inner] })
  expect(openWorkspace(join(inner, '.cordon/deeper'), around(base))?.passedOver).toEqual([
    join(inner, '.cordon/deeper'),
    inner,
  ])
  const made = await initWorkspace(inner, around(base), HOLDER)
  expect(made.root).toBe(inner)
  expect(openWorkspace(inner, around(base))).toEqual(made)
  expect(openWorkspace(join(inner, '.cordon/deeper'), around(base))).toEqual({
    ...made,
    passedOver: [join(inner, '.cordon/deeper')],
  })
})

test('SPEC 2.1 an id that is changed in place leads to the same place; another directory at the path does not', async () => {
  const { base, workspace } = await freshWorkspace()
  await prepareLocal(workspace, HOLDER)
  writeFileSync(join(workspace.root, '.cordon/id'), 'another1\n')
  const changed = openWorkspace(workspace.root, around(base))!
  expect(changed.local).toBe(workspace.local)
  await prepareLocal(changed, HOLDER)
  rmSync(join(workspace.root, '.cordon/id'))
  expect(openWorkspace(workspace.root, around(base))?.local).toBe(workspace.local)
  renameSync(workspace.root, join(base, 'moved'))
  mkdirSync(join(workspace.root, '.cordon'), { recursive: true })
  expect(openWorkspace(workspace.root, around(base))?.local).not.toBe(workspace.local)
})

test('what was absent a moment ago is not looked at again for a name below it, if somebody keeps it', () => {
  const dir = tempDir()
  const absent = new Set<string>()
  const missing = [{ path: join(dir, 'a/b'), is: 'missing' }]
  expect(trailOf(dir, 'a/b', absent)).toEqual(missing)
  expect([...absent]).toEqual([join(dir, 'a')])
  mkdirSync(join(dir, 'a/b'), { recursive: true })
  expect(trailOf(dir, 'a/b', absent)).toEqual(missing)
  expect(trailOf(dir, 'a/b')).toEqual([{ path: join(dir, 'a/b'), is: 'dir' }])
})
