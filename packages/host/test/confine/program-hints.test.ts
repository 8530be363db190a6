import { expect, test } from 'vitest'
import { findProgramHints, type ProgramFacts } from '../../src/confine/program-hints.ts'

const facts = (said: string): ProgramFacts => ({
  said,
  isPipedInto: false,
  argv: ['x'],
  home: '/home/u',
  exists: (path) =>
    [
      '/home/u/.gitconfig',
      '/home/u/.ssh/known_hosts',
      '/home/u/.ssh/id_ecdsa',
      '/home/u/bin/tool',
      '/usr/bin/make',
      '/home/u/lib',
      '/usr/lib/py',
    ].includes(path),
  isInside: (path) => path.startsWith('/usr/'),
  path: '/usr/bin:/home/u/bin:relative',
  valueOf: (name) => ({ PYTHONPATH: '/home/u/lib:/usr/lib/py:/nowhere', NODE_PATH: '/usr/lib/node' })[name],
  isWithheld: () => true,
  canHoldHosts: true,
  isAllowed: () => false,
})

test.each([
  ['*** Please tell me who you are.\n', ['--profile git']],
  ["ModuleNotFoundError: No module named 'mine'\n", ['--env PYTHONPATH --read ~/lib']],
  ["Error: Cannot find module 'mine'\n", ['--env NODE_PATH']],
  ['Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n', [undefined]],
  ['ERROR: No matching distribution found for six\n', ['--profile pip']],
  ['Host key verification failed.\n', ['--read ~/.ssh/known_hosts']],
  ['ada@h: Permission denied (publickey,password).\n', ['--read ~/.ssh/id_ecdsa']],
  ['sh: 1: tool: not found\n', ['--execute ~/bin/tool']],
  ['bash: line 1: tool: command not found\n', ['--execute ~/bin/tool']],
  ['zsh: command not found: tool\n', ['--execute ~/bin/tool']],
  ['/usr/bin/env: ‘tool’: No such file or directory\n', ['--execute ~/bin/tool']],
  ['Error: spawn tool ENOENT\n', ['--execute ~/bin/tool']],
  ['sh: 1: make: not found\nsh: 1: nowhere: not found\nPage not found\n', []],
  ['cannot load such file -- mine (LoadError)\n', []],
  ['all is well\n', []],
])('%j', (said, fixes) => {
  expect(findProgramHints(facts(said)).map(({ fix }) => fix)).toEqual(fixes)
})

test('who has told git nothing about themselves is not helped by their settings', () => {
  expect(findProgramHints({ ...facts('Please tell me who you are'), exists: () => false })).toEqual([])
})

test('a file of ssh that is inside, or that there is not, is not what it missed', () => {
  const said = 'Host key verification failed.\n'
  expect(findProgramHints({ ...facts(said), isInside: () => true })).toEqual([])
  expect(findProgramHints({ ...facts(said), exists: () => false })).toEqual([])
})

test('no hint names what was given: a profile, settings that are inside, a variable', () => {
  const given = { isAllowed: () => true, isInside: () => true, isWithheld: () => false }
  for (const said of [
    'No matching distribution found for six',
    'Please tell me who you are',
    "ModuleNotFoundError: No module named 'mine'",
  ])
    expect(findProgramHints({ ...facts(said), ...given })).toEqual([])
})

test('a variable that is granted and names what is not inside', () => {
  const said = "ModuleNotFoundError: No module named 'mine'"
  expect(findProgramHints({ ...facts(said), isWithheld: () => false })).toMatchObject([
    { text: 'the variable PYTHONPATH names ~/lib, not inside', fix: '--read ~/lib' },
  ])
  expect(findProgramHints(facts(said))).toMatchObject([
    { text: 'the variable PYTHONPATH is set on the host, and not granted; it names ~/lib, not inside' },
  ])
})
