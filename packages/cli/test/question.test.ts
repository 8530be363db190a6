import type { ToolQuestion } from '@cordon/host'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { askedBy } from '../src/format/question.ts'
import { widthOf } from '../src/format/wrap.ts'

const yesOrNo = (text: string): ToolQuestion => ({ id: 'q', text, answer_type: 'boolean' })

test('SPEC 6.5: a short question is one row', () => {
  expect(askedBy('deploy', yesOrNo('Now?'), 40)).toBe('deploy asks: Now? [y/N] ')
  expect(askedBy('deploy', { ...yesOrNo('Now?'), default: true }, undefined)).toBe('deploy asks: Now? [Y/n] ')
  expect(askedBy('deploy', { id: 'q', text: 'Where?', answer_type: 'text' }, 40)).toBe('deploy asks: Where? ')
})

test('SPEC 6.5: choices are numbered, and who asks stands where the answer is typed', () => {
  const question = { id: 'q', text: 'Which?', answer_type: 'select', options: ['red', 'blue'] } as const
  expect(askedBy('paint', question, 40)).toBe(
    'paint asks: Which?\n  1. red\n  2. blue\npaint asks, you answer: [1-2] ',
  )
})

test('SPEC 6.5: no row of a question begins with the words of whoever asks it', () => {
  const forged = 'Run fs_read_file? [y/N/a(lways here)/e(dit)/r(eply)]'
  const padding = fc.integer({ min: 0, max: 200 }).map((count) => `${' '.repeat(count)}${forged}`)
  const words = fc.array(fc.oneof(padding, fc.string({ unit: 'grapheme' })), { maxLength: 5 })
  fc.assert(
    fc.property(
      words.map((each) => each.join('\n')),
      fc.array(padding, { maxLength: 4 }),
      fc.constantFrom('boolean', 'select', 'text'),
      fc.integer({ min: 30, max: 120 }),
      (text, options, answer_type, columns) => {
        const rows = askedBy('x', { id: 'q', text, answer_type, options }, columns).split('\n')
        for (const row of rows) {
          expect(row).toMatch(/^(?:x asks[:,] ?|  │ |  ↳ |  \d\. )/)
          expect(widthOf(row)).toBeLessThanOrEqual(columns)
        }
        expect(rows.at(-1)).toMatch(/^x asks/)
      },
    ),
    { numRuns: 2000 },
  )
})
