import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { RACED, raceTool } from './support/race.ts'
import { Workspace } from './support/workspace.ts'

for (const [name, claim] of RACED)
  test(`SPEC 6.4 ${name} ${claim} while its directory is swapped for a link`, async () => {
    // Both must have happened, or the race was none.
    const enough = (_: number, ms: number, tally: { done: number; refused: number }): boolean =>
      (ms > 1000 && tally.done > 0 && tally.refused > 0) || ms > 200_000
    const { done, refused } = await raceTool(new Workspace().base, name, enough)
    expect([done > 0, refused > 0]).toEqual([true, true])
  })

/** Where nobody is to know when a file was read, the witness has nothing to say. */
const options = spawnSync('findmnt', ['-no', 'OPTIONS', '-T', tmpdir()], { encoding: 'utf8' }).stdout ?? ''

test.skipIf(/\bnoatime\b/.test(options))('the witness works: reading a file changes its access time', () => {
  const workspace = new Workspace()
  const file = workspace.path('a')
  writeFileSync(file, 'x')
  utimesSync(file, 1000, 2000)
  readFileSync(file)
  expect(statSync(file).atimeMs).toBeGreaterThan(1_000_000)
})
