import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { type Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { itemsFor } from '../src/call.ts'
import { encodeItems } from '../src/linux/encode.ts'
import { BASE_ENV, IDENTITIES, makeWorld, planFor, reachableLauncher, removeWorlds, run } from './confine.ts'
import { ASK_ENGINES, Engine } from './engine.ts'

afterAll(removeWorlds)

/** One layer at a time: what `cordon run` closes itself, and what it never allows, is left open here (e2e/run-docker.test.ts). */
describe.each(IDENTITIES)('a container engine of the host, as $name', (who) => {
  const argv = (...paths: string[]) => ['/usr/bin/python3', '-c', ASK_ENGINES, ...paths] as const
  const engineOf = (world: ReturnType<typeof makeWorld>, name: string): Promise<Engine> =>
    new Engine(join(world.dir, name)).listen()

  test('where unix sockets are allowed, what is outside is absent', async () => {
    const world = makeWorld(who, { '~/.docker/run/': '' })
    const engines = await Promise.all(
      ['docker.sock', 'home/.docker/run/docker.sock'].map((at) => engineOf(world, at)),
    )
    const [outside, inHome] = engines.map((engine) => engine.path) as [string, string]
    const { stdout } = await run({
      who,
      world,
      argv: argv(outside, inHome),
      plan: { unixSockets: 'private' },
    })
    const absent = [outside, inHome].flatMap((path, i) =>
      [
        path,
        `/proc/self/root${path}`,
        `/proc/1/root${path}`,
        ['../docker.sock', '../home/.docker/run/docker.sock'][i]!,
      ]
        .flatMap((name) => [name, name])
        .map((name) => `${name} ${name.startsWith('/proc/1/') ? 'EACCES' : 'ENOENT'}`),
    )
    expect(stdout.trim().split('\n')).toEqual(['inherited []', ...absent])
    expect(engines.flatMap((engine) => engine.asked)).toEqual([])
  })

  test.each([
    ['namespaces', {}],
    ['landlock-only', { simulate: { userns: false } }],
  ] as const)(
    'a connection or a directory that the launcher inherits is closed: %s',
    async (isolation, more) => {
      const world = makeWorld(who, { 'runtime/': '' })
      const engine = await engineOf(world, 'w/runtime/docker.sock')
      const plan = planFor({ who, world, argv: [...argv()], plan: more })
      expect(plan.isolation).toBe(isolation)
      const kept = await engine.keepOne()
      const dir = openSync(join(world.root, 'runtime'), 'r')
      const child = spawn(reachableLauncher().path, [], {
        argv0: 'cordon-launch',
        stdio: ['ignore', 'pipe', 'inherit', 'pipe', kept, dir, kept, dir],
        ...who.as,
      })
      const channel = child.stdio[3] as Duplex
      channel.write(encodeItems(itemsFor(plan, { argv: argv(), cwd: world.root, env: BASE_ENV }, [])))
      const [said] = await Promise.all([text(child.stdout!), text(channel), once(child, 'close')])
      closeSync(dir)
      expect({ said, asked: engine.asked }).toEqual({ said: 'inherited []\n', asked: [] })
    },
  )
})
