import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, trackedFiles } from './harness/tracked.ts'

const files = trackedFiles(/\.(?:tsx?|js|cjs|c|h|py|md|json)$/).filter((name) => name !== 'package-lock.json')

test('every citation of the specification names a section of docs/spec.md', () => {
  const spec = readFileSync(join(ROOT, 'docs/spec.md'), 'utf8')
  const sections = new Set([...spec.matchAll(/^#{2,3} (\d+(?:\.\d+)?)/gm)].map(([, number]) => number))
  expect(sections.size).toBeGreaterThan(40)
  const wrong = files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/\bSPEC (\d+(?:\.\d+)*)/g)]
      .filter(([, number = '']) => !sections.has(number))
      .map(([citation]) => `${file}: ${citation}`),
  )
  expect(wrong).toEqual([])
})

test('nothing refers to papers that are not in this repository', () => {
  const papers = /\bSTACK\b|\bSTYLE\b|\b[Tt]he seed\b/
  expect(files.filter((file) => papers.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([])
})
