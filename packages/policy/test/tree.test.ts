import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { type Capability, DeniedError, evaluateFs, FsIndex, parseContext } from '@cordon/policy'
import { afterAll, expect, test } from 'vitest'
import { outcome, readVectors } from './vectors.ts'

interface Tree {
  readonly dirs: readonly string[]
  readonly files: readonly string[]
  readonly links: Readonly<Record<string, string>>
}

interface TreeVector {
  readonly tree: Tree
  readonly rules: readonly object[] | null
  readonly input: string
  readonly want: Capability
  readonly expect: object
}

const home = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-tree-')))
afterAll(() => rmSync(home, { recursive: true }))

for (const [i, raw] of readVectors<TreeVector>('tree').entries()) {
  test(`SPEC ${raw.section} ${raw.name}`, () => {
    const top = join(home, String(i))
    const v = JSON.parse(JSON.stringify(raw).replaceAll('$T', top)) as typeof raw
    grow(top, v.tree)
    const access = v.rules && { fs: v.rules }
    const context = parseContext({ root: join(top, 'ws'), action: 'run', access })
    const rules = context.data.access?.fs ?? []
    const answer = outcome(() => {
      try {
        const found = context.locate(v.input, v.want)
        const decision = evaluateFs(new FsIndex(rules), found.relative, v.want)
        const rule = 'rule' in decision ? rules.indexOf(decision.rule) : null
        expect(join(found.anchor, found.inside)).toBe(found.absolute)
        return { at: relative(top, found.absolute), relative: found.relative, rule }
      } catch (error) {
        if (!(error instanceof DeniedError)) throw error
        const { rule } = error.denied
        return { error: error.code, rule: rule ? rules.indexOf(rule) : null }
      }
    })
    expect(answer).toEqual(v.expect)
  })
}

function grow(top: string, { dirs, files, links }: Tree): void {
  for (const dir of ['ws', ...dirs]) mkdirSync(join(top, dir), { recursive: true })
  for (const file of files) {
    mkdirSync(dirname(join(top, file)), { recursive: true })
    writeFileSync(join(top, file), '')
  }
  for (const [link, target] of Object.entries(links)) {
    mkdirSync(dirname(join(top, link)), { recursive: true })
    symlinkSync(target, join(top, link))
  }
}
