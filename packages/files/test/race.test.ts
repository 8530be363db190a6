import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fastPlace, IMPLEMENTATIONS, openHandles } from './place.ts'
import { type Outcome, race } from './race.ts'

/** Both must have happened to each operation, or the race was not one: it went through, and it was refused. */
const LINKED = ['read', 'write', 'create', 'rename', 'unlink', 'list', 'walk', 'mkdirp']
const REFUSED = ['copy', 'hash', 'remove tree', 'write if match']

const missing = (counts: Outcome['counts']): string[] => [
  ...[...LINKED, ...REFUSED].filter((name) => !counts[name]?.['done']),
  ...LINKED.filter((name) => !counts[name]?.['FILE_IS_LINK']),
  ...REFUSED.filter((name) => Object.keys(counts[name] ?? {}).length < 2),
]

test('SPEC 6.4 a swapped directory loses to an error: nothing outside is touched, nothing inside lost', async () => {
  const base = mkdtempSync(join(fastPlace(), 'cordon-race-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const before = openHandles()
  const isEnough = (counts: Outcome['counts']): boolean => missing(counts).length === 0
  const { swaps, counts, breaches } = await race(IMPLEMENTATIONS[0].open, base, 2000, isEnough)
  expect(breaches).toEqual([])
  expect(openHandles()).toBe(before)
  expect(swaps).toBeGreaterThan(1000)
  expect(missing(counts)).toEqual([])
  expect(counts['remove outside']?.['done']).toBeUndefined()
})
