import { NetIndex, parseAccessPolicy, parseHost, parseNetTarget } from '@cordon/policy'
import { expect, test } from 'vitest'
import { outcome, readVectors, summarize } from './vectors.ts'

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
