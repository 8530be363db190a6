import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { KERNELS, WITHOUT_NAMESPACES } from '../harness/kernels.ts'
import { PEOPLE, Place } from '../harness/place.ts'

/** Every call that changes what is known of a file by its name, and the ways to a descriptor of what may not be opened. */
const ATTACK = `
import ctypes, errno, os, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
x64 = platform.machine() == 'x86_64'
victim = sys.argv[1].encode()
def call(*args):
    if libc.syscall(*args) < 0: raise OSError(ctypes.get_errno(), '')
def attempt(name, f):
    try: f(); print('CHANGED', name)
    except OSError as e: print(errno.errorcode[e.errno], name)
times = (ctypes.c_long * 4)(1, 0, 1, 0)
now = lambda path: call(280 if x64 else 88, -100, path, times, 0)
path = os.open(victim, os.O_PATH)
attempt('chmod', lambda: call(90, victim, 0o777)) if x64 else None
attempt('fchmodat', lambda: call(268 if x64 else 53, -100, victim, 0o777))
attempt('fchmodat2', lambda: call(452, -100, victim, 0o777, 0))
attempt('fchmodat2 by an empty name', lambda: call(452, path, b'', 0o777, 0x1000))
attempt('fchmodat through /proc', lambda: call(268 if x64 else 53, -100, b'/proc/self/fd/%d' % path, 0o777))
attempt('chown', lambda: os.chown(victim, os.getuid(), os.getgid()))
attempt('lchown', lambda: os.lchown(victim, os.getuid(), os.getgid()))
attempt('fchownat by an empty name', lambda: call(260 if x64 else 54, path, b'', os.getuid(), os.getgid(), 0x1000))
attempt('utime', lambda: call(132, victim, 0)) if x64 else None
attempt('utimes', lambda: call(235, victim, 0)) if x64 else None
attempt('futimesat', lambda: call(261, -100, victim, 0)) if x64 else None
attempt('utimensat', lambda: now(victim))
attempt('utimensat by an empty name', lambda: call(280 if x64 else 88, path, b'', times, 0x1000))
attempt('utimensat of the path itself', lambda: call(280 if x64 else 88, path, 0, times, 0))
for name, f in (('setxattr', lambda follow: os.setxattr(victim, 'user.x', b'x', follow_symlinks=follow)),
                ('removexattr', lambda follow: os.removexattr(victim, 'user.kept', follow_symlinks=follow))):
    attempt(name, lambda: f(True)); attempt('l' + name, lambda: f(False))
arguments = (ctypes.c_uint64 * 2)(ctypes.addressof(ctypes.create_string_buffer(b'x')), 1)
attempt('setxattrat', lambda: call(463, -100, victim, 0, b'user.x', arguments, 16))
attempt('removexattrat', lambda: call(466, -100, victim, 0, b'user.kept'))
attempt('file_setattr', lambda: call(469, -100, victim, (ctypes.c_uint32 * 6)(), 24, 0))
for name, flags in (('reading', os.O_RDONLY), ('writing', os.O_WRONLY), ('both', os.O_RDWR), ('neither', os.O_ACCMODE), ('neither, made', os.O_ACCMODE | os.O_CREAT)):
    attempt('fchmod, opened for ' + name, lambda: os.fchmod(os.open(victim, flags), 0o777))
    if x64: attempt('fchmod, opened the old way for ' + name, lambda: os.fchmod((lambda fd: fd if fd >= 0 else (_ for _ in ()).throw(OSError(ctypes.get_errno(), '')))(libc.syscall(2, victim, flags)), 0o777))
`

describe.each(PEOPLE)('SPEC 4.3 what is known of files that no rule grants, as $name', (person) => {
  test.each(KERNELS)('is not changed, $kernel', ({ script }) => {
    const place = new Place(person)
    const victim = place.write(join(place.home, 'notes'), 'mine', 0o600)
    place.write('attack.py', ATTACK)
    const before = statSync(victim)
    const ended = place.shell(script, ['run', '--quiet', '--', '/usr/bin/python3', 'attack.py', victim])
    // With namespaces it is not even there.
    if (script !== WITHOUT_NAMESPACES) expect([ended.code, ended.stdout]).toEqual([1, ''])
    else {
      expect([ended.code, ended.stderr]).toEqual([0, ''])
      expect(ended.stdout.split('\n').length).toBeGreaterThan(25)
      expect(ended.stdout).not.toContain('CHANGED')
    }
    const after = statSync(victim)
    expect([after.mode, after.uid, after.mtimeMs, after.ctimeMs]).toEqual([
      before.mode,
      before.uid,
      before.mtimeMs,
      before.ctimeMs,
    ])
  })

  // SPEC 4.11: what goes on and what does not, where only Landlock holds.
  test('without namespaces: of what may be opened it is changed through the open file, and programs live with it', () => {
    const place = new Place(person)
    place.write('a', 'text', 0o644)
    place.write('d/b', 'text', 0o640)
    place.shell('cd . && git init -q .', [])
    const lines = [
      'cp -p a copied',
      '/usr/bin/python3 -c "import os; os.fchmod(os.open(\'a\', 0), 0o600)"',
      'touch a new',
      'tar cf a.tar a copied && mkdir x && tar xf a.tar -C x',
      'git add a && git -c user.name=n -c user.email=e commit -qm m && git checkout -q -b other && git status',
      'chmod 755 a',
      'touch -d yesterday d',
      'git config a.b c',
      'cp -rp d e',
    ]
    const script = lines.map((line, i) => `(${line}) >/dev/null 2>&1; echo ${i} $?`).join('\n')
    const ended = place.shell(WITHOUT_NAMESPACES, ['run', '--quiet', '--', 'sh', '-c', script])
    expect(ended.stdout).toBe('0 0\n1 0\n2 0\n3 0\n4 0\n5 1\n6 1\n7 4\n8 1\n')
    expect(statSync(join(place.root, 'a')).mode & 0o777).toBe(0o600)
    expect(readFileSync(join(place.root, 'copied'), 'utf8')).toBe('text')
  })
})
