import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UnenforceableError } from '@cordon/sandbox'
import { afterAll, describe, expect, test } from 'vitest'
import { attempts, IDENTITIES, makeWorld, planFor, processesWith, run, removeWorlds } from './confine.ts'

afterAll(removeWorlds)

const RWX = { read: true, write: true, execute: true }
const simulate = { userns: false } as const

describe.each(IDENTITIES)('without user namespaces, as $name', (who) => {
  test('Landlock and seccomp still hold the workspace, the home and the secrets', async () => {
    const world = makeWorld(who, { a: 'a', '~/.ssh/id_rsa': 'KEY' })
    const lines = [
      'cat a',
      'echo b > b',
      '/bin/true',
      `cat ${world.home}/.ssh/id_rsa`,
      `ls ${world.home}`,
      `touch ${world.home}/x`,
      'cat /etc/shadow',
      'touch /tmp/cordon-degraded',
      'cat /proc/1/environ',
      `cat /proc/${process.pid}/environ`,
      `kill -0 ${process.pid}`,
      'unshare -Ur true',
      'mount -t tmpfs x /tmp',
    ]
    const { stdout, code, plan } = await run({
      who,
      world,
      plan: { simulate },
      script: `${attempts(...lines)}\ngrep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status`,
    })
    const [capEff, capBnd] = stdout.split('\n').slice(lines.length)
    expect(stdout.split('\n').slice(0, lines.length)).toEqual(
      lines.map((line, i) => `${i < 3 ? 'ok' : 'no'} ${line}`),
    )
    expect([capEff, code, plan.isolation]).toEqual(['CapEff:\t0000000000000000', 0, 'landlock-only'])
    // Only who has capabilities can give up the bounding set; no_new_privs holds for the others.
    if (!who.as && process.getuid?.() === 0) expect(capBnd).toBe('CapBnd:\t0000000000000000')
    expect(readFileSync(join(world.root, 'b'), 'utf8')).toBe('b\n')
  })

  test('there is no network and no socket of the host', async () => {
    const world = makeWorld(who)
    const { stdout } = await run({
      who,
      world,
      plan: { simulate },
      argv: [
        process.execPath,
        '-e',
        "require('node:net').connect(80, '127.0.0.1').on('error', (e) => console.log(e.code)); require('node:net').connect('/run/x.sock').on('error', (e) => console.log(e.code))",
      ],
    })
    expect(stdout.trim().split('\n').toSorted()).toEqual(['EAFNOSUPPORT', 'EAFNOSUPPORT'])
  })

  test('enforce refuses what it cannot hold, warn runs and says what is lost', async () => {
    const world = makeWorld(who, { '.env': 'SECRET' })
    const access = { fs: [{ path: '.', ...RWX }, { path: '.env' }] }
    expect(() => planFor({ who, world, access, plan: { simulate } })).toThrow(UnenforceableError)
    const { stdout, plan } = await run({
      who,
      world,
      access,
      plan: { simulate, mode: 'warn' },
      script: 'cat .env',
    })
    expect(stdout).toBe('SECRET')
    expect(plan.lost.map((each) => each.guarantee)).toEqual([
      'private-home-and-tmp',
      'narrower-rules',
      'host-rules',
      'file-metadata',
      'process-isolation',
      'process-cleanup',
    ])
  })

  test('background processes still end with the call', async () => {
    const world = makeWorld(who)
    const mark = `6${process.pid}${who.as ? 1 : 0}`
    const { code, signal } = await run({
      who,
      world,
      plan: { simulate },
      script: `(setsid sh -c 'sleep ${mark} & sleep ${mark}' >/dev/null 2>&1 &) ; sleep 0.1; exit 4`,
    })
    expect([code, signal, await processesWith(`sleep\0${mark}`)]).toEqual([4, null, []])
  })
})
