import { parseAccessPolicy, parseContext, ParseError, serializeAccessPolicy } from '@cordon/policy'
import { expect, test } from 'vitest'
import { readVectors } from './vectors.ts'

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
