import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { LaunchError, orphansEnded } from '@cordon/sandbox'
import { afterAll, describe, expect, test } from 'vitest'
import {
  attempts,
  cmdline,
  give,
  IDENTITIES,
  reachableLauncher,
  makeWorld,
  processesWith,
  run,
  start,
  removeWorlds,
} from './confine.ts'

afterAll(removeWorlds)

/** Calls system calls by number, so that no libc wrapper softens the answer. */
const PROBE = `
import ctypes, os, sys, errno, socket, fcntl, signal
libc = ctypes.CDLL(None, use_errno=True)
def call(name, nr, *args):
    ctypes.set_errno(0)
    result = libc.syscall(nr, *args)
    print(name, 'ok' if result >= 0 else errno.errorcode[ctypes.get_errno()])
call('unshare-user', 272, 0x10000000)
call('unshare-mount', 272, 0x20000)
call('unshare-files', 272, 0x400)
call('clone-user', 56, 0x10000000 | 17, 0, 0, 0, 0)
call('clone3', 435, 0, 0)
call('setns', 308, 0, 0)
call('mount', 165, 0, b'/tmp', b'tmpfs', 0, 0)
call('umount', 166, b'/tmp', 2)
call('open_tree', 428, -100, b'/', 1)
call('fsopen', 430, b'tmpfs', 0)
call('mount_setattr', 442, -100, b'/', 0, 0, 0)
call('pivot_root', 155, b'.', b'.')
call('chroot', 161, b'/')
call('ptrace-traceme', 101, 0, 0, 0, 0)
call('process_vm_readv', 310, os.getpid(), 0, 0, 0, 0, 0)
call('io_uring_setup', 425, 1, 0)
call('bpf', 321, 0, 0, 0)
call('userfaultfd', 323, 0)
call('perf_event_open', 298, 0, 0, -1, -1, 0)
call('keyctl', 250, 0, 0)
call('add_key', 248, b'user', b'x', b'x', 1, -2)
call('request_key', 249, b'user', b'x', 0, 0)
call('kexec_load', 246, 0, 0, 0, 0)
call('init_module', 175, 0, 0, 0)
call('finit_module', 313, -1, 0, 0)
call('swapon', 167, b'/x', 0)
call('reboot', 169, 0, 0, 0, 0)
call('open_by_handle_at', 304, -1, 0, 0)
call('tiocsti', 16, 0, 0x5412, b'x')
call('tiocsti-high-word', 16, 0, 0xf00005412, b'x')
call('tioclinux', 16, 0, 0x541c, b'x')
for name, family, kind in [('unix', socket.AF_UNIX, socket.SOCK_STREAM), ('netlink', socket.AF_NETLINK, socket.SOCK_RAW),
    ('packet', socket.AF_PACKET, socket.SOCK_RAW), ('vsock', 40, socket.SOCK_STREAM), ('raw', socket.AF_INET, socket.SOCK_RAW),
    ('inet', socket.AF_INET, socket.SOCK_STREAM)]:
    try:
        socket.socket(family, kind, 1 if name == 'raw' else 0); print('socket-' + name, 'ok')
    except OSError as e:
        print('socket-' + name, errno.errorcode[e.errno])
for name, kind, protocol in [('tcp', 1, 6), ('udp', 2, 17), ('udplite', 2, 136), ('sctp', 1, 132), ('sctp-packets', 5, 132),
    ('dccp', 6, 33), ('l2tp', 2, 115), ('smc', 1, 256), ('high-word', 2, 0xf00000088)]:
    call('protocol-' + name, 41, 2, kind, ctypes.c_long(protocol))
a, b = socket.socketpair(); a.send(b'x'); print('socketpair', b.recv(1).decode())
others = set()
for protocol in [*range(1, 32), 0xf]:
    try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol); others.add('ok')
    except OSError as e: others.add(errno.errorcode[e.errno])
print('netlink-others', ' '.join(others))
call('netlink-high-word', 41, 16, 3, ctypes.c_long(0xf00000000))
call('netlink-other-high-word', 41, 16, 3, ctypes.c_long(0xf0000000c))
import struct
def change(name, kind, body):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.bind((0, 0))
    s.send(struct.pack('IHHII', 16 + len(body), kind, 0x605, 1, 0) + body)
    print('netlink-' + name, errno.errorcode[-struct.unpack_from('i', s.recv(999), 16)[0]])
change('new-link', 16, struct.pack('BxHiII', 0, 0, 0, 0, 0) + struct.pack('HH8s', 10, 3, b'dummy9'))
change('new-address', 20, struct.pack('BBBBI', 2, 8, 0, 0, 1) + struct.pack('HH4s', 8, 2, bytes([10, 0, 0, 1])))
change('new-route', 24, struct.pack('BBBBBBBBI', 2, 0, 0, 0, 254, 3, 0, 1, 0) + struct.pack('HHI', 8, 4, 1))
print('interfaces', ' '.join(name for _, name in socket.if_nameindex()))
`

