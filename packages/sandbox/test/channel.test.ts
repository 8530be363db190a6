import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { itemsFor } from '../src/call.ts'
import { openFileChannel } from '../src/channel.ts'
import { encodeItems } from '../src/linux/encode.ts'
import { type Item } from '../src/linux/items.ts'
import { BASE_ENV, IDENTITIES, makeWorld, planFor, reachableLauncher, removeWorlds, run } from './confine.ts'

afterAll(removeWorlds)

/** Tries to say how it ended itself, through every descriptor of the launcher's processes that it sees. */
const FORGE = `
for process in /proc/[0-9]*; do
  read name < $process/comm && [ "$name" = cordon-launch ] || continue
  echo "found"
  for file in $process/fd/*; do
    (echo 'exit code=0' > $file) 2>/dev/null && echo "wrote $file"
  done
done
exit 9`

/** SPEC 4.3, decision 0146: what passes between host and launcher is no business of the program. */
describe.each(IDENTITIES)('the plan and the report, as $name', (who) => {
  test.each([{}, { simulate: { userns: false } as const }])(
    'cannot be reached from inside: %j',
    async (plan) => {
      const world = makeWorld(who)
      const { code, stdout } = await run({ who, world, script: FORGE, plan })
      // With namespaces pid 1; without them others of this machine as well.
      expect([code, [...new Set(stdout.trim().split('\n'))]]).toEqual([9, ['found']])
    },
  )

  test('nothing is started for a host that is gone, or is another one', () => {
    const world = makeWorld(who)
    const call = { argv: ['sh', '-c', 'echo ran > ran'], env: BASE_ENV } as const
    const launch = (host: number): number | null => {
      const items: readonly Item[] = [
        ...itemsFor(planFor({ who, world }), call, []),
        { tag: 'host', pid: host },
      ]
      writeFileSync(join(world.dir, 'plan'), encodeItems(items))
      const plan = openSync(join(world.dir, 'plan'), 'r+')
      const options = {
        argv0: 'cordon-launch',
        stdio: ['ignore', 'ignore', 'ignore', plan],
        ...who.as,
      } as const
      const { status } = spawnSync(reachableLauncher().path, [], { ...options, stdio: [...options.stdio] })
      closeSync(plan)
      return status
    }
    expect([launch(process.pid + 1), existsSync(join(world.root, 'ran'))]).toEqual([125, false])
    expect([launch(process.pid), existsSync(join(world.root, 'ran'))]).toEqual([0, true])
  })
})

test('what was reported is read from behind the plan', () => {
  const channel = openFileChannel(Buffer.from('the plan'))!
  expect(channel.report()).toBe('')
  // As the launcher does: reads the plan, and writes where that ended.
  spawnSync('sh', ['-c', 'head -c 8 <&3 >/dev/null; printf "exit code=3\\n\\nsaid" >&3'], {
    stdio: ['ignore', 'ignore', 'ignore', channel.stdio],
  })
  expect(channel.report()).toBe('exit code=3\n\nsaid')
  channel.close()
})

/** A file in memory cannot be had where files may not grow, or where there is no place for it. */
describe('without a file in memory', () => {
  const cordon = fileURLToPath(new URL('../../cli/bin/cordon', import.meta.url))
  const world = makeWorld(IDENTITIES[0]!)
  const outside = (script: string, ...before: string[]) => {
    const [program, ...args] = [...before, 'sh', '-c', script, cordon]
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: world.root, encoding: 'utf8' })
    return { status, stdout, stderr }
  }
  const ended = { status: 3, stdout: 'out\n', stderr: 'err\n' }
  const RUN = `"$0" run -- sh -c 'echo out; echo err >&2; exit 3'`

  test('a limit on the size of files changes nothing', () => {
    // 4096 bytes: too few for the plan with the room behind it, and enough for the record of a run (decision 0641).
    expect(outside(`ulimit -f 8; exec ${RUN}`)).toEqual(ended)
  })

  test.runIf(process.getuid?.() === 0)('nor does a /dev/shm that cannot be written', () => {
    const script = `mount -t tmpfs -o ro none /dev/shm && exec ${RUN}`
    expect(outside(script, 'unshare', '-m')).toEqual(ended)
  })
})
