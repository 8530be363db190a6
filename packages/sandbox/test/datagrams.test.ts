import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { IDENTITIES, makeWorld, removeWorlds, run } from './confine.ts'

afterAll(removeWorlds)

/** A socket of the host that takes datagrams, as the system log does; says what came before `last`. */
const HOST = `
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777)
print('up', flush=True)
while (got := s.recv(99)) != b'last': print(got.decode(), flush=True)
`

/** `socketpair` is allowed, for its two ends reach nobody else: but one that is for datagrams can be turned elsewhere. */
const ATTACK = `
import errno, socket, sys
def attempt(name, f):
    try: f(); print(name, 'sent')
    except OSError as e: print(name, errno.errorcode[e.errno])
for name, kind in (('dgram', socket.SOCK_DGRAM), ('raw', socket.SOCK_RAW)):
    def turned():
        a, b = socket.socketpair(socket.AF_UNIX, kind); a.connect(sys.argv[1]); a.send(name.encode())
    def named():
        a, b = socket.socketpair(socket.AF_UNIX, kind); a.sendto(name.encode(), sys.argv[1])
    attempt(name + ' connect', turned)
    attempt(name + ' sendto', named)
for name, kind in (('stream', socket.SOCK_STREAM), ('seqpacket', socket.SOCK_SEQPACKET)):
    a, b = socket.socketpair(socket.AF_UNIX, kind); a.send(b'x'); print(name, b.recv(9))
`

describe.each(IDENTITIES)('a datagram socket of the host, as $name', (who) => {
  test.each([
    ['in the workspace', 'w/log', {}],
    ['in the workspace, without namespaces', 'w/log', { simulate: { userns: false } }],
    ['anywhere, without namespaces', 'log', { simulate: { userns: false } }],
  ] as const)('%s: is not reached by a pair of sockets', async (_, name, plan) => {
    const world = makeWorld(who)
    const path = join(world.dir, name)
    const host = spawn('/usr/bin/python3', ['-c', HOST, path], { stdio: ['ignore', 'pipe', 'inherit'] })
    const got = text(host.stdout)
    await once(host.stdout, 'readable')
    const { stdout } = await run({ who, world, argv: ['/usr/bin/python3', '-c', ATTACK, path], plan })
    const last = `import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'last', '${path}')`
    spawn('/usr/bin/python3', ['-c', last])
    expect({ stdout, got: await got }).toEqual({
      stdout:
        'dgram connect EAFNOSUPPORT\ndgram sendto EAFNOSUPPORT\nraw connect EAFNOSUPPORT\nraw sendto EAFNOSUPPORT\n' +
        "stream b'x'\nseqpacket b'x'\n",
      got: 'up\n',
    })
  })
})
