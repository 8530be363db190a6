import { mergeSources } from '@cordon/config'
import { DEFAULT_LIMITS } from '@cordon/sandbox'
import { expect, test } from 'vitest'

test('SPEC 2.1 the limits that files cannot raise are the sandbox’s own', () => {
  const MIB = 1024 * 1024
  expect(mergeSources([]).config.sandbox.limits).toEqual({
    memory_mb: DEFAULT_LIMITS.memory / MIB,
    processes: DEFAULT_LIMITS.processes,
    tmp_mb: DEFAULT_LIMITS.tmp / MIB,
    open_files: DEFAULT_LIMITS.files,
  })
})
