import { chmodSync, chownSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { LaunchError, spawnConfined } from '@cordon/sandbox'
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
  type World,
} from './confine.ts'

afterAll(removeWorlds)

const isRoot = process.getuid?.() === 0
const USER = { uid: 64_321, gid: 64_321 }
/** What a group is called inside that an ordinary user may not map; it still opens files. */
const UNMAPPED = 65_534

/** A launcher that is started by an ordinary user with one more group. */
function launcherInGroup(group: number): { readonly state: 'ready'; readonly path: string } {
  const path = join(scratchDir(), 'in-group')
  const setpriv = `setpriv --reuid ${USER.uid} --regid ${USER.gid} --groups ${group}`
  // Found on PATH, because the launcher must be called by its own name.
  const found = `PATH=${dirname(reachableLauncher().path)}:$PATH`
  writeFileSync(path, `#!/bin/sh\n${found} exec ${setpriv} -- cordon-launch "$@"\n`)
  chmodSync(path, 0o755)
  return { state: 'ready', path }
}

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

/** Runs a script with `etc` in the workspace treated as /etc is. */
async function runIn(
  who: Identity,
  world: World,
  script: string,
  when: 'in-turn' | 'last' = 'last',
): Promise<readonly string[]> {
  const plan = planFor({ who, world })
  const items = plan.items.flatMap((item): readonly Item[] =>
    item.tag === 'bind' && item.path === world.root
      ? [item, { tag: 'cover-private', path: join(world.root, 'etc'), when }]
      : [item],
  )
  const { stdin, stdout, exit } = spawnConfined(
    { ...plan, items },
    {
      argv: ['sh', '-c', script],
      env: BASE_ENV,
      launcher: reachableLauncher(),
      ...(who.as ? { as: who.as } : {}),
    },
  )
  stdin?.end()
  const text = stdout?.toArray()
  await exit
  return Buffer.concat((await text) ?? [])
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
      expect(await runIn(who, world, script, when)).toEqual([
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
      `LaunchError: the sandbox could not be built, so nothing was started: secrets ${world.root}/etc: ENOENT. The path changed after it was checked, or may not be entered: try again.`,
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