const REFUSED = {
  'unshare-user': 'EPERM',
  'unshare-mount': 'EPERM',
  'unshare-files': 'ok',
  'clone-user': 'EPERM',
  clone3: 'ENOSYS',
  setns: 'EPERM',
  mount: 'EPERM',
  umount: 'EPERM',
  open_tree: 'EPERM',
  fsopen: 'EPERM',
  mount_setattr: 'EPERM',
  pivot_root: 'EPERM',
  chroot: 'EPERM',
  'ptrace-traceme': 'EPERM',
  process_vm_readv: 'EPERM',
  io_uring_setup: 'ENOSYS',
  bpf: 'EPERM',
  userfaultfd: 'EPERM',
  perf_event_open: 'EPERM',
  keyctl: 'EPERM',
  add_key: 'EPERM',
  request_key: 'EPERM',
  kexec_load: 'EPERM',
  init_module: 'EPERM',
  finit_module: 'EPERM',
  swapon: 'EPERM',
  reboot: 'EPERM',
  open_by_handle_at: 'EPERM',
  tiocsti: 'EPERM',
  'tiocsti-high-word': 'EPERM',
  tioclinux: 'EPERM',
  'socket-unix': 'EAFNOSUPPORT',
  'socket-netlink': 'ok',
  'socket-packet': 'EAFNOSUPPORT',
  'socket-vsock': 'EAFNOSUPPORT',
  'socket-raw': 'EPERM',
  'socket-inet': 'ok',
  'protocol-tcp': 'ok',
  'protocol-udp': 'ok',
  'protocol-udplite': 'EPROTONOSUPPORT',
  'protocol-sctp': 'EPROTONOSUPPORT',
  'protocol-sctp-packets': 'EPROTONOSUPPORT',
  'protocol-dccp': 'EPROTONOSUPPORT',
  'protocol-l2tp': 'EPROTONOSUPPORT',
  'protocol-smc': 'EPROTONOSUPPORT',
  'protocol-high-word': 'EPROTONOSUPPORT',
  socketpair: 'x',
  // Decision 0650: of netlink the list of its own interfaces, and nothing else.
  'netlink-others': 'EAFNOSUPPORT',
  'netlink-high-word': 'ok',
  'netlink-other-high-word': 'EAFNOSUPPORT',
  'netlink-new-link': 'EPERM',
  'netlink-new-address': 'EPERM',
  'netlink-new-route': 'EPERM',
  interfaces: 'lo',
}

/** Debian's or the image's; the one that is not a shim of a version manager. */
const PYTHON = '/usr/bin/python3'

