import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { give, IDENTITIES, makeWorld, removeWorlds, run } from './confine.ts'
import { byNumber, PYTHON, TRY } from './python.ts'

afterAll(removeWorlds)

const SETUID_OR_SETGID = 0o6000

/**
 * Every way to make a file with a mode. What is written into one whose group may not execute it keeps its setgid bit, and
 * an access list gives that permission without a chmod: so not even an empty one may be made (decision 0115).
 */
const MAKE = `${TRY}
def made(name, f): attempt(name, lambda: oct(os.fstat(f()).st_mode))
MAKE = os.O_CREAT | os.O_RDWR
def acl(*entries): return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *each, 0xffffffff) for each in entries)
def filled():
    fd = os.open('filled', MAKE, 0o2644)
    os.write(fd, b'#!/bin/sh')
    os.setxattr('filled', 'system.posix_acl_access', acl((1, 7), (4, 5), (32, 5)))
    return fd
def linked():
    fd = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o2644)
    os.link('/proc/self/fd/%d' % fd, 'linked', follow_symlinks=True)
    return fd
os.umask(0)
made('filled', filled)
made('linked', linked)
made('openat', lambda: os.open('a', MAKE, 0o4755))
made('open', lambda: call(2, b'b', MAKE, 0o4755))
made('open-high-word', lambda: call(2, b'c', MAKE, ctypes.c_long(0xf000009ed)))
made('creat', lambda: call(85, b'd', 0o4755))
made('openat2', lambda: call(437, -100, b'e', struct.pack('<QQQ', MAKE, 0o2644, 0), 24))
made('mknod', lambda: call(133, b'f', 0o104755, 0) or os.open('f', 0))
made('plain', lambda: os.open('plain', MAKE, 0o755))
made('nothing-made', lambda: call(2, b'plain', os.O_RDONLY, 0o7777))
`

describe.each(IDENTITIES)('as $name', (who) => {
  byNumber.each([
    ['with namespaces', {}],
    ['without namespaces', { simulate: { userns: false } }],
  ] as const)('%s: no file is left that gives its user or group to others', async (_, plan) => {
    const world = makeWorld(who, { 'make.py': MAKE })
    const { stdout, stderr } = await run({ who, world, argv: [PYTHON, 'make.py'], plan })
    const refused = ['filled', 'linked', 'openat', 'open', 'open-high-word', 'creat']
    expect({ lines: stdout.trim().split('\n'), stderr }).toEqual({
      lines: [
        ...refused.map((name) => `${name} EPERM`),
        'openat2 ENOSYS',
        'mknod EPERM',
        'plain 0o100755',
        'nothing-made 0o100755',
      ],
      stderr: '',
    })
    const left = readdirSync(world.root).filter(
      (name) => lstatSync(join(world.root, name)).mode & SETUID_OR_SETGID,
    )
    expect(left).toEqual([])
  })

  /** Each is gone before a signal to it arrives; after a minute they give up, and say so. */
  const CHAIN = `
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
int main (void)
{
  time_t end = time (NULL) + 60;
  for (int i = 0; i < 40; i++)
    if (fork () == 0)
      {
        setsid ();
        while (time (NULL) < end)
          if (fork () > 0)
            _exit (0);
        open ("gave-up", O_CREAT | O_WRONLY, 0600);
        _exit (0);
      }
  usleep (50000);
  return 3;
}
`

  // Decision 0116.
  test.runIf(existsSync('/usr/bin/cc'))(
    'without namespaces: who forks and exits without a pause still ends with the call',
    async () => {
      const world = makeWorld(who)
      const source = join(world.dir, 'chain.c')
      writeFileSync(source, CHAIN)
      execFileSync('/usr/bin/cc', ['-O2', '-o', join(world.root, 'chain'), source])
      give(who, world.dir)
      const { code } = await run({ who, world, argv: ['./chain'], plan: { simulate: { userns: false } } })
      expect([code, readdirSync(world.root)]).toEqual([3, ['chain']])
    },
  )
})
