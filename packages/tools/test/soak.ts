/**
 * `npm run soak:tools [operations] [kills]`: the races of SPEC 6.4 against each tool, 10,000 operations each,
 * and a change of 200 files killed at 200 random points. Ends with an error if anything gets through.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { killModifications } from './support/killed.ts'
import { RACED, raceTool } from './support/race.ts'

const [operations = 10_000, kills = 200] = process.argv.slice(2).map(Number)
const base = mkdtempSync(join(tmpdir(), 'cordon-soak-'))
try {
  for (const [name, claim] of RACED) {
    const start = performance.now()
    const { done, refused } = await raceTool(base, name, (count) => count >= operations)
    const seconds = ((performance.now() - start) / 1000).toFixed(0)
    console.log(
      `${name}: ${done} done, ${refused} refused in ${seconds} s; it ${claim}, and nothing inside is lost`,
    )
  }
  console.log('200 files, killed:', await killModifications(mkdtempSync(join(base, 'killed-')), kills))
} finally {
  rmSync(base, { recursive: true })
}