describe.each(IDENTITIES)('as $name', (who) => {
  test('no new privileges, no capabilities, nothing left to gain', async () => {
    const world = makeWorld(who)
    const { stdout } = await run({
      who,
      world,
      script: "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; id -u",
    })
    const none = '0000000000000000'
    expect(stdout.split('\n')).toEqual([
      `CapInh:\t${none}`,
      `CapPrm:\t${none}`,
      `CapEff:\t${none}`,
      `CapBnd:\t${none}`,
      `CapAmb:\t${none}`,
      'NoNewPrivs:\t1',
      'Seccomp:\t2',
      String(who.as?.uid ?? process.getuid?.()),
      '',
    ])
  })

  test.runIf(process.arch === 'x64' && existsSync(PYTHON))(
    'dangerous system calls are refused, by number',
    async () => {
      const world = makeWorld(who, { 'probe.py': PROBE })
      const { stdout, stderr } = await run({ who, world, argv: [PYTHON, 'probe.py'] })
      expect(stderr).toBe('')
      expect(
        Object.fromEntries(
          stdout
            .trim()
            .split('\n')
            .map((line) => line.split(' ')),
        ),
      ).toEqual(REFUSED)
    },
  )

  test('other processes are invisible, and so is pid 1', async () => {
    const world = makeWorld(who)
    const outside = spawn('sleep', ['600'], { env: { SECRET: 'x' } })
    const { stdout } = await run({
      who,
      world,
      script: `echo /proc/[0-9]*; kill -0 ${outside.pid} || echo gone; kill -9 1; kill -TERM 1; for f in environ root/ cwd/ fd/ mem maps; do ls /proc/1/$f >/dev/null 2>&1 && cat /proc/1/$f 2>/dev/null | wc -c; done; echo alive`,
    })
    const state = (): string | undefined => readFileSync(`/proc/${outside.pid}/stat`, 'utf8').split(' ')[2]
    await expect.poll(state, { timeout: 60_000 }).toBe('S')
    outside.kill()
    expect(stdout.replaceAll(/^0\n/gm, '')).toBe('/proc/1 /proc/2\ngone\nalive\n')
  })

  test('it leads a session of its own, with the umask of the host', async () => {
    const world = makeWorld(who)
    const { stdout } = await run({ who, world, script: "cut -d' ' -f1,6 /proc/$$/stat; umask" })
    expect(stdout).toBe(`2 2\n${process.umask().toString(8).padStart(4, '0')}\n`)
  })

  test('the kernel settings that root owns cannot be written', async () => {
    const world = makeWorld(who)
    const lines = [
      'cat /proc/sys/kernel/printk',
      'echo 4 > /proc/sys/kernel/printk',
      'echo h > /proc/sysrq-trigger',
      'ls /sys',
      'ls /run',
    ]
    const { stdout } = await run({ who, world, script: attempts(...lines) })
    expect(stdout.trim().split('\n')).toEqual(lines.map((line, i) => `${i < 1 ? 'ok' : 'no'} ${line}`))
  })

  test('a daemon dies with the call', async () => {
    const world = makeWorld(who)
    const mark = `3${process.pid}${who.as ? 1 : 0}`
    const { code } = await run({
      who,
      world,
      script: `setsid sh -c '(sleep ${mark} & sleep ${mark}) &' >/dev/null 2>&1 & sleep 0.1; echo started`,
    })
    expect([code, await processesWith(`sleep\0${mark}`)]).toEqual([0, []])
  })

  test('exit codes and signals are exact', async () => {
    const world = makeWorld(who)
    const end = async (script: string): Promise<unknown[]> => {
      const { code, signal } = await run({ who, world, script })
      return [code, signal]
    }
    expect(await end('exit 0')).toEqual([0, null])
    expect(await end('exit 42')).toEqual([42, null])
    expect(await end('exit 125')).toEqual([125, null])
    expect(await end('kill -SEGV $$')).toEqual([null, 'SIGSEGV'])
    expect(await end('kill -KILL $$')).toEqual([null, 'SIGKILL'])
  })

  test('signals reach the program, and killing leaves nothing', async () => {
    const world = makeWorld(who)
    const polite = start({
      who,
      world,
      script: "trap 'echo got; exit 3' TERM; echo ready; while :; do sleep 0.05; done",
    })
    polite.stdout!.once('data', () => polite.kill('SIGTERM'))
    expect(await polite.exit).toMatchObject({ code: 3, signal: null })

    const mark = `4${process.pid}${who.as ? 1 : 0}`
    const stubborn = start({ who, world, script: `trap '' TERM INT; sleep ${mark} & echo ready; wait` })
    stubborn.stdout!.once('data', () => stubborn.kill('SIGKILL'))
    expect(await stubborn.exit).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(await processesWith(`sleep\0${mark}`)).toEqual([])

    const aborting = new AbortController()
    const aborted = start({
      who,
      world,
      script: `echo ready; sleep ${mark}`,
      spawn: { signal: aborting.signal },
    })
    aborted.stdout!.once('data', () => aborting.abort())
    expect(await aborted.exit).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(await processesWith(`sleep\0${mark}`)).toEqual([])
  })

  test('nothing survives a SIGKILL of the host, and nothing of ours stays on the disk', async () => {
    const world = makeWorld(who, { '.env': 'SECRET' })
    const mark = `5${process.pid}${who.as ? 1 : 0}`
    const host = spawn(
      process.execPath,
      ['--conditions=cordon-source', fileURLToPath(new URL('host.ts', import.meta.url))],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    )
    host.stdin.end(
      JSON.stringify({
        who,
        world,
        script: `setsid sleep ${mark} & echo ready; sleep ${mark}`,
        launcher: reachableLauncher().path,
      }),
    )
    await firstOutput(host)
    const before = await untilThereAre(2, `sleep\0${mark}`)
    host.kill('SIGKILL')
    expect(before).toHaveLength(2)
    expect(await processesWith(`sleep\0${mark}`)).toEqual([])
    expect(readdirSync(world.root)).toEqual(['.env'])
    expect(readFileSync(join(world.root, '.env'), 'utf8')).toBe('SECRET')
  })

  test('a fork bomb, a memory hog and a full /tmp are contained', async () => {
    const world = makeWorld(who)
    const limits = { processes: 60, memory: 256 * 1024 * 1024, tmp: 8 * 1024 * 1024, files: 64 }
    const bomb = await run({
      who,
      world,
      plan: { limits },
      script: 'n=0; while [ $n -lt 500 ]; do sleep 300 & n=$((n+1)); done; echo all started',
    })
    expect(bomb.stdout).toBe('')
    expect(bomb.stderr).toMatch(/fork/i)

    const hog = await run({
      who,
      world,
      plan: { limits },
      script: 'head -c 600000000 /dev/zero | tail > /dev/null; echo "end $?"',
    })
    expect(hog.stdout).not.toBe('end 0\n')

    const full = await run({ who, world, plan: { limits }, script: 'head -c 20000000 /dev/zero > /tmp/x' })
    expect(full.code).not.toBe(0)
    expect(full.pressure).toEqual([
      {
        limit: 'tmp_mb',
        text: 'the private /tmp and home are full (limits 8 MiB and 262144 files): they are emptied when the process ends',
      },
    ])
  })

  test('what cannot be started is reported with its step', async () => {
    const world = makeWorld(who, { 'run.sh': '#!/bin/sh\n', data: '' })
    const failure = async (script: Parameters<typeof run>[0]): Promise<unknown> =>
      run(script).then(
        () => 'it ran',
        (error: unknown) => (error instanceof LaunchError ? [error.step, error.errno] : error),
      )
    expect(
      await failure({
        who,
        world,
        access: { fs: [{ path: 'data', read: true }] },
        spawn: { cwd: join(world.root, 'gone') },
      }),
    ).toEqual(['cwd', 'ENOENT'])
  })

  test('sockets of the host cannot be reached', async () => {
    const world = makeWorld(who, { '~/x': '' })
    const path = join(world.home, 'agent.sock')
    const abstract = `\0cordon-${process.pid}-${who.as ? 1 : 0}`
    const servers = await Promise.all(
      [path, abstract, join(world.root, 'in-workspace.sock')].map(
        (at) =>
          new Promise<ReturnType<typeof createServer>>((done) => {
            const server = createServer((socket) => socket.end('HOST'))
            server.listen(at, () => done(server))
          }),
      ),
    )
    const tcp = createServer((socket) => socket.end('HOST'))
    await new Promise<void>((done) => void tcp.listen(0, '127.0.0.1', done))
    const port = (tcp.address() as { port: number }).port
    const script = `
import socket
def attempt(name, family, address, kind=socket.SOCK_STREAM):
    try:
        s = socket.socket(family, kind); s.settimeout(60); s.connect(address); s.send(b'x'); print(name, s.recv(4))
    except OSError as e: print(name, 'no')
attempt('path', socket.AF_UNIX, ${JSON.stringify(path)})
attempt('workspace', socket.AF_UNIX, ${JSON.stringify(join(world.root, 'in-workspace.sock'))})
attempt('abstract', socket.AF_UNIX, '\\0${abstract.slice(1)}')
attempt('tcp', socket.AF_INET, ('127.0.0.1', ${port}))
attempt('tcp-out', socket.AF_INET, ('1.1.1.1', 443))
attempt('tcp6', socket.AF_INET6, ('::1', ${port}))
attempt('udp', socket.AF_INET, ('8.8.8.8', 53), socket.SOCK_DGRAM)
attempt('udp-local', socket.AF_INET, ('127.0.0.1', 53), socket.SOCK_DGRAM)
attempt('icmp', socket.AF_INET, ('8.8.8.8', 0), socket.SOCK_RAW)
try: print('dns', socket.getaddrinfo('example.com', 80))
except OSError: print('dns no')
`
    writeFileSync(join(world.root, 'net.py'), script)
    give(who, world.dir)
    const outcomes = await Promise.all(
      (['pairs', 'private'] as const).map((unixSockets) =>
        run({ who, world, argv: [PYTHON, 'net.py'], plan: { unixSockets } }),
      ),
    )
    for (const server of [...servers, tcp]) server.close()
    const no = ['path', 'abstract', 'tcp', 'tcp-out', 'tcp6', 'udp', 'udp-local', 'icmp', 'dns'].map(
      (name) => `${name} no`,
    )
    expect(outcomes[0]!.stdout.trim().split('\n').toSorted()).toEqual([...no, 'workspace no'].toSorted())
    // The one way that `private` leaves open, and why it is not the default.
    expect(outcomes[1]!.stdout.trim().split('\n').toSorted()).toEqual([...no, "workspace b'HOST'"].toSorted())
  })

  test('the environment is what was given, and nothing of the channel', async () => {
    const world = makeWorld(who)
    const { stdout } = await run({
      who,
      world,
      access: { net: [{ host: 'example.com', allow: true }] },
      argv: ['/usr/bin/env'],
      env: { A: 'b' },
      spawn: { onSocket: (_, handle) => void handle.close() },
    })
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      'A=b',
      `HOME=${world.home}`,
      'PATH=/usr/local/bin:/usr/bin:/bin',
    ])
  })

  test('the proxy socket is served by the host and is the only way out', async () => {
    const world = makeWorld(who, {
      'net.py': `
import socket
for port in (3128, 3129):
    try:
        s = socket.create_connection(('127.0.0.1', port), 60); print(port, s.recv(10))
    except OSError as e: print(port, 'no')
`,
    })
    const { stdout } = await run({
      who,
      world,
      access: { net: [{ host: 'example.com', allow: true }] },
      argv: [PYTHON, 'net.py'],
      spawn: {
        onSocket: ({ serves }, handle) => {
          if (serves === 'proxy') handle.on('connection', (socket: Socket) => socket.end('from host'))
          handle.unref()
        },
      },
    })
    expect(stdout).toBe("3128 b'from host'\n3129 no\n")
  })
})

