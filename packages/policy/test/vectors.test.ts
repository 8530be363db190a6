import {
  EnvIndex,
  evaluateCommand,
  type Invocation,
  isEnvName,
  NetIndex,
  parseAccessPolicy,
  parseContext,
  ParseError,
  parseHost,
  parseNetTarget,
  parseRelPath,
  serializeAccessPolicy,
} from '@cordon/policy'
import { expect, test } from 'vitest'
import { outcome, readVectors, summarize } from './vectors.ts'

for (const v of readVectors<{ input: string; expect: object }>('lexical')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    expect(outcome(() => ({ path: parseRelPath(v.input) }))).toEqual(v.expect)
  })
}

for (const v of readVectors<{ rules: unknown; variable: string; expect: object }>('env')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    const { env } = parseAccessPolicy({ env: v.rules })
    const answer = isEnvName(v.variable)
      ? summarize(env, new EnvIndex(env).evaluate(v.variable))
      : { error: 'ENV_DENIED' }
    expect(answer).toEqual(v.expect)
  })
}

for (const v of readVectors<{ rules: unknown; url: string; expect: object }>('net')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    const { net } = parseAccessPolicy({ net: v.rules })
    const index = new NetIndex(net)
    expect(outcome(() => summarize(net, index.evaluate(parseNetTarget(v.url))))).toEqual(v.expect)
  })
}

for (const v of readVectors<{ host: string; expect: string | null }>('hosts')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    expect(parseHost(v.host) ?? null).toBe(v.expect)
  })
}

for (const v of readVectors<{ commands: unknown; invocation: Invocation; expect: object }>('commands')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    const { commands } = parseAccessPolicy({ commands: v.commands })
    const { rule: _, ...answer } = evaluateCommand(commands, v.invocation)
    expect(answer).toEqual(v.expect)
  })
}

for (const v of readVectors<{ what: 'access' | 'context'; input: unknown; expect: object }>('parse')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    expect(read(v.what, v.input)).toEqual(v.expect)
  })
}

function read(what: 'access' | 'context', input: unknown): object {
  try {
    if (what === 'context') return { context: parseContext(input).toJSON() }
    return { policy: serializeAccessPolicy(parseAccessPolicy(input)) }
  } catch (error) {
    if (error instanceof ParseError) return { problems: error.problems }
    throw error
  }
}
