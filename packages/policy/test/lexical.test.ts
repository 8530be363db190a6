import { parseRelPath } from '@cordon/policy'
import { expect, test } from 'vitest'
import { outcome, readVectors } from './vectors.ts'

for (const v of readVectors<{ input: string; expect: object }>('lexical')) {
  test(`SPEC ${v.section} ${v.name}`, () => {
    expect(outcome(() => ({ path: parseRelPath(v.input) }))).toEqual(v.expect)
  })
}
