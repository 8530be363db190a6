import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recordRun } from '../../src/confine/unfinished.ts'

test('SPEC 4.3 what several runs could not move is one record, or every command would look for each of them', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-records-'))
  const left = (path: string): void =>
    recordRun(dir, [{ base: '/w', path, guard: 'moved-aside' }]).done({
      createdDenied: [{ path, movedTo: undefined, why: 'EPERM' }],
    })
  for (const path of ['/w/a', '/w/a', '/w/a', '/w/b']) left(path)
  expect(readdirSync(dir)).toHaveLength(2)
  recordRun(dir, [{ base: '/w', path: '/w/a', guard: 'moved-aside' }]).done()
  expect(readdirSync(dir)).toHaveLength(2)
})
