import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ERROR_CODES } from '../packages/policy/src/error-codes.ts'
import { ROOT, trackedFiles } from './harness/tracked.ts'

const codes = Object.values(ERROR_CODES).flat()

test('docs/errors.md says of every error code what it means, and of no other', () => {
  const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8')
  const documented = [...page.matchAll(/^\| `(\w+)` \| \S.* \|$/gm)].map(([, code]) => code)
  expect(documented.toSorted()).toEqual(codes.toSorted())
})

test('every error code is raised by something', () => {
  const sources = trackedFiles(/^packages\/\w+\/src\/.*\.ts$/)
    .filter((file) => file !== 'packages/policy/src/error-codes.ts')
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n')
  expect(codes.filter((code) => !sources.includes(`'${code}'`) && !sources.includes(`  ${code}: `))).toEqual(
    [],
  )
})
