import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, trackedFiles } from './harness/tracked.ts'

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

const decisions = trackedFiles(/^docs\/decisions\/\d{4}-.*\.md$/).map((file) => {
  const text = read(file)
  return {
    file: basename(file),
    number: basename(file).slice(0, 4),
    text,
    title: /^# \d{4} (.*)$/m.exec(text)?.[1],
    retiredBy: /^\*\*Retired by \[(\d{4})\]\(/m.exec(text)?.[1],
  }
})

test('every decision has the one form: title, context, decision, rejected', () => {
  const form = /^# (\d{4}) \S.*\n[^]*\n\*\*Context\.\*\* [^]*\n\*\*Decision[.,][^]*\n\*\*Rejected\b/
  expect(
    decisions.filter(({ text, number }) => form.exec(text)?.[1] !== number).map(({ file }) => file),
  ).toEqual([])
})

test('the index has every decision once, by its title, and the retired ones with what replaced them', () => {
  const lines = read('docs/decisions/README.md')
    .split('\n')
    .filter((line) => line.startsWith('- '))
  const wanted = decisions.map(({ file, number, title, retiredBy }) => {
    const by = decisions.find((other) => other.number === retiredBy)
    return `- [${number}](${file}) ${title}${by ? ` (retired by [${by.number}](${by.file}))` : ''}`
  })
  expect(lines.toSorted()).toEqual(wanted.toSorted())
})

test('every decision that holds is cited from what it explains, and every citation names one', () => {
  const citations = trackedFiles(/\.(?:tsx?|js|cjs|mjs|c|h|py|md)$|^packages\/cli\/bin\/cordon$/)
    .filter((file) => !file.startsWith('docs/decisions/') && file !== 'CHANGELOG.md')
    .flatMap((file) =>
      [...read(file).matchAll(CITATION)].flatMap(([, numbers = '']) =>
        (numbers.match(/\d{4}/g) ?? []).map((number) => ({ file, number })),
      ),
    )
  // What is for users may cite one as well, but nobody who changes the code would find it there.
  const cited = new Set(citations.filter(({ file }) => !file.startsWith('docs/')).map(({ number }) => number))
  const holding = decisions.filter(({ retiredBy }) => retiredBy === undefined).map(({ number }) => number)
  expect(holding.filter((number) => !cited.has(number))).toEqual([])
  const known = new Set(holding)
  expect(citations.filter(({ number }) => !known.has(number))).toEqual([])
})

/** Also over the end of a line of a comment. */
const CITATION = /\bdecisions?[\s*/#]+(\d{4}(?:(?:, | and )\d{4})*)/gi
