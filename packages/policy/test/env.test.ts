import { EnvIndex, isEnvName, parseAccessPolicy } from '@cordon/policy'
import { expect, test } from 'vitest'
import { readVectors, summarize } from './vectors.ts'

for (const v of readVectors<{ rules: unknown; variable: string; expect: object }>('env')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    const { env } = parseAccessPolicy({ env: v.rules })
    const answer = isEnvName(v.variable)
      ? summarize(env, new EnvIndex(env).evaluate(v.variable))
      : { error: 'ENV_DENIED' }
    expect(answer).toEqual(v.expect)
  })
}
