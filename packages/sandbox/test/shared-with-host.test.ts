import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { probeKernel } from '@cordon/sandbox'
import { afterAll, describe, expect } from 'vitest'
import { give, IDENTITIES, makeWorld, removeWorlds, run, start } from './confine.ts'
import { byNumber, PYTHON, TRY } from './python.ts'

afterAll(removeWorlds)

const withoutNamespaces = { simulate: { userns: false } } as const

const SCHEDULING = `${TRY}
ATTRIBUTES = struct.pack('<IIQiIQQQ', 48, 5, 0, 0, 0, 0, 0, 0)
IDLE_IO = 3 << 13
`

/** What the scheduler knows of a process: nice, policy, and the processors it may run on. */
function scheduling(pid: number): readonly (string | undefined)[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const allowed = /Cpus_allowed:\t(.*)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return [fields[16], fields[38], allowed]
}

/** Counted by the kernel for a user or for the machine, not for a namespace. */
describe.each(IDENTITIES)('as $name', (who) => {
  const prepare = (lines: string): Pick<Parameters<typeof run>[0], 'who' | 'world' | 'argv'> => {
    const world = makeWorld(who)
    writeFileSync(join(world.root, 'try.py'), SCHEDULING + lines)
    give(who, world.dir)
    return { who, world, argv: [PYTHON, 'try.py'] }
  }
  const tryAll = async (lines: string, plan: NonNullable<Parameters<typeof run>[0]['plan']>) => {
    const { stdout, stderr } = await run({ ...prepare(lines), plan })
    return { lines: stdout.trim().split('\n'), stderr }
  }

  byNumber('without namespaces: how a process of the host is scheduled is not changed', async () => {
    const host = spawn(PYTHON, ['-c', 'import time; print("up", flush=True); time.sleep(600)'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      ...who.as,
    })
    await once(host.stdout, 'data')
    const before = scheduling(host.pid!)
    const said = await tryAll(
      `
host = ${host.pid}
attempt('priority', lambda: os.setpriority(os.PRIO_PROCESS, host, 10))
attempt('priority-group', lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(host), 10))
attempt('priority-user', lambda: os.setpriority(os.PRIO_USER, 0, 1))
attempt('processors', lambda: os.sched_setaffinity(host, {0}))
attempt('scheduler', lambda: os.sched_setscheduler(host, os.SCHED_IDLE, os.sched_param(0)))
attempt('parameters', lambda: os.sched_setparam(host, os.sched_param(0)))
attempt('attributes', lambda: call(314, host, ATTRIBUTES, 0))
attempt('io', lambda: call(251, 1, host, IDLE_IO))
attempt('io-group', lambda: call(251, 2, os.getpgid(host), IDLE_IO))
attempt('io-user', lambda: call(251, 3, os.getuid(), IDLE_IO))
attempt('own', lambda: (os.nice(1), os.sched_setaffinity(0, os.sched_getaffinity(0)), call(251, 1, 0, IDLE_IO)))
`,
      withoutNamespaces,
    )
    const after = scheduling(host.pid!)
    host.kill()
    const refused =
      'priority priority-group priority-user processors scheduler parameters attributes io io-group io-user'
    expect(said).toEqual({
      lines: [...refused.split(' ').map((name) => `${name} EPERM`), 'own (1, None, 0)'],
      stderr: '',
    })
    expect(after).toEqual(before)
  })

  byNumber(
    'in the process group of whoever started it: the others of the group keep their priority',
    async () => {
      const confined = start({
        ...prepare(`
attempt('group', lambda: os.setpriority(os.PRIO_PGRP, 0, 5))
attempt('group-io', lambda: call(251, 2, 0, IDLE_IO))
attempt('own', lambda: os.setpriority(os.PRIO_PROCESS, 0, 5))
sys.stdin.read()
`),
        spawn: { terminal: 'keep' },
      })
      let said = ''
      for await (const chunk of confined.stdout!) {
        said += String(chunk)
        if (said.includes('own')) break
      }
      const supervisor = scheduling(confined.pid)
      confined.stdin!.end()
      await confined.exit
      expect(said).toBe('group EPERM\ngroup-io EPERM\nown None\n')
      expect(supervisor).toEqual(scheduling(process.pid))
    },
  )

  byNumber.each([
    ['with', probeKernel().landlockAbi, 'None'],
    ['without', 0, 'EPERM'],
  ] as const)(
    '%s a scope for signals: one to the group does not leave the sandbox',
    async (_, landlockAbi, answer) => {
      const { stdout, stderr } = await run({
        ...prepare(
          "attempt('group', lambda: os.kill(0, signal.SIGURG))\nattempt('own', lambda: os.kill(os.getpid(), 0))",
        ),
        plan: { mode: 'warn', kernel: { ...probeKernel(), landlockAbi } },
        spawn: { terminal: 'keep' },
      })
      expect({ stdout, stderr }).toEqual({ stdout: `group ${answer}\nown None\n`, stderr: '' })
    },
  )

  byNumber.each([
    ['with namespaces', {}],
    ['without namespaces', withoutNamespaces],
  ] as const)('%s: the requests that the whole machine may have waiting are not taken', async (_, plan) => {
    const said = await tryAll(
      "attempt('io_setup', lambda: call(206, 60000, ctypes.byref(ctypes.c_ulong())))",
      plan,
    )
    expect(said).toEqual({ lines: ['io_setup ENOSYS'], stderr: '' })
  })

  byNumber('what all programs of a user share: at most half of it', async () => {
    const half = (name: string): number =>
      Math.floor(Number(readFileSync(`/proc/sys/fs/inotify/max_user_${name}`, 'utf8')) / 2)
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const halfOf = (name: string): number =>
      Math.floor(Number(new RegExp(`^Max ${name} +\\d+ +(\\d+)`, 'm').exec(limits)?.[1]) / 2)
    const said = await tryAll(
      `
attempt('instances', lambda: open('/proc/sys/user/max_inotify_instances').read().strip())
attempt('watches', lambda: open('/proc/sys/user/max_inotify_watches').read().strip())
attempt('raised', lambda: open('/proc/sys/user/max_inotify_instances', 'w'))
attempt('signals', lambda: resource.getrlimit(resource.RLIMIT_SIGPENDING)[1])
attempt('queues', lambda: resource.getrlimit(12)[1])
fd = call(294, 0)
attempt('watch', lambda: call(254, fd, b'.', 0x100))
open('new', 'w')
attempt('seen', lambda: os.read(fd, 99)[16:19])
`,
      {},
    )
    expect(said).toEqual({
      lines: [
        `instances ${half('instances')}`,
        `watches ${half('watches')}`,
        'raised EROFS',
        `signals ${halfOf('pending signals')}`,
        `queues ${halfOf('msgqueue size')}`,
        'watch 1',
        "seen b'new'",
      ],
      stderr: '',
    })
  })

  byNumber('without namespaces: what happens in a directory that may not be listed is not told', async () => {
    const said = await tryAll(
      `
attempt('list', lambda: os.listdir(os.environ['HOME']))
attempt('inotify_init1', lambda: call(254, call(294, 0), os.environ['HOME'].encode(), 0xfff))
attempt('inotify_init', lambda: call(254, call(253), os.environ['HOME'].encode(), 0xfff))
attempt('fanotify_init', lambda: call(300, 0xe00, 0))
`,
      withoutNamespaces,
    )
    expect(said).toEqual({
      lines: ['list EACCES', 'inotify_init1 ENOSYS', 'inotify_init ENOSYS', 'fanotify_init ENOSYS'],
      stderr: '',
    })
  })
})
