import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { WITHOUT_NAMESPACES } from './harness/kernels.ts'
import { PEOPLE, Place } from './harness/place.ts'

describe.each(PEOPLE)('SPEC 4.3 a kernel without user namespaces, as $name', (person) => {
  const place = new Place(person)
  const file = place.write(join(place.home, 'notes'), 'mine')

  test('what was assumed is found out, and Landlock still holds the files', () => {
    const script = `cat ${file}; echo x > made && cat made; exit 3`
    const ended = place.shell(WITHOUT_NAMESPACES, ['run', '--', 'sh', '-c', script])
    expect(ended).toMatchObject({ code: 3, stdout: 'x\n' })
    expect(ended.stderr.replaceAll(/^ +(?:why|fix):.*\n/gm, '')).toBe(
      'warning: not held here: the home directory and /tmp are refused instead of private and empty\n' +
        'warning: not held here: a rule cannot take back what a wider rule grants\n' +
        'warning: not held here: no network at all: rules that allow hosts cannot be served\n' +
        'warning: not held here: size, permissions, times and attributes of every file can be seen; of what may be opened they can be changed through the open file, and of nothing by name, so `chmod`, `git init` and unpacking directories fail, and a linker leaves its program without execute permission\n' +
        'warning: not held here: other processes, their command lines and connections can be seen; they cannot be read otherwise, signalled or slowed\n' +
        'warning: not held here: a background process can survive when the host is killed\n' +
        'warning: not held here: files that the host obeys or runs by itself later can be changed: .cordon\n' +
        `cat: ${file}: Permission denied\n` +
        'cordon: the command ended with 3\n' +
        '  hint: ~/notes exists on the host, and is not granted\n' +
        '    to allow it: --read ~/notes\n',
    )
  })

  test('SPEC 4.10, 4.11 that the directory one stands in can be moved is said before the command starts', () => {
    const marked = new Place(person)
    marked.init()
    marked.mkdir(join(marked.root, 'x'))
    marked.mkdir(join(marked.root, 'x/y'))
    const inside = `cd x/y && ${WITHOUT_NAMESPACES}`
    const script = 'echo started >&2; cd ..; mv y z && mkdir y && rmdir y && mv z y'
    const { code, stderr } = marked.shell(inside, ['run', '--', 'sh', '-c', script])
    expect(code).toBe(0)
    expect(stderr.split('\n').filter((line) => line.includes('moved') || line === 'started')).toEqual([
      'warning: not held here: directories can be moved, and become git repositories under another name; a shell that stands in one follows, and git runs there what the command configured: x, x/y',
      'started',
    ])
  })

  test('SPEC 4.11 what nobody declared is kept back by --quiet', () => {
    expect(place.shell(WITHOUT_NAMESPACES, ['run', '--quiet', '--', 'true'])).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  test('a host rule that cannot be served is refused, and nothing runs', () => {
    const args = ['run', '--allow-net', 'example.com', '--', 'sh', '-c', 'echo ran > ran']
    const ended = place.shell(WITHOUT_NAMESPACES, args)
    expect(ended).toMatchObject({ code: 125, stdout: '' })
    expect(ended.stderr.split('\n')[0]).toBe('cordon: this machine cannot enforce the policy:')
    expect(place.run(['--', 'test', '-e', 'ran']).code).toBe(1)
  })
})
