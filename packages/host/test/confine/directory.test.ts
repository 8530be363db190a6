import { expect, test } from 'vitest'
import { fromItsDirectory } from '../../src/confine/directory.ts'
import { mentionedInCommand, type Trouble } from '../../src/confine/mentions.ts'

const THERE = new Set(['/home/u/w/.git', '/home/u/g/.git'])
const world = (cwd: string) => ({ cwd, home: '/home/u', exists: (path: string) => THERE.has(path) })

const meant = (argv: readonly string[], path: string, cwd = '/home/u/w', trouble: Trouble = 'busy') =>
  fromItsDirectory({ paths: [{ path, trouble }], hosts: [], variables: [] }, argv, world(cwd)).paths.map(
    (mention) => mention.path,
  )

test.each<[string, readonly string[]]>([
  ['-C', ['git', '-C', '/home/u/g', 'config', 'x.y', 'z']],
  ['-C from where one stands', ['/usr/bin/git', '--no-pager', '-C', '../g', 'config', 'x.y', 'z']],
  ['-C twice', ['git', '-C', '..', '-c', 'a.b=c', '-C', 'g', 'config', 'x.y', 'z']],
  ['below the top', ['git', '-C', '../g/sub', 'config', 'x.y', 'z']],
  ['cd', ['sh', '-c', 'cd ~/g && git config x.y z']],
  ['cd with a variable', ['bash', '-ec', 'cd "$HOME/g"; git config x.y "a b"']],
  ['cd and -C', ['sh', '-c', 'cd .. && git -C g config x.y z']],
  ['a script of one command', ['sh', '-c', 'git -C $HOME/g config x.y z']],
])('SPEC 4.7 git names a path from the top of its own repository: %s', (_, argv) => {
  expect(meant(argv, '.git/config')).toEqual(['/home/u/g/.git/config'])
})

test('SPEC 4.7 below the top of a repository git still names paths from the top, but for what it is about to make', () => {
  const sub = '/home/u/w/sub'
  expect(meant(['git', 'config', 'x.y', 'z'], '.git/config', sub)).toEqual(['/home/u/w/.git/config'])
  expect(meant(['npm', 'run', 'prepare'], '.git/config', sub)).toEqual(['/home/u/w/.git/config'])
  expect(meant(['git', 'checkout', 'x'], 'src/a', sub)).toEqual(['/home/u/w/src/a'])
  expect(meant(['git', 'clone', 'x', 'new'], 'new', sub)).toEqual(['new'])
  expect(meant(['git', '--git-dir=.git', 'config', 'x.y', 'z'], '.git/config', sub)).toEqual(['.git/config'])
  expect(meant(['touch', 'a'], 'a', sub)).toEqual(['a'])
})

test.each<[string, readonly string[]]>([
  ['a variable', ['sh', '-c', 'cd $X && git config x.y z']],
  ['later', ['sh', '-c', 'make; cd ~/g && git config x.y z']],
  ['twice', ['sh', '-c', 'cd ~/g && make "a;b"; (cd y; git config x.y z)']],
  ['in a wrapper', ['timeout', '5', 'git', '-C', '/home/u/g', 'config', 'x.y', 'z']],
  ['in a script of several', ['sh', '-c', 'true; git -C ~/g config x.y z']],
  ['another option', ['npm', '--prefix', '/home/u/g', 'run', 'x']],
])('SPEC 4.7 where it is not known where a program works, what it names is not: %s', (_, argv) => {
  expect(meant(argv, '.git/config')).toEqual([])
  expect(meant(argv, 'out.o')).toEqual([])
  // A whole path is one from everywhere, and what was typed is meant from here.
  expect(meant(argv, '/home/u/g/x')).toEqual(['/home/u/g/x'])
  expect(meant(argv, 'typed', undefined, 'unsaid')).toEqual(['typed'])
})

test('SPEC 4.7 what a script names before it goes elsewhere, and not afterwards, is meant from where it began', () => {
  const build = ['sh', '-c', 'mkdir -p build && cd build && make']
  expect(meant(build, 'build')).toEqual(['build'])
  expect(meant(build, 'out.o')).toEqual([])
  expect(meant(['sh', '-c', 'mkdir build; cd x; mkdir build'], 'build')).toEqual([])
})

test('make and tar work where they are told to', () => {
  expect(meant(['make', '-C', 'lib', 'all'], 'out.o')).toEqual(['/home/u/w/lib/out.o'])
  expect(meant(['tar', '-C', 'a', '-xf', 'x', '-C', 'b'], 'out.o')).toEqual([])
})

test('SPEC 4.10 only a command of git that writes the repository’s configuration is taken to have wanted that', () => {
  const wants = (...words: string[]) =>
    mentionedInCommand(['git', ...words]).paths.some(({ trouble }) => trouble === 'busy')
  for (const words of [
    'config x.y z',
    '-C g config x.y z',
    'config --unset x.y',
    'config set x.y z',
    'remote add o u',
  ])
    expect([words, wants(...words.split(' '))]).toEqual([words, true])
  for (const words of [
    'config x.y',
    'config --get x.y',
    'config get x.y',
    'config -l',
    'config --global x.y z',
    'status',
  ])
    expect([words, wants(...words.split(' '))]).toEqual([words, false])
})
