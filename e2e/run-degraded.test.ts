import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from './harness/place.ts'

/** A user namespace of our own that allows no more of them: what a container or a strict kernel looks like. */
const WITHOUT_NAMESPACES =
  'exec unshare --user --map-root-user sh -c \'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"\' sh "$@"'

describe.each(PEOPLE)('SPEC 4.3 a kernel without user namespaces, as $name', (person) => {
  const place = new Place(person)
  const file = place.write(join(place.home, 'notes'), 'mine')

  test('what was assumed is found out, and Landlock still holds the files', () => {
    const script = `cat ${file}; echo x > made && cat made; exit 3`
    const ended = place.shell(WITHOUT_NAMESPACES, ['run', '--', 'sh', '-c', script])
    expect(ended).toMatchObject({ code: 3, stdout: 'x\n' })
    expect(ended.stderr.replaceAll(/^ +(?:why|fix):.*\n/gm, '')).toBe(
      `cat: ${file}: Permission denied\n` +
        'cordon: the command ended with 3\n' +
        '  not held: the home directory and /tmp are refused instead of private and empty\n' +
        '  not held: a rule cannot take back what a wider rule grants\n' +
        '  not held: no network at all: rules that allow hosts cannot be served\n' +
        '  not held: size, permissions, times and attributes of every file can be seen, and changed where it is yours\n' +
        '  not held: other processes, their command lines and connections can be seen; they cannot be read otherwise, signalled or slowed\n' +
        '  not held: a background process can survive when the host is killed\n' +
        '  hint: ~/notes exists on the host, and no rule grants it\n' +
        '    to allow it: ln -s ~/notes notes, --tool or --profile with { path = "notes", external = true, read = true } in its access.fs, and cordon policy compile to approve it\n',
    )
  })

  test('a host rule that cannot be served is refused, and nothing runs', () => {
    const args = ['run', '--allow-net', 'example.com', '--', 'sh', '-c', 'echo ran > ran']
    const ended = place.shell(WITHOUT_NAMESPACES, args)
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr.split('\n')[0]).toBe('cordon: this machine cannot enforce the policy:')
    expect(place.run(['--', 'test', '-e', 'ran']).code).toBe(1)
  })
})
