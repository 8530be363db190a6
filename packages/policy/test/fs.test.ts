import { type Capability, evaluateFs, FsIndex, parseAccessPolicy, parseRelPath } from '@cordon/policy'
import { expect, test } from 'vitest'
import { readVectors, summarize } from './vectors.ts'

interface FsVector {
  readonly rules: unknown
  readonly target: string
  readonly want: Capability
  readonly expect: object
}

const FILES = [
  ['fs', 'exact'],
  ['case', 'folded'],
] as const

for (const [file, foldCase] of FILES) {
  for (const v of readVectors<FsVector>(file)) {
    test(`SPEC ${v.section} ${v.name}`, () => {
      const { fs } = parseAccessPolicy({ fs: v.rules })
      const decision = evaluateFs(new FsIndex(fs, foldCase), parseRelPath(v.target), v.want)
      expect(summarize(fs, decision)).toEqual(v.expect)
    })
  }
}