async function untilThereAre(count: number, commandLine: string): Promise<readonly string[]> {
  for (let tries = 0; ; tries++) {
    const found = readdirSync('/proc').filter((pid) => cmdline(pid).startsWith(commandLine))
    if (found.length === count || tries === 6000) return found
    await sleep(10)
  }
}

const firstOutput = (child: ChildProcess): Promise<void> =>
  new Promise((done) => child.stdout?.once('data', () => done()))

describe.each(IDENTITIES)('as $name', (who) => {
  test('SPEC 4.10 the attack: with the launcher killed, nothing is looked for before everything inside has ended', async () => {
    const world = makeWorld(who, {})
    const late: number[] = []
    for (let round = 0; round < 25; round++) {
      const script =
        'import os\nfor i in range(5): os.fork()\nwhile True: os.close(os.open("made", os.O_CREAT | os.O_WRONLY))'
      // No pipes: of those the end would be waited for.
      const silent = { stdio: ['ignore', 'ignore', 'ignore'] } as const
      const confined = start({ who, world, argv: ['/usr/bin/python3', '-c', script], spawn: silent })
      while (!existsSync(join(world.root, 'made'))) await sleep(1)
      process.kill(confined.pid, 'SIGKILL')
      expect((await confined.exit).signal).toBe('SIGKILL')
      rmSync(join(world.root, 'made'))
      await sleep(20)
      if (existsSync(join(world.root, 'made'))) late.push(round)
      rmSync(join(world.root, 'made'), { force: true })
    }
    expect(late).toEqual([])
  })

  test('decision 0136: a sandbox with its host is not waited for', async () => {
    const confined = start({ who, world: makeWorld(who, {}), argv: ['/bin/sleep', '300'] })
    await sleep(200)
    const began = performance.now()
    orphansEnded()
    expect(performance.now() - began).toBeLessThan(1500)
    confined.kill()
    await confined.exit
  })
})

test('SPEC 4.10 the attack: what a killed host left inside is waited for, whatever is said of the host', async () => {
  // As pid 1 of a sandbox whose launcher has ended: nobody that is Node is above it.
  const orphan = spawn('unshare', ['--user', '--map-root-user', '--pid', '--fork', 'sleep', '0.7'])
  const ended = once(orphan, 'close')
  while (!isFirstInside(orphan.pid!)) await sleep(1)
  orphansEnded()
  expect(isFirstInside(orphan.pid!)).toBe(false)
  expect(await ended).toEqual([0, null])
})

const isFirstInside = (parent: number): boolean => {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ')
  return children.some(
    (pid) =>
      pid !== '' &&
      /^NSpid:\s+\d+\s+1$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')) &&
      !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')),
  )
}
