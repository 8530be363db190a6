import { chmodSync, chownSync, mkdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { type Confined, LaunchError, type LauncherState, spawnConfined } from '@cordon/sandbox'
import { afterAll, describe, expect, test } from 'vitest'
import { type Item } from '../src/linux/items.ts'
import { findSecrets } from '../src/plan/secrets.ts'
import {
  BASE_ENV,
  IDENTITIES,
  type Identity,
  makeWorld,
  planFor,
  reachableLauncher,
  run,
  removeWorlds,
  scratchDir,
  withSecretsIn,
  type World,
} from './confine.ts'
import { mountsSeen } from './mounts.ts'

afterAll(removeWorlds)

const isRoot = process.getuid?.() === 0
const USER = { uid: 64_321, gid: 64_321 }
/** What a group is called inside that an ordinary user may not map; it still opens files. */
const UNMAPPED = 65_534

/** A launcher that another program starts, by exec: its parent must stay the host. */
function launcherBy(command: string): LauncherState {
  const path = join(scratchDir(), 'by-another')
  // Found on PATH, because the launcher must be called by its own name.
  const found = `PATH=${dirname(reachableLauncher().path)}:$PATH`
  writeFileSync(path, `#!/bin/sh\n${found} exec ${command} cordon-launch\n`)
  chmodSync(path, 0o755)
  return { state: 'ready', path }
}

/** A launcher that is started by an ordinary user with one more group. */
const launcherInGroup = (group: number): LauncherState =>
  launcherBy(`setpriv --reuid ${USER.uid} --regid ${USER.gid} --groups ${group} --`)

/** The outermost paths that cannot be read, as the launcher's list has them. */
const unreadable = (dir: string): string =>
  `find ${dir} ! -type l '(' ! -readable -o -type d ! -executable ')' -prune -print`

describe.each(IDENTITIES)('as $name', (who) => {
  test('SPEC 4.3 the launcher covers in /etc what the host says is secret', async () => {
    const world = makeWorld(who)
    const { stdout } = await run({ who, world, script: unreadable('/etc') })
    expect(stdout.trim().split('\n').toSorted()).toEqual(findSecrets('/etc').secrets.toSorted())
  })
})

test.runIf(isRoot)('SPEC 4.3 being in the group of /etc/shadow does not help', async () => {
  const who = { name: 'a member of shadow', as: USER }
  const world = makeWorld(who)
  const { stdout } = await run({
    who: { name: who.name }, // setpriv needs to be started by root
    world,
    script: `id -G; ${unreadable('/etc')}`,
    spawn: { launcher: launcherInGroup(statSync('/etc/shadow').gid) },
  })
  const [groups, ...paths] = stdout.trim().split('\n')
  expect(groups).toBe(`${USER.gid} ${UNMAPPED}`)
  expect(paths.toSorted()).toEqual(findSecrets('/etc').secrets.toSorted())
})

interface Treatment {
  readonly when?: 'in-turn' | 'last'
  /** What is mounted in it afterwards. */
  readonly inside?: readonly Item[]
  readonly launcher?: LauncherState
}

/** Starts a script with `etc` in the workspace treated as /etc is. */
function startIn(
  who: Identity,
  world: World,
  script: string,
  { when = 'last', inside = [], launcher = reachableLauncher() }: Treatment = {},
): Confined {
  return spawnConfined(withSecretsIn(planFor({ who, world }), join(world.root, 'etc'), when, inside), {
    argv: ['sh', '-c', script],
    env: BASE_ENV,
    launcher,
    ...(who.as ? { as: who.as } : {}),
  })
}

async function runIn(
  who: Identity,
  world: World,
  script: string,
  treatment: Treatment = {},
): Promise<readonly string[]> {
  const { stdin, stdout, exit } = startIn(who, world, script, treatment)
  stdin?.end()
  const said = stdout?.toArray()
  await exit
  return Buffer.concat((await said) ?? [])
    .toString()
    .split('\n')
    .filter((line) => line !== '')
}

/** Only its owner may read it. */
function hide(path: string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, 'SECRET')
  chmodSync(path, 0o600)
}

