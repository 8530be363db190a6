import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KERNELS } from '../harness/kernels.ts'
import { PEOPLE, Place } from '../harness/place.ts'

/** Outside: `cordon run` with a socket on one of its streams. Prints what came of it, and whether the host was reached. */
const OUTSIDE = `
import os, socket, subprocess, sys, tempfile
kind, fd, argv = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
tcp, udp = socket.create_server(('127.0.0.1', 0)), socket.socket(type=socket.SOCK_DGRAM)
udp.bind(('127.0.0.1', 0))
other = socket.create_server(('127.0.0.1', 0))
def unix():
    path = tempfile.mkdtemp(dir='.') + '/s'
    server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
    client = socket.socket(socket.AF_UNIX); client.connect(path)
    return client, server.accept()[0]
make = {
  'tcp': lambda: (socket.create_connection(other.getsockname()), None),
  'udp': lambda: (socket.socket(type=socket.SOCK_DGRAM), None),
  'unix-client': unix,
  'netlink': lambda: (socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0), None),
  'pair': socket.socketpair,
  'packets': lambda: socket.socketpair(type=socket.SOCK_SEQPACKET),
}
given, kept = make[kind]()
streams = [subprocess.DEVNULL, subprocess.PIPE, subprocess.PIPE]
streams[fd] = given
env = dict(os.environ, TCP=str(tcp.getsockname()[1]), UDP=str(udp.getsockname()[1]), FD=str(fd))
end = subprocess.run(argv, stdin=streams[0], stdout=streams[1], stderr=streams[2], env=env, timeout=100)
if kept:
    kept.settimeout(0.1)
    try: print('told:', kept.recv(99))
    except OSError: pass
tcp.settimeout(0.1); udp.settimeout(0.1)
try: tcp.accept(); print('REACHED tcp')
except OSError: pass
try: udp.recv(9); print('REACHED udp')
except OSError: pass
print('code:', end.returncode)
print((end.stdout or b'').decode() + (end.stderr or b'').decode(), end='')
`

/** Inside: everything that a socket of the host could be turned into. */
const INSIDE = `
import os, socket
s = socket.socket(fileno=os.dup(int(os.environ['FD'])))
tcp, udp = ('127.0.0.1', int(os.environ['TCP'])), ('127.0.0.1', int(os.environ['UDP']))
import ctypes
libc = ctypes.CDLL(None)
for f in (lambda: libc.connect(s.fileno(), b'\\0' * 16, 16), lambda: s.sendto(b'x', socket.MSG_FASTOPEN, tcp),
          lambda: s.sendto(b'x', udp), lambda: s.connect(tcp)):
    try: f()
    except OSError: pass
`

const REFUSED =
  'cordon: the sandbox could not be built, so nothing was started: close-fds: EAFNOSUPPORT: ' +
  'its standard input, output or error is a socket of the host, through which it would have the host’s network\n' +
  '  fix: put a pipe between, with `cat |` before the command or `| cat` after it\n'

/** Of each family one; all of them are in sandbox/test/streams.test.ts. */
const SOCKETS = ['tcp', 'udp', 'unix-client', 'netlink']

const ENV = ['--env', 'FD', '--env', 'TCP', '--env', 'UDP']

describe.each(PEOPLE)('SPEC 4.3, 4.5 what is handed over on a stream, to $name', (person) => {
  describe.each(KERNELS)('$kernel', ({ script }) => {
    const place = new Place(person)
    const outside = place.write(join(place.dir, 'outside.py'), OUTSIDE)
    const give = (kind: string, fd: number, ...command: readonly string[]): string =>
      place.shell(`set -- python3 ${outside} ${kind} ${fd} "$@"; ${script}`, [
        'run',
        '--quiet',
        ...ENV,
        '--',
        ...command,
      ]).stdout

    test.each(SOCKETS)('a socket of the host is refused: %s', (kind) => {
      for (const fd of [0, 1]) {
        const said = give(kind, fd, '/usr/bin/python3', '-c', INSIDE)
        expect(said.replace(/^told: .*\n/, '')).toBeOneOf([
          `code: 1\n${REFUSED}`,
          `code: 125\n${REFUSED}`, // SPEC 4.8
        ])
      }
    })

    test('both output streams as one socket: the program would get it itself', () => {
      const said = place.shell(`set -- python3 -c '${SAME}' "$@"; ${script}`, [
        'run',
        '--quiet',
        '--',
        'true',
      ])
      expect(said.stdout).toBeOneOf([`1 ${REFUSED}`, `125 ${REFUSED}`])
    })

    test('a pair works, as Node and ssh make them', () => {
      for (const kind of ['pair', 'packets'])
        expect(give(kind, 1, 'sh', '-c', 'echo through')).toBe("told: b'through\\n'\ncode: 0\n")
    })
  })
})

const SAME = `
import socket, subprocess, sys
server = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(server.getsockname())
code = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=s, stderr=s).returncode
s.close()
print(code, server.accept()[0].makefile().read(), end="")
`

/** What a command sets on an open file it shares with the shell, the shell's next command has. */
const SHARED = `
import fcntl, os, subprocess, sys
with open('out', 'w') as out:
    r, w = os.pipe()
    for given in (r, w):
        before = [fcntl.fcntl(f, fcntl.F_GETFL) for f in (given, out)]
        subprocess.run(sys.argv[1:], stdin=given, stdout=out, stderr=subprocess.DEVNULL)
        after = [fcntl.fcntl(f, fcntl.F_GETFL) for f in (given, out)]
        print(after == before)
print(open('out').read(), end='')
`

const SET = `
import fcntl, os
for fd, flags in ((0, os.O_NONBLOCK | os.O_ASYNC | os.O_DIRECT), (1, os.O_APPEND | os.O_NONBLOCK | os.O_NOATIME)):
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | flags)
print('set')
`

describe.each(PEOPLE)('SPEC 4.3 what a command leaves on shared streams, as $name', (person) => {
  test.each(KERNELS)('non-blocking, appending, asynchronous, in packets: set back, $kernel', ({ script }) => {
    const place = new Place(person)
    const shared = place.write(join(place.dir, 'shared.py'), SHARED)
    const ended = place.shell(`set -- python3 ${shared} "$@"; ${script}`, [
      'run',
      '--quiet',
      '--',
      '/usr/bin/python3',
      '-c',
      SET,
    ])
    expect(ended).toMatchObject({ stdout: 'True\nTrue\nset\nset\n', stderr: '', code: 0 })
  })
})
