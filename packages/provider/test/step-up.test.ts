import { afterAll, beforeAll, describe } from 'vitest'
import type { DatabaseChoice } from '../src/storage/database.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { testDenied } from './step-up/denied.ts'
import { testDirectories } from './step-up/directories.ts'
import { testForged } from './step-up/forged.ts'
import { testKept } from './step-up/kept.ts'
import { testShown } from './step-up/shown.ts'
import { testSigned } from './step-up/signed.ts'
import { StepUpPlace } from './step-up/step-up-place.ts'
import { testTimes } from './step-up/times.ts'

/** One server for all of it. */
let postgres: Postgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const ENGINES: readonly [string, () => DatabaseChoice | undefined][] = [
  ['embedded', () => undefined],
  ['postgres', () => ({ url: postgres.database('step_up') })],
]

describe.each(ENGINES)('SPEC 7.5 on %s', (_, choice) => {
  const at = new StepUpPlace()
  beforeAll(() => at.start(choice()))
  afterAll(() => at.close())

  testSigned(at)
  testDenied(at)
  testForged(at)
  testShown(at)
  testDirectories(at)
  testKept(at)
  testTimes(at)
})
