import { parseAccessPolicy } from '@cordon/policy'
import { expect, test } from 'vitest'
import { forewarn } from '../../src/run/run.ts'

const told = (commands: unknown): readonly string[] =>
  forewarn(
    { lost: [], notes: [] },
    { ...parseAccessPolicy({}), ...(commands === undefined ? {} : { commands: commands as never }) },
  ).lost.map(({ loss }) => loss)

test('SPEC 4.11 rules for commands are a loss under `cordon run`, also if they allow none', () => {
  expect(told(undefined)).toEqual([])
  expect(told({ git: {}, 'a\u001b': {} })).toEqual([
    'the rules for commands (git, "a\\u001b"): any program may be started in any way',
  ])
  expect(told({})).toEqual([
    'the rules for commands (none is allowed): any program may be started in any way',
  ])
})
