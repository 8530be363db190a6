/** `npm run soak:files [rounds]`: the race of race.test.ts for as long as you like, on both implementations. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Anchor } from '../src/index.ts'
import { ExactDirectory } from '../src/exact.ts'
import { VerifiedDirectory } from '../src/verified.ts'
import { race } from './race.ts'

const rounds = Number(process.argv[2] ?? 50_000)
const place = process.argv[3] ?? tmpdir()
const start = performance.now()
for (const [name, open] of [
  ['exact', (path: string) => new Anchor(ExactDirectory.openAmbient(path))],
  ['verified', (path: string) => new Anchor(VerifiedDirectory.openAmbient(path))],
] as const) {
  const base = mkdtempSync(join(place, 'cordon-soak-'))
  try {
    const { swaps, counts, breaches } = await race(open, base, rounds)
    console.log(`${name}: ${rounds} rounds, ${swaps} swaps, ${breaches.length} breaches`)
    console.table(counts)
    for (const breach of breaches.slice(0, 10)) console.log(`  ${breach.slice(0, 200)}`)
    // `verified` promises less; how much less is what this prints.
    if (name === 'exact' && breaches.length > 0) process.exitCode = 1
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}
console.log(`${((performance.now() - start) / 1000).toFixed(0)} s`)
