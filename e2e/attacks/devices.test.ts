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
import os, sys
for path in ${JSON.stringify(DEVICES)}:
    for f in (lambda: os.chmod(path, 0o667), lambda: os.utime(path, (1, 1)), lambda: os.chown(path, 0, 0),
              lambda: os.fchmod(os.open(path, os.O_WRONLY), 0o667), lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o667)):
        try: f(); print('changed', path)
        except OSError: pass
try: os.fchmod(0, 0o667)
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

  test('of a terminal is as it was when the command has ended', () => {
    const place = new Place(person)
    const { missed, screen } = place.atShell([
      [
        '> ',
        'chmod 600 "$(tty)"; $CORDON run -q -- sh -c "chmod 666 /dev/stdin; stat -L -c inside=%a /dev/stdin"\r',
      ],
      ['inside=', 'stat -c after=%a "$(tty)"\r'],
      ['after=', ''],
      ['> ', 'exit\r'],
    ])
    expect({ modes: screen.match(/(?:inside|after)=\d+/g), missed }, screen).toEqual({
      modes: ['inside=666', 'after=600'],
      missed: [],
    })
  })
})
