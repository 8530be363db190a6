import { afterAll, describe, expect, test } from 'vitest'
import { compareOnePolicy, newTally } from './agreement.ts'
import { IDENTITIES, removeWorlds } from './confine.ts'

afterAll(removeWorlds)

const OPERATIONS = 50
/** 2,100 operations with every layer and 2,000 with Landlock and seccomp alone, however many identities share them. */
const POLICIES = { namespaces: 42 / IDENTITIES.length, 'landlock-only': 40 / IDENTITIES.length } as const

describe.each(IDENTITIES)('as $name', (who) => {
  test.each(['namespaces', 'landlock-only'] as const)(
    'the kernel and the rules agree, or the table of holders says where not: %s',
    async (isolation) => {
      const tally = newTally()
      const policies = POLICIES[isolation]
      const first = 1 + IDENTITIES.indexOf(who) * policies
      for (let seed = first; seed < first + policies; seed++)
        await compareOnePolicy({ who, seed, count: OPERATIONS, isolation }, tally)
      expect(tally.unexplained.map((each) => JSON.stringify(each))).toEqual([])
      expect(tally.operations).toBe(policies * OPERATIONS)
      // Both answers must occur, or the test has compared nothing.
      expect(tally.granted).toBeGreaterThan(tally.operations / 10)
      expect(tally.refused).toBeGreaterThan(tally.operations / 10)
      expect(tally.policies.enforce).toBeGreaterThan(0)
      expect(tally.policies.warn).toBeGreaterThan(0)
    },
  )
})
