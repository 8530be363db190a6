import { expect, test } from 'vitest'
import { killModifications } from './support/killed.ts'
import { Workspace } from './support/workspace.ts'

test('200 files changed by a process that is killed: all old or all new', async () => {
  const tally = await killModifications(new Workspace().root, 6)
  expect(tally.old + tally.new + tally.done).toBe(6)
})
