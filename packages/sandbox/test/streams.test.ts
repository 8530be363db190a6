import { writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { probeKernel, spawnConfined } from '@cordon/sandbox'
import { afterAll, describe, expect, test } from 'vitest'
import { itemsFor } from '../src/call.ts'
import { encodeItems } from '../src/linux/encode.ts'
import {
  BASE_ENV,
  give,
  IDENTITIES,
  type Identity,
  makeWorld,
  planFor,
  reachableLauncher,
  removeWorlds,
} from './confine.ts'

afterAll(removeWorlds)

/** Decision 0140: a host with a socket of every kind on every stream of its launcher. One line each: its report, or nothing. */
const HOST = `
import os, socket, subprocess, sys, tempfile
launcher, plan, tcp = sys.argv[1], open(sys.argv[2], 'rb').read(), socket.create_server(('127.0.0.1', 0))
def connected(): return socket.create_connection(tcp.getsockname())
def accepted(): keep.append(connected()); return tcp.accept()[0]
def unix(type=socket.SOCK_STREAM):
    path = tempfile.mkdtemp(dir=os.path.dirname(sys.argv[2])) + '/s'
    server = socket.socket(socket.AF_UNIX, type); server.bind(path); server.listen()
    client = socket.socket(socket.AF_UNIX, type); client.connect(path)
    keep.append(server)
    return client, server.accept()[0]
def half(ends): keep.append(ends[1]); return ends[0]
def abstract():
    server = socket.socket(socket.AF_UNIX); server.bind(chr(0) + 'cordon-' + str(os.getpid())); server.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(server.getsockname())
    keep.append(server); return client
def named():
    a, b = socket.socketpair(); keep.append(b); a.bind(tempfile.mkdtemp(dir=os.path.dirname(sys.argv[2])) + '/s'); return a
def left():
    a, b = socket.socketpair(); b.close(); return a
kinds = {
  'tcp': connected, 'tcp-accepted': accepted, 'tcp-unconnected': socket.socket, 'tcp-listening': lambda: socket.create_server(('', 0)),
  'tcp6': lambda: socket.socket(socket.AF_INET6), 'mptcp': lambda: socket.socket(proto=262),
  'udp': lambda: socket.socket(type=socket.SOCK_DGRAM), 'udp6': lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
  'raw': lambda: socket.socket(type=socket.SOCK_RAW, proto=1), 'packet': lambda: socket.socket(17, socket.SOCK_DGRAM),
  'netlink': lambda: socket.socket(16, socket.SOCK_RAW, 0), 'vsock': lambda: socket.socket(40), 'alg': lambda: socket.socket(38, 5),
  'unix-unconnected': lambda: socket.socket(socket.AF_UNIX), 'unix-datagram': lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
  'unix-datagrams': lambda: half(socket.socketpair(type=socket.SOCK_DGRAM)),
  'unix-client': lambda: half(unix()), 'unix-accepted': lambda: half(unix()[::-1]), 'unix-packets': lambda: half(unix(5)),
  'unix-abstract': abstract, 'unix-named': named,
  'pair': lambda: half(socket.socketpair()), 'pair-packets': lambda: half(socket.socketpair(type=5)), 'pair-left': left,
  'pipe': lambda: os.fdopen(os.pipe()[1], 'wb'), 'directory': lambda: Directory(),
}
class Directory:
    def __init__(self): self.fd = os.open('/', 0)
    def fileno(self): return self.fd
for name, make in kinds.items():
    answers = set()
    for fd in range(3):
        keep = []
        try: given = make()
        except OSError: answers.add('none'); continue
        ours, theirs = socket.socketpair()
        streams = [subprocess.DEVNULL] * 3
        streams[fd] = given
        child = subprocess.Popen(['cordon-launch'], executable=launcher, env={}, stdin=streams[0], stdout=streams[1], stderr=streams[2],
            close_fds=False, preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
        theirs.close()
        ours.sendall(plan)
        answers.add([line for line in ours.makefile().read().split(chr(10)) if not line.startswith('inside ')][0])
        child.wait()
    print(name, *sorted(answers))
`

const REFUSED = 'failed close-fds item=-1 errno=97' // EAFNOSUPPORT
const EXPECTED: Readonly<Record<string, string>> = {
  pair: 'exit code=0',
  'pair-packets': 'exit code=0',
  'pair-left': 'exit code=0',
  pipe: 'exit code=0',
  directory: 'failed close-fds item=-1 errno=21', // EISDIR
}

/** SPEC 4.5: no filter of ours sees a socket that was made before. */
describe.each(IDENTITIES)('a socket on a stream, as $name', (who) => {
  const weak = { ...probeKernel(), landlockAbi: 0 }
  test.each([
    ['with everything', {}],
    ['without Landlock, which would hold TCP', { kernel: weak, mode: 'warn' }],
    ['without namespaces', { simulate: { userns: false } }],
  ] as const)('is refused unless both its ends are unnamed: %s', (_, plan) => {
    const world = makeWorld(who)
    const items = itemsFor(planFor({ who, world, plan }), { argv: ['true'], env: BASE_ENV }, [])
    const [file, host] = ['plan', 'host.py'].map((name) => join(world.dir, name)) as [string, string]
    writeFileSync(
      file,
      encodeItems(items.map((item) => (item.tag === 'exec' ? { ...item, path: '/usr/bin/true' } : item))),
    )
    writeFileSync(host, HOST)
    give(who, world.dir)
    const { stdout, stderr } = spawnSync('python3', [host, reachableLauncher().path, file], {
      ...who.as,
      encoding: 'utf8',
      timeout: 110_000,
    })
    expect(stderr).toBe('')
    const answers = Object.fromEntries(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ (.*)/s).slice(0, 2) as [string, string]),
    )
    expect(Object.keys(answers).length).toBe(26)
    // A kernel may lack a family, and only root makes raw sockets.
    for (const [kind, answer] of Object.entries(answers))
      if (answer !== 'none') expect([kind, answer]).toEqual([kind, EXPECTED[kind] ?? REFUSED])
    expect(answers).toMatchObject({ tcp: REFUSED, udp: REFUSED, netlink: REFUSED, 'unix-client': REFUSED })
  })
})

/** What is mounted inside, and where. */
async function mountsInside(who: Identity, stdin: 'ignore' | 'pipe'): Promise<readonly string[]> {
  const world = makeWorld(who)
  const { stdout, exit, ...child } = spawnConfined(planFor({ who, world }), {
    argv: ['sh', '-c', 'cut -d " " -f4,5 /proc/self/mountinfo'],
    env: BASE_ENV,
    launcher: reachableLauncher(),
    stdio: [stdin, 'pipe', 'pipe'],
    ...(who.as ? { as: who.as } : {}),
  })
  child.stdin?.end()
  const [said] = await Promise.all([text(stdout!), exit])
  return said.replaceAll(world.dir, '<dir>').trim().split('\n')
}

describe('decision 0430: the mount that a stream is opened anew through', () => {
  test.each(IDENTITIES)('is seen nowhere inside, as $name', async (who) => {
    const seen = await mountsInside(who, 'ignore') // /dev/null, which is a device
    expect(seen).toContain('/ /proc')
    expect(seen).toEqual(await mountsInside(who, 'pipe'))
  })
})
