import { copyFileSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { probeKernel, UnenforceableError } from '@cordon/sandbox'
import { afterAll, describe, expect, test } from 'vitest'
import { itemsFor } from '../src/call.ts'
import { encodeItems } from '../src/linux/encode.ts'
import { type Item } from '../src/linux/items.ts'
import {
  attempts,
  BASE_ENV,
  give,
  IDENTITIES,
  makeWorld,
  planFor,
  processesWith,
  reachableLauncher,
  removeWorlds,
  run,
} from './confine.ts'

afterAll(removeWorlds)

const RWX = { read: true, write: true, execute: true }
const simulate = { userns: false } as const

const EMPTY = `
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    if libc.syscall(*args) < 0: raise OSError(ctypes.get_errno(), '')
def attempt(name, f):
    try: print(name, f())
    except OSError as e: print(name, errno.errorcode[e.errno])
kept = os.environ['HOME'].encode() + b'/kept'
attempt('truncate', lambda: call(76, kept, 0))
attempt('open', lambda: call(2, kept, os.O_RDONLY | os.O_TRUNC))
attempt('open-neither', lambda: call(2, kept, os.O_ACCMODE | os.O_TRUNC))
attempt('openat', lambda: call(257, -100, kept, os.O_RDONLY | os.O_TRUNC))
attempt('own', lambda: os.truncate('a', 0))
attempt('writing', lambda: open('a', 'w').close())
attempt('open-descriptor', lambda: os.ftruncate(os.open('a', os.O_RDWR), 9))
`

/** As a host does it: the plan goes in on descriptor 3, what happened comes out on it. */
const LAUNCH = `
import os, socket, subprocess
ours, theirs = socket.socketpair()
launcher = subprocess.Popen(['cordon-launch'], executable='./launch', env={}, close_fds=False,
    preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
theirs.close()
ours.sendall(open('plan', 'rb').read())
print(ours.makefile().read(), end='')
`

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

  test.runIf(existsSync('/usr/bin/python3'))(
    'inside another sandbox, where paths are opened step by step: it works, and no link is followed',
    async () => {
      const world = makeWorld(who, { 'launch.py': LAUNCH, a: 'a', 'dir/b': 'b' })
      copyFileSync(reachableLauncher().path, join(world.root, 'launch'))
      symlinkSync('dir', join(world.root, 'link'))
      const call = { argv: ['sh', '-c', 'cat a; cat /etc/shadow || exit 4'], env: BASE_ENV } as const
      const items = itemsFor(planFor({ who, world, plan: { simulate } }), call, [])
      const launch = async (planned: readonly Item[]): Promise<string> => {
        writeFileSync(join(world.root, 'plan'), encodeItems(planned))
        give(who, world.dir)
        const { stdout } = await run({ who, world, argv: ['/usr/bin/python3', 'launch.py'] })
        return stdout.replace(/inside pid=\d+\n/, '')
      }
      const through = (name: string): Item => ({
        tag: 'allow',
        path: join(world.root, name),
        rights: ['read-file'],
      })
      expect(await launch([...items, through('dir/b')])).toBe('aexit code=4\n')
      for (const name of ['link/b', 'link'])
        expect(await launch([...items, through(name)])).toBe(
          `failed landlock-rule item=${items.length} errno=40\nexit code=125\n`,
        )
    },
  )

  test.runIf(process.arch === 'x64' && existsSync('/usr/bin/python3'))(
    'on a kernel whose Landlock does not see it: no file is emptied without being opened for writing',
    async () => {
      const world = makeWorld(who, { a: 'one', '~/kept': 'kept', 'try.py': EMPTY })
      const { stdout, stderr } = await run({
        who,
        world,
        argv: ['/usr/bin/python3', 'try.py'],
        // The real one sees it, and answers EACCES: so the answer tells who was asked.
        plan: { simulate, kernel: { ...probeKernel(), landlockAbi: 2 } },
      })
      const refused = ['truncate', 'open', 'open-neither', 'openat', 'own']
      expect({ lines: stdout.trim().split('\n'), stderr }).toEqual({
        lines: [...refused.map((name) => `${name} EPERM`), 'writing None', 'open-descriptor None'],
        stderr: '',
      })
      expect(readFileSync(join(world.home, 'kept'), 'utf8')).toBe('kept')
    },
  )

  test('a file can be linked and moved from one directory of the workspace to another', async () => {
    const world = makeWorld(who, { 'p/a': 'a', 'q/': '' })
    const { stdout, stderr } = await run({
      who,
      world,
      plan: { simulate },
      script: 'ln p/a q/linked && mv p q && echo q/* q/p/*',
    })
    expect({ stdout, stderr }).toEqual({ stdout: 'q/linked q/p q/p/a\n', stderr: '' })
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
