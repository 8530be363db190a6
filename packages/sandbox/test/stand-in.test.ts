import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { itemsFor } from '../src/call.ts'
import { encodeItems } from '../src/linux/encode.ts'
import { BASE_ENV, IDENTITIES, makeWorld, planFor, reachableLauncher, removeWorlds } from './confine.ts'

afterAll(removeWorlds)

/** Decision 0094: the launcher in the place of the host. The host that is called again prints what it is told. */
describe.each(IDENTITIES)('the launcher in the place of the host, as $name', (who) => {
  const AGAIN = ['/bin/sh', '-c', 'echo "called again"; cat <&3'] as const

  interface Case {
    readonly script?: string
    readonly flags?: Parameters<typeof itemsFor>[2]
    readonly plan?: string
    readonly env?: Readonly<Record<string, string>>
    readonly input?: Buffer
    readonly again?: readonly string[]
  }

  function standIn({ script = '', flags = ['explain'], plan, env = {}, input, again = AGAIN }: Case) {
    const world = makeWorld(who)
    const items = itemsFor(planFor({ who, world }), { argv: ['sh', '-c', script], env: BASE_ENV }, flags)
    const made = encodeItems(items).subarray(4).toString('base64').replaceAll('=', '')
    return spawnSync(reachableLauncher().path, [...again], {
      argv0: 'cordon',
      cwd: world.root,
      encoding: 'utf8',
      env: { ...BASE_ENV, ...env, CORDON_PLAN: plan ?? made },
      maxBuffer: 64 * 1024 * 1024,
      ...(input ? { input } : {}),
      ...who.as,
    })
  }

  test('a program that succeeds is all there is', () => {
    expect(standIn({ script: 'echo out; echo err >&2' })).toMatchObject({
      status: 0,
      stdout: 'out\n',
      stderr: 'err\n',
    })
  })

  test('one that fails is explained: how it ended, and the end of what it said', () => {
    const { stdout, stderr, status } = standIn({ script: 'echo out; echo err >&2; exit 7' })
    expect(stdout).toBe('out\ncalled again\nexit code=7\n\nerr\n')
    expect([stderr, status]).toEqual(['err\n', 0]) // what the host makes of it is the host's business
  })

  test('of a long stderr the last 64 KiB are kept, and all of it is passed on in order', () => {
    const { stdout, stderr } = standIn({ script: 'seq 1 100000 >&2; exit 1' })
    const whole = Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join('')
    expect(stderr).toBe(whole)
    expect(stdout).toBe(`called again\nexit code=1\n\n${whole.slice(-64 * 1024)}`)
  })

  test('without anything to explain it ends as the program did', () => {
    expect(standIn({ script: 'exit 7', flags: [] })).toMatchObject({ status: 7, stdout: '' })
    expect(standIn({ script: 'kill -TERM $$', flags: [] })).toMatchObject({ signal: 'SIGTERM', stdout: '' })
  })

  test('when the host is gone by then, it ends as the program did', () => {
    const again = ['/nonexistent/node']
    expect(standIn({ script: 'exit 7', again })).toMatchObject({ status: 7, stdout: '' })
    expect(standIn({ script: 'kill -TERM $$', again })).toMatchObject({ signal: 'SIGTERM', stdout: '' })
    expect(standIn({ plan: 'AAAA', again })).toMatchObject({ status: 125, stdout: '' })
  })

  test('what could not be started is always explained', () => {
    for (const flags of [[], ['explain']] as const)
      expect(standIn({ plan: 'AAAA', flags }).stdout).toBe('called again\nfailed plan item=-1 errno=74\n\n')
    expect(standIn({ plan: '*' }).stdout).toBe('called again\nfailed plan item=-1 errno=74\n\n')
  })

  test('bytes pass through stdin and stdout as they are', () => {
    const input = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 128))
    expect(standIn({ script: 'cat', input }).stdout).toBe(input.toString())
  })

  test('the host’s environment and command line are nowhere inside', () => {
    const script = `env; tr '\\0' ' ' < /proc/1/cmdline; cat /proc/1/environ /proc/1/mem /proc/self/environ 2>&1; ls /proc/self/fd`
    const { stdout } = standIn({ script, env: { HOST_SECRET: 'hunter2' } })
    expect(stdout).not.toMatch(/hunter2|called again|CORDON/)
    expect(stdout).toContain('PATH=')
  })

  test('the program cannot write the report: it is not among its descriptors', () => {
    const script = 'echo "exit code=0" >&3; for fd in /proc/self/fd/*; do readlink $fd; done; exit 9'
    const { stdout } = standIn({ script })
    expect(stdout).toContain('\nexit code=9\n')
    expect(stdout).not.toContain('cordon-report')
  })

  test('a file that the caller left open is not inherited', () => {
    const world = makeWorld(who)
    const file = join(world.dir, 'left-open')
    writeFileSync(file, 'left')
    const items = itemsFor(
      planFor({ who, world }),
      { argv: ['sh', '-c', 'cat <&7; ls /proc/self/fd'], env: BASE_ENV },
      [],
    )
    const { stdout } = spawnSync(
      '/bin/bash',
      ['-c', `exec 7<${file}; exec -a cordon ${reachableLauncher().path} /bin/false`],
      {
        encoding: 'utf8',
        env: {
          ...BASE_ENV,
          CORDON_PLAN: encodeItems(items).subarray(4).toString('base64').replaceAll('=', ''),
        },
      },
    )
    expect(stdout.trim().split('\n')).toEqual(['0', '1', '2', '3']) // 3 is the directory that ls itself has open
  })
})
