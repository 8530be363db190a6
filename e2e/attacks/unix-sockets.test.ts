import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'

/** Outside: sockets of the host, by path and by abstract name. Says what they heard. */
const OUTSIDE = `
import os, socket, sys, threading
for at in sys.argv[1:]:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        s = socket.socket(socket.AF_UNIX, kind)
        name = at + ('.d' if kind == socket.SOCK_DGRAM else '')
        s.bind('\\0' + name[1:] if name.startswith('@') else name)
        if not name.startswith('@'): os.chmod(name, 0o777)
        if kind == socket.SOCK_STREAM: s.listen()
        def hear(s=s, name=name, kind=kind):
            while True:
                (s.accept()[0] if kind == socket.SOCK_STREAM else s).recv(9); print('HEARD', name, flush=True)
        threading.Thread(target=hear, daemon=True).start()
print('up', flush=True)
sys.stdin.read()
`

/** Inside: connects and sends to each, by every way there is. */
const INSIDE = `
import os, socket, sys
for at in sys.argv[1:]:
    for kind, end in ((socket.SOCK_STREAM, ''), (socket.SOCK_DGRAM, '.d')):
        name = at + end
        address = '\\0' + name[1:] if name.startswith('@') else name
        for how in ('connect', 'sendto'):
            try:
                s = socket.socket(socket.AF_UNIX, kind)
                if how == 'connect': s.connect(address); s.send(b'x')
                else: s.sendto(b'x', address)
                print('REACHED', os.path.basename(name))
            except OSError: pass
# What it may do: make one, and talk to itself.
s = socket.socket(socket.AF_UNIX); s.bind('/tmp/own'); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect('/tmp/own')
s2 = socket.socket(socket.AF_UNIX); s2.bind('\\0own'); s2.listen(); c2 = socket.socket(socket.AF_UNIX); c2.connect('\\0own')
print('own')
`

describe.each(PEOPLE)('SPEC 4.5 unix sockets of the host, for $name with --unix-sockets', (person) => {
  const place = new Place(person)

  async function attack(sockets: readonly string[], ...flags: readonly string[]): Promise<unknown> {
    const host = spawn('/usr/bin/python3', ['-c', OUTSIDE, ...sockets], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    let heard = ''
    host.stdout.on('data', (chunk: Buffer) => (heard += chunk.toString()))
    await once(host.stdout, 'data')
    const { stdout, stderr } = await place.runMeanwhile([
      ...flags,
      '--',
      '/usr/bin/python3',
      '-c',
      INSIDE,
      ...sockets,
    ])
    host.stdin.end()
    await once(host, 'close')
    return { stdout, stderr, heard: heard.replace('up\n', '') }
  }

  test('by path in the home and in /tmp, and by abstract name: none is reached', async () => {
    const name = `cordon-${process.pid}-${person.uid ?? 0}`
    const sockets = [join(place.home, 'agent'), `/tmp/${name}`, `@${name}`]
    expect(await attack(sockets, '--unix-sockets', '-q')).toEqual({ stdout: 'own\n', stderr: '', heard: '' })
  })

  test('one that lies in the workspace is reached, which is said before the command starts', async () => {
    const { stdout, stderr } = (await attack([join(place.root, 'sock')], '--unix-sockets')) as Record<
      string,
      string
    >
    expect(stdout).toBe('REACHED sock\nREACHED sock.d\nREACHED sock.d\nown\n')
    expect(stderr).toBe(
      'warning: a unix socket of the host that lies in a granted place can be connected to\n',
    )
  })

  test('files of the workspace cannot allow them', () => {
    place.write('.cordon/config.toml', 'sandbox.unix_sockets = "private"\n')
    const { code, stderr } = place.cordon(['config', 'validate'])
    expect(code).not.toBe(0)
    expect(stderr).toContain(
      '`sandbox.unix_sockets`: the files of a workspace cannot set it, only a person can\n',
    )
    place.write('.cordon/config.toml', '')
  })
})
