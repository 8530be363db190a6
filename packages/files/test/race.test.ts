import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { fastPlace, IMPLEMENTATIONS, openHandles } from './place.ts'
import { race } from './race.ts'

test('SPEC 6.4 a swapped directory loses to an error: nothing outside is touched, nothing inside lost', async () => {
  const base = mkdtempSync(join(fastPlace(), 'cordon-race-'))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  const before = openHandles()
  const { swaps, counts, breaches } = await race(IMPLEMENTATIONS[0].open, base, 2000)
  expect(breaches).toEqual([])
  expect(openHandles()).toBe(before)
  // Both must have happened, or the race was not one.
  expect(swaps).toBeGreaterThan(1000)
  for (const name of ['read', 'write', 'create', 'rename', 'unlink', 'list', 'walk', 'mkdirp']) {
    expect(counts[name]?.['done'], name).toBeGreaterThan(0)
    expect(counts[name]?.['FILE_IS_LINK'], name).toBeGreaterThan(0)
  }
  for (const name of ['copy', 'hash', 'remove tree', 'write if match']) {
    expect(counts[name]?.['done'], name).toBeGreaterThan(0)
    expect(Object.keys(counts[name] ?? {}).length, name).toBeGreaterThan(1)
  }
  expect(counts['remove outside']?.['done']).toBeUndefined()
})
