import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { itemsFor } from '../src/call.ts'
import { encodeItems } from '../src/linux/encode.ts'
import {
  attempts,
  BASE_ENV,
  give,
  IDENTITIES,
  makeWorld,
  planFor,
  reachableLauncher,
  removeWorlds,
  run,
} from './confine.ts'
import { mountsSeen } from './mounts.ts'
import { byNumber, PYTHON, TRY } from './python.ts'

afterAll(removeWorlds)

const RWX = { read: true, write: true, execute: true }

const MOVE = `${TRY}
def exchange(a, b): return call(316, -100, a.encode(), -100, b.encode(), 2)
`

describe.each(IDENTITIES)('as $name', (who) => {
  const tryAll = async (
    lines: string,
    more: Partial<Parameters<typeof run>[0]> & Pick<Parameters<typeof run>[0], 'world'>,
  ): Promise<readonly string[]> => {
    writeFileSync(join(more.world.root, 'try.py'), MOVE + lines)
    give(who, more.world.dir)
    const { stdout, stderr } = await run({ who, argv: [PYTHON, 'try.py'], ...more })
    expect(stderr).toBe('')
    return stdout.trim().split('\n')
  }

  byNumber(
    'a read-only workspace: no attribute, owner, mode, time or length changes, by name or by descriptor',
    async () => {
      const world = makeWorld(who, { a: 'one' })
      const lines = await tryAll(
        `
fd = os.open('a', os.O_RDONLY)
attempt('read', lambda: os.read(fd, 9))
attempt('setxattr', lambda: os.setxattr('a', 'user.x', b'1'))
attempt('fsetxattr', lambda: os.setxattr(fd, 'user.x', b'1'))
attempt('removexattr', lambda: os.removexattr('a', 'user.x'))
attempt('fchmod', lambda: os.fchmod(fd, 0o600))
attempt('chown', lambda: os.chown('a', os.getuid(), os.getgid()))
attempt('fchown', lambda: os.fchown(fd, os.getuid(), os.getgid()))
attempt('utime', lambda: os.utime('a', (1, 1)))
attempt('futime', lambda: os.utime(fd, (1, 1)))
attempt('truncate', lambda: os.truncate('a', 0))
attempt('open-truncate', lambda: os.open('a', os.O_RDONLY | os.O_TRUNC))
attempt('reopen', lambda: os.open('/proc/self/fd/%d' % fd, os.O_RDWR))
attempt('unlink', lambda: os.unlink('a'))
attempt('exchange', lambda: exchange('a', 'try.py'))
attempt('tmpfile', lambda: os.open('.', os.O_TMPFILE | os.O_RDWR))
`,
        { world, access: { fs: [{ path: '.', read: true }] } },
      )
      const rofs =
        'setxattr fsetxattr removexattr fchmod chown fchown utime futime truncate open-truncate reopen unlink exchange tmpfile'
      expect(lines.map((line) => line.replace(/ (?:EROFS|EACCES)$/, ' refused'))).toEqual([
        "read b'one'",
        ...rofs.split(' ').map((name) => `${name} refused`),
      ])
      expect(readFileSync(join(world.root, 'a'), 'utf8')).toBe('one')
    },
  )

  byNumber(
    'a hidden file: not by exchange, by a link that is swapped while it is read, nor by a handle',
    async () => {
      const world = makeWorld(who, { 'app/.env': 'SECRET', 'app/x': 'public', 'other/.env': 'mine' })
      const lines = await tryAll(
        `
attempt('exchange-file', lambda: exchange('app/x', 'app/.env'))
attempt('exchange-parent', lambda: exchange('app', 'other'))
attempt('rename-over-parent', lambda: os.rename('other', 'app'))
attempt('open-path', lambda: os.read(os.open('/proc/self/fd/%d' % os.open('app/.env', os.O_PATH), os.O_RDONLY), 9))
attempt('link-path', lambda: call(265, os.open('app/.env', os.O_PATH), b'', -100, b'hard', 0x1000))
attempt('link-proc', lambda: call(265, -100, b'/proc/self/fd/%d' % os.open('app/.env', os.O_PATH), -100, b'hard', 0x400))
attempt('task-root', lambda: open('/proc/self/task/%d/root%s/app/.env' % (os.getpid(), os.getcwd())).read())
attempt('truncate', lambda: os.truncate('app/.env', 0))
attempt('xattr', lambda: os.setxattr('app/.env', 'user.x', b'1'))
os.symlink('app/x', 'l'); os.symlink('app/.env', 'm')
stop = False
def swap():
    while not stop: exchange('l', 'm')
thread = threading.Thread(target=swap); thread.start()
seen = set()
for count in range(200000):
    if count > 3000 and len(seen) > 1: break
    try: seen.add(open('l').read())
    except OSError as e: seen.add(errno.errorcode[e.errno])
stop = True; thread.join()
print('swapped', *sorted(seen))
`,
        { world, access: { fs: [{ path: '.', ...RWX }, { path: 'app/.env' }] } },
      )
      const [swapped] = lines.slice(-1)
      expect(
        lines.slice(0, -1).map((line) => line.replace(/ E(?:BUSY|ACCES|XDEV|PERM|ROFS|NOENT)$/, ' refused')),
      ).toEqual(
        [
          'exchange-file',
          'exchange-parent',
          'rename-over-parent',
          'open-path',
          'link-path',
          'link-proc',
          'task-root',
          'truncate',
          'xattr',
        ].map((name) => `${name} refused`),
      )
      expect(swapped).toBe('swapped EACCES public')
      expect(readFileSync(join(world.root, 'app/.env'), 'utf8')).toBe('SECRET')
    },
  )

  test('a directory of the host on a standard stream is refused: from it every rule could be walked around', async () => {
    const world = makeWorld(who, { '.env': 'SECRET' })
    const plan = planFor({ who, world, access: { fs: [{ path: '.', ...RWX }, { path: '.env' }] } })
    for (const stream of [0, 1, 2]) {
      const fd = openSync(world.root, 'r')
      const streams = [0, 1, 2].map((each) => (each === stream ? fd : ('ignore' as const)))
      const child = spawn(reachableLauncher().path, [], {
        argv0: 'cordon-launch',
        stdio: [...streams, 'pipe'],
        ...who.as,
      })
      const channel = child.stdio[3] as Duplex
      const script = `import os; os.write(3, os.read(os.open('.env', 0, dir_fd=${stream}), 9))`
      const call = { argv: [PYTHON, '-c', script], cwd: world.root, env: BASE_ENV } as const
      channel.write(encodeItems(itemsFor({ ...plan, survey: { ...plan.survey, exe: PYTHON } }, call, [])))
      const [said] = await Promise.all([text(channel), once(child, 'close')])
      closeSync(fd)
      expect(said).toMatch(/^inside pid=\d+\nfailed close-fds item=-1 errno=21\n/)
    }
  })

  test('narrower rules hold in a workspace behind a link, by both of its names', async () => {
    const world = makeWorld(who, { '.env': 'SECRET', 'src/a': 'a' })
    const link = join(world.home, 'proj')
    symlinkSync(world.root, link)
    give(who, world.dir)
    const lines = ['', `${link}/`, `${world.root}/`].flatMap((at) => [
      `cat ${at}src/a`,
      `cat ${at}.env`,
      `mv ${at}.env ${at}e`,
      `echo x > ${at}src/a`,
      `mv ${at}src ${at}s`,
    ])
    const { stdout } = await run({
      who,
      world: { ...world, root: link },
      access: { fs: [{ path: '.', ...RWX }, { path: '.env' }, { path: 'src', read: true }] },
      script: attempts(...lines),
    })
    expect(stdout.trim().split('\n')).toEqual(lines.map((line, i) => `${i % 5 === 0 ? 'ok' : 'no'} ${line}`))
  })

  test('the mounts of the host are the same before, during and after, also when the launcher is killed', async () => {
    const world = makeWorld(who, { '.env': 'SECRET' })
    const before = mountsSeen(world.dir)
    const plan = planFor({ who, world, access: { fs: [{ path: '.', ...RWX }, { path: '.env' }] } })
    const child = spawn(reachableLauncher().path, [], {
      argv0: 'cordon-launch',
      stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
      ...who.as,
    })
    const channel = child.stdio[3] as Duplex
    channel.on('error', () => {}).resume()
    const call = { argv: ['sh', '-c', 'echo ready; sleep 600'], cwd: world.root, env: BASE_ENV } as const
    channel.write(encodeItems(itemsFor(plan, call, [])))
    await once(child.stdout!, 'data')
    const during = mountsSeen(world.dir)
    child.kill('SIGKILL')
    await once(child, 'close')
    expect([during, mountsSeen(world.dir)]).toEqual([before, before])
  })

  byNumber(
    'without namespaces: no shared memory or queue of the host, and no limit set on its processes',
    async () => {
      const world = makeWorld(who)
      const host = spawn(PYTHON, ['-c', 'import time; print("up", flush=True); time.sleep(600)'], {
        stdio: ['ignore', 'pipe', 'ignore'],
        ...who.as,
      })
      await once(host.stdout, 'data')
      const limits = readFileSync(`/proc/${host.pid}/limits`, 'utf8')
      const lines = await tryAll(
        `
attempt('shmget', lambda: call(29, 0x4711, 4096, 0o1600))
attempt('shmat', lambda: call(30, 0, 0, 0))
attempt('msgget', lambda: call(68, 0x4711, 0o1600))
attempt('semget', lambda: call(64, 0x4711, 1, 0o1600))
attempt('mq_open', lambda: call(240, b'x', 0o102, 0o600, 0))
attempt('cpu', lambda: resource.prlimit(${host.pid}, resource.RLIMIT_CPU, (1, 1)))
attempt('files', lambda: resource.prlimit(${host.pid}, resource.RLIMIT_NOFILE, (0, 0)))
attempt('kill', lambda: os.kill(${host.pid}, 9))
attempt('own', lambda: resource.prlimit(0, resource.RLIMIT_NOFILE)[0] > 0)
attempt('memory', lambda: os.open('/proc/${host.pid}/mem', os.O_RDWR))
`,
        { world, plan: { simulate: { userns: false } } },
      )
      const after = readFileSync(`/proc/${host.pid}/limits`, 'utf8')
      host.kill()
      const refused = ['shmget', 'shmat', 'msgget', 'semget', 'mq_open', 'cpu', 'files', 'kill']
      expect(lines).toEqual([...refused.map((name) => `${name} EPERM`), 'own True', 'memory EACCES'])
      expect(after).toBe(limits)
    },
  )

  byNumber(
    'without namespaces: another terminal of the same person is neither read nor written',
    async () => {
      const world = makeWorld(who)
      const other = spawn(
        PYTHON,
        ['-c', 'import os, time; a, b = os.openpty(); print(os.ttyname(b), flush=True); time.sleep(600)'],
        { stdio: ['ignore', 'pipe', 'ignore'], ...who.as },
      )
      const [name] = (await once(other.stdout, 'data')) as [Buffer]
      const terminal = JSON.stringify(name.toString().trim())
      const lines = await tryAll(
        `
attempt('read', lambda: os.open(${terminal}, os.O_RDONLY | os.O_NOCTTY))
attempt('write', lambda: os.open(${terminal}, os.O_WRONLY | os.O_NOCTTY))
attempt('list', lambda: os.listdir('/dev/pts'))
`,
        { world, plan: { simulate: { userns: false } } },
      )
      other.kill()
      expect(lines).toEqual(['read EACCES', 'write EACCES', 'list EACCES'])
    },
  )

  byNumber(
    'newer ways to the mount tree, a lease that would hold up writers on the host, a copy of the whole subvolume and a key that stays are refused',
    async () => {
      const lines = await tryAll(
        `
import fcntl
attempt('open_tree_attr', lambda: call(467, 0, 0, 0, 0, 0))
attempt('quotactl_fd', lambda: call(443, 0, 0, 0, 0))
attempt('lease', lambda: fcntl.fcntl(os.open('try.py', 0), fcntl.F_SETLEASE, fcntl.F_RDLCK))
attempt('lease-high-word', lambda: call(72, os.open('try.py', 0), ctypes.c_long(0xf00000400), 0))
attempt('delegation', lambda: fcntl.fcntl(os.open('.', 0), 1040, 0))
here = os.open('.', os.O_RDONLY)
attempt('btrfs-snapshot', lambda: call(16, here, ctypes.c_ulong(0x50009401), 0))
attempt('btrfs-snapshot-v2', lambda: call(16, here, ctypes.c_ulong(0x50009417), 0))
attempt('bcachefs-snapshot', lambda: call(16, here, ctypes.c_ulong(0x4020bc10), 0))
attempt('filesystem-key', lambda: call(16, here, ctypes.c_ulong(0xc0506617), 0))
attempt('lock', lambda: fcntl.lockf(os.open('try.py', os.O_RDWR), fcntl.LOCK_EX))
`,
        { world: makeWorld(who) },
      )
      expect(lines).toEqual([
        'open_tree_attr EPERM',
        'quotactl_fd EPERM',
        'lease EPERM',
        'lease-high-word EPERM',
        'delegation EPERM',
        'btrfs-snapshot EPERM',
        'btrfs-snapshot-v2 EPERM',
        'bcachefs-snapshot EPERM',
        'filesystem-key EPERM',
        'lock None',
      ])
    },
  )

  byNumber('pid 1 of the sandbox cannot be looked into, nor its report be forged or kept back', async () => {
    const world = makeWorld(who)
    const lines = await tryAll(
      `
for name in ('mem', 'environ', 'maps', 'fd/3', 'cwd/', 'root/', 'exe', 'auxv'):
    attempt(name, lambda: os.open('/proc/1/' + name, os.O_RDONLY) and 'opened')
for name in ('syscall', 'stack'): # root may open them; reading is what is asked about
    attempt(name, lambda: os.read(os.open('/proc/1/' + name, os.O_RDONLY), 9) and 'opened')
attempt('write', lambda: os.open('/proc/1/fd/3', os.O_WRONLY))
attempt('pidfd', lambda: call(438, call(434, 1, 0), 3, 0))
attempt('kill', lambda: os.kill(1, 9))
attempt('limit', lambda: resource.prlimit(1, resource.RLIMIT_FSIZE, (0, 0)) and 'opened')
`,
      { world },
    )
    expect(lines.filter((line) => / (?:opened|\d+)$/.test(line))).toEqual([])
    expect(lines).toHaveLength(14)
  })
})
