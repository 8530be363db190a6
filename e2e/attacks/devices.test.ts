import { statSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'

const DEVICES = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom', '/dev/tty']

/** Root owns the machine's devices, and everybody his own terminal. Each attack sets a bit that hurts nobody. */
describe.each(PEOPLE)('SPEC 4.3 who may open a device of the host, as $name', (person) => {
  test('is not changed: not by its name, nor through a descriptor, nor through the stream that it is', () => {
    const place = new Place(person)
    const known = (): unknown =>
      DEVICES.map((path) => statSync(path)).map(({ mode, uid, gid, mtimeMs }) => [mode, uid, gid, mtimeMs])
    place.write(
      'attack.py',
      `
import os, stat, struct
for path in ${JSON.stringify(DEVICES)}:
    for f in (lambda: os.chmod(path, 0o667), lambda: os.utime(path, (1, 1)), lambda: os.chown(path, 0, 0),
              lambda: os.fchmod(os.open(path, os.O_WRONLY), 0o667), lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o667)):
        try: f(); print('changed', path)
        except OSError: pass
for stream in range(3):
    acl = struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in ((1, 6, 0xffffffff), (2, 0, 65533), (4, 6, 0xffffffff), (16, 6, 0xffffffff), (32, 6, 0xffffffff)))
    for f in (lambda: os.fchmod(stream, 0o667), lambda: os.utime(stream, (1, 1)), lambda: os.setxattr(stream, 'system.posix_acl_access', acl)):
        if stat.S_ISCHR(os.fstat(stream).st_mode):
            try: f(); print('changed', stream)
            except OSError: pass
open('/dev/null', 'w').write('x')
print(len(open('/dev/zero', 'rb').read(9)), len(open('/dev/urandom', 'rb').read(9)))
`,
    )
    const before = known()
    expect(place.run(['--quiet', '--', '/usr/bin/python3', 'attack.py'])).toMatchObject({
      stdout: '9 9\n',
      code: 0,
    })
    expect(known()).toEqual(before)
  })

  test('of a terminal is not changed while the command runs, nor afterwards; and it is a terminal', () => {
    const place = new Place(person)
    const { missed, screen } = place.atShell([
      [
        '> ',
        'chmod 600 "$(tty)"; $CORDON run -q -- sh -c "chmod 666 /dev/stdin; chmod 666 /dev/stdout; chmod 666 /dev/stderr; stty size <&2; test -t 0 && stat -L -c inside=%a /dev/stdin"\r',
      ],
      ['inside=', 'stat -c after=%a "$(tty)"\r'],
      ['after=', ''],
      ['> ', 'exit\r'],
    ])
    expect({ modes: screen.match(/(?:inside|after)=\d+/g), missed }, screen).toEqual({
      modes: ['inside=600', 'after=600'],
      missed: [],
    })
  })
})
