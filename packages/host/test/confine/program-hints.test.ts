import { expect, test } from 'vitest'
import { findProgramHints, type ProgramFacts } from '../../src/confine/program-hints.ts'

const facts = (said: string): ProgramFacts => ({
  said,
  argv: ['x'],
  home: '/home/u',
  exists: (path) => path === '/home/u/.gitconfig',
  isWithheld: (name) => ['PYTHONPATH', 'NODE_PATH'].includes(name),
})

test.each([
  ['*** Please tell me who you are.\n', ['--profile git']],
  ["ModuleNotFoundError: No module named 'mine'\n", ['--env PYTHONPATH']],
  ["Error: Cannot find module 'mine'\n", ['--env NODE_PATH']],
  ['Cannot connect to the Docker daemon at unix:///var/run/docker.sock.\n', [undefined]],
  ['ERROR: No matching distribution found for six\n', ['--profile pip']],
  ['cannot load such file -- mine (LoadError)\n', []],
  ['all is well\n', []],
])('%j', (said, fixes) => {
  expect(findProgramHints(facts(said)).map(({ fix }) => fix)).toEqual(fixes)
})

test('who has told git nothing about themselves is not helped by their settings', () => {
  expect(findProgramHints({ ...facts('Please tell me who you are'), exists: () => false })).toEqual([])
})
