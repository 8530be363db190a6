import { evaluateCommand, type Invocation, parseAccessPolicy } from '@cordon/policy'
import { expect, test } from 'vitest'
import { readVectors } from './vectors.ts'

for (const v of readVectors<{ commands: unknown; invocation: Invocation; expect: object }>('commands')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    const { commands } = parseAccessPolicy({ commands: v.commands })
    const { rule: _, ...answer } = evaluateCommand(commands, v.invocation)
    expect(answer).toEqual(v.expect)
  })
}
