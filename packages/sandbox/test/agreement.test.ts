import { afterAll, describe, expect, test } from 'vitest'
import { compareOnePolicy, newTally } from './agreement.ts'
import { IDENTITIES, removeWorlds } from './confine.ts'

afterAll(removeWorlds)

const OPERATIONS = 50
/** 2,100 operations in all, however many identities share them. */
const POLICIES = 42 / IDENTITIES.length

describe.each(IDENTITIES)('as $name', (who) => {
  test('the kernel and the rules agree, or the table of holders says where not', async () => {
    const tally = newTally()
    for (let seed = 1; seed <= POLICIES; seed++) await compareOnePolicy(who, seed, OPERATIONS, tally)
    expect(tally.unexplained.map((each) => JSON.stringify(each))).toEqual([])
    expect(tally.operations).toBe(POLICIES * OPERATIONS)
    // Both answers must occur, or the test has compared nothing.
    expect(tally.granted).toBeGreaterThan(100)
    expect(tally.refused).toBeGreaterThan(100)
  }, 60_000)
})
