import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LaunchError } from '@cordon/sandbox'
import { afterAll, describe, expect, test } from 'vitest'
import { findDelegatedCgroup, locateCgroup, memorySettings, openCgroup } from '../src/cgroup.ts'
import { plan } from './survey.ts'
import { IDENTITIES, type Identity, makeWorld, removeWorlds, run } from './confine.ts'

afterAll(removeWorlds)

const mount = (root: string, top: string): string =>
  `30 24 0:26 ${root} ${top} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n`

test.each([
  [
    'of a systemd session',
    '0::/user.slice/a.scope\n',
    mount('/', '/sys/fs/cgroup'),
    '/sys/fs/cgroup/user.slice/a.scope',
  ],
  ['beside version 1', '4:memory:/x\n0::/\n', mount('/', '/sys/fs/cgroup/unified'), '/sys/fs/cgroup/unified'],
  ['of a container without a namespace', '0::/docker/1/a\n', mount('/docker/1', '/cg'), '/cg/a'],
  ['that is the mount itself', '0::/docker/1\n', mount('/docker/1', '/cg'), '/cg'],
  ['outside what is mounted', '0::/docker/12\n', mount('/docker/1', '/cg'), undefined],
  ['with version 1 only', '4:memory:/x\n', mount('/', '/sys/fs/cgroup'), undefined],
  ['without a mount', '0::/\n', '30 24 0:26 / /proc rw - proc proc rw\n', undefined],
])('a cgroup %s', (_, cgroups, mounts, dir) => {
  expect(locateCgroup(cgroups, mounts)?.dir).toBe(dir)
})

test('a limit of all processes together is planned where a cgroup is ours, and a loss where none is', () => {
  const limits = { memory: 1 << 20 }
  expect(plan({}, {}, { limits, cgroup: '/cg' })).toMatchObject({
    cgroup: { parent: '/cg', memory: 1 << 20 },
    lost: [],
  })
  expect(plan({}, {}, { limits }).lost.map(({ guarantee, declared }) => [guarantee, declared])).toEqual([
    ['total-memory', true],
  ])
  // Nobody asked for a limit: ours is for each process, and that is all that is said of it.
  expect(plan({}, {}, { cgroup: '/cg' })).toMatchObject({ cgroup: undefined, lost: [] })
  expect(memorySettings(4096)).toMatchObject({ 'memory.max': '4096', 'memory.oom.group': '1' })
})

test('a limit that cannot be set ends the launch', () => {
  const parent = mkdtempSync(join(tmpdir(), 'cordon-cgroup-'))
  expect(() => openCgroup(parent, { 'memory.max': '1' })).toThrow(LaunchError) // no such file in a plain directory
  expect(() => openCgroup(join(parent, 'missing'), {})).toThrow(LaunchError)
})

/** A real cgroup v2 in which we may make others. The memory controller need not be there: what is joined and removed is. */
const real = ((): string | undefined => {
  const own = locateCgroup(
    readFileSync('/proc/self/cgroup', 'utf8'),
    readFileSync('/proc/self/mountinfo', 'utf8'),
  )
  if (!own) return undefined
  const dir = join(own.dir, `cordon-test-${process.pid}`)
  try {
    mkdirSync(dir)
    rmdirSync(dir)
    return own.dir
  } catch {
    return undefined
  }
})()

describe.runIf(real !== undefined)('in a real cgroup', () => {
  const isThere = (dir: string): boolean => existsSync(dir)

  test('a process joins it, and it is removed when that has ended', async () => {
    const cgroup = openCgroup(real!, { 'cgroup.max.depth': '0' })
    expect(readFileSync(join(cgroup.dir, 'cgroup.max.depth'), 'utf8')).toBe('0\n')
    const child = spawn('cat')
    cgroup.join(child.pid!)
    expect(readFileSync(join(cgroup.dir, 'cgroup.procs'), 'utf8')).toBe(`${child.pid}\n`)
    cgroup.close()
    expect(isThere(cgroup.dir)).toBe(true) // not under somebody who is in it
    child.stdin.end()
    await once(child, 'close')
    cgroup.close()
    expect([isThere(cgroup.dir), cgroup.ranOut()]).toEqual([false, false])
  })

  test('what a killed host left is removed by the next, and nothing of a host that lives', () => {
    const { pid } = spawnSync('true')
    const [left, kept, foreign] = [`cordon-${pid}-0`, `cordon-${process.ppid}-0`, 'other'].map((name) =>
      join(real!, name),
    ) as [string, string, string]
    for (const dir of [left, kept, foreign]) mkdirSync(dir)
    openCgroup(real!, {}).close()
    expect([left, kept, foreign].map(isThere)).toEqual([false, true, true])
    for (const dir of [kept, foreign]) rmdirSync(dir)
  })
})

test.runIf(real !== undefined && findDelegatedCgroup() === undefined)(
  'without the controller nothing is started in it, and nothing is left of it',
  async () => {
    const [who] = IDENTITIES as [Identity]
    const asked = { who, world: makeWorld(who), plan: { limits: { memory: 1 << 30 }, cgroup: real! } }
    await expect(run(asked)).rejects.toThrow(
      new LaunchError({ step: 'cgroup', errno: 'ENOENT', item: undefined }),
    )
    expect(readdirSync(real!).filter((name) => name.startsWith('cordon-'))).toEqual([])
  },
)

/** Where the memory controller is delegated to us, all of it for real. */
describe.runIf(findDelegatedCgroup() !== undefined).each(IDENTITIES.slice(0, 1))(
  'with its controller, as $name',
  (who) => {
    test('many processes together are held to the limit, and it is said', async () => {
      const world = makeWorld(who)
      const hog = 'python3 -c "import time; x = bytearray(40 << 20); time.sleep(200)"'
      const ended = await run({
        who,
        world,
        script: `${hog} & ${hog} & ${hog} & wait`,
        plan: { limits: { memory: 64 << 20 }, cgroup: findDelegatedCgroup() },
      })
      expect(ended.signal).toBe('SIGKILL')
      expect(ended.pressure).toEqual([
        {
          limit: 'memory_mb',
          text: 'all processes together reached the limit of 64 MiB of memory (sandbox.limits.memory_mb)',
        },
      ])
    })
  },
)
