import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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

test('every relative link in the documents leads to a file', () => {
  const documents = files.filter((file) => file.endsWith('.md'))
  const links = documents.flatMap((file) =>
    // What is in code is an example, not a link.
    [...withoutCode(readFileSync(join(ROOT, file), 'utf8')).matchAll(LINK)].map(([, to = '']) => ({
      file,
      to,
    })),
  )
  expect(links.length).toBeGreaterThan(400)
  const dead = links.filter(({ file, to }) => !existsSync(join(ROOT, dirname(file), decodeURI(to))))
  expect(dead).toEqual([])
})

/** Without its fragment; what has a scheme leads elsewhere. */
const LINK = /\]\((?![a-z][a-z0-9+.-]*:|#)([^)\s#]+)/gi

const withoutCode = (text: string): string =>
  text.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '')