describe.each(IDENTITIES)('a directory treated as /etc, as its owner, $name', (who) => {
  test('what is private is found at any depth and under any name', async () => {
    const names = [
      'key',
      'a/b/c/d/e/f/g/h/key',
      `${'deep/'.repeat(100)}key`,
      'a/ -rf *',
      'a/new\nline',
      `a/${'x'.repeat(255)}`,
      'a/\u{1f511}',
    ]
    const world = makeWorld(who, { 'etc/open': 'open', 'etc/closed/inside': 'SECRET' })
    const etc = join(world.root, 'etc')
    for (const name of names) hide(join(etc, name))
    chmodSync(join(etc, 'closed'), 0o750)
    symlinkSync('closed/inside', join(etc, 'link'))
    makeWorld(who, {}, world.dir)
    const script = `export LC_ALL=C; cat etc/open; echo; find etc -type f -exec cat {} + ; cat etc/closed/inside etc/link; chmod 644 etc/key; mv etc/closed etc/away; echo; ${unreadable('etc')} | sort`
    for (const when of ['in-turn', 'last'] as const)
      expect(await runIn(who, world, script, { when })).toEqual([
        'open',
        'open',
        ...['closed', ...names]
          .map((name) => `etc/${name}`)
          .join('\n')
          .split('\n')
          .toSorted(),
      ])
  })

  test('more secrets than a pipe holds', async () => {
    const world = makeWorld(who, { 'etc/open': '' })
    for (let i = 0; i < 1000; i++) hide(join(world.root, `etc/${'a-long-name-'.repeat(8)}${i}`))
    makeWorld(who, {}, world.dir)
    expect(await runIn(who, world, 'find etc ! -readable | wc -l; cat etc/*9')).toEqual(['1000'])
  })

  test('a directory that does not exist ends the launch', async () => {
    const world = makeWorld(who)
    const failed: unknown = await runIn(who, world, 'echo started').catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(LaunchError)
    expect(String(failed)).toBe(
      `LaunchError: the sandbox could not be built, so nothing was started: secrets ${world.root}/etc: ENOENT: the path changed after it was checked, or may not be entered\n  fix: try again`,
    )
  })
})

test.runIf(isRoot)('a directory that everybody but our group may list is covered whole', async () => {
  const who = { name: 'an ordinary user', as: USER }
  const world = makeWorld(who, { 'etc/open': 'open' })
  const dir = join(world.root, 'etc/known')
  mkdirSync(dir)
  writeFileSync(join(dir, 'name'), 'SECRET')
  for (const [path, mode] of [
    [join(dir, 'name'), 0o640],
    [dir, 0o715],
  ] as const) {
    chownSync(path, 0, USER.gid)
    chmodSync(path, mode)
  }
  expect(await runIn(who, world, 'cat etc/open; cat etc/known/name')).toEqual(['open'])
})

describe.runIf(isRoot)('root, for whom the kernel itself holds it (decision 0247)', () => {
  const who = { name: 'root' }

  test('SPEC 4.3 a secret that is replaced while a command runs stays one', async () => {
    const world = makeWorld(who, { 'etc/open': 'open' })
    const etc = join(world.root, 'etc')
    hide(join(etc, 'shadow'))
    const script = 'read line; cat etc/open; cat etc/shadow etc/later'
    const { stdin, stdout, exit } = startIn(who, world, `echo started; ${script}`)
    const said = stdout!.setEncoding('utf8').iterator({ destroyOnReturn: false })
    expect(await said.next()).toEqual({ done: false, value: 'started\n' })
    // As useradd and passwd do it: a mount on a file goes when the host replaces the file.
    hide(join(etc, 'shadow+'))
    renameSync(join(etc, 'shadow+'), join(etc, 'shadow'))
    hide(join(etc, 'later'))
    stdin!.end('\n')
    expect(await said.next()).toEqual({ done: false, value: 'open' })
    expect(await said.next()).toEqual({ done: true, value: undefined })
    expect((await exit).code).toBe(1)
  })

  test('SPEC 4.3 nothing that is mounted in it shows on the host, whose mounts are shared', async () => {
    const world = makeWorld(who, { 'etc/hosts': 'the host' })
    const path = join(world.root, 'etc/hosts')
    const host = spawn('unshare', ['--mount', '--propagation', 'shared', 'sh', '-c', 'echo ready; read line'])
    await once(host.stdout, 'data')
    const before = mountsSeen(world.dir, host.pid)
    const launcher = launcherBy(`nsenter --mount=/proc/${host.pid}/ns/mnt --`)
    const inside = [{ tag: 'content', path, text: 'the sandbox' }] as const
    expect(await runIn(who, world, 'cat etc/hosts', { launcher, inside })).toEqual(['the sandbox'])
    expect(mountsSeen(world.dir, host.pid)).toEqual(before)
    host.stdin.end()
    await once(host, 'close')
  })
})
