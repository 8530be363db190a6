import fc from 'fast-check'
import { expect, test } from 'vitest'
import { differenceOf } from '../../src/trust/difference.ts'

const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 30 })
const textOf = (all: readonly string[]): string => all.map((line) => `${line}\n`).join('')

/** What the hunks make of the old lines: the definition of a difference. */
function applied(was: readonly string[], difference: readonly string[]): string[] {
  const result: string[] = []
  let at = 0
  for (const line of difference) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@$/.exec(line)
    if (head) {
      const start = Number(head[1]) - (head[2] === '0' ? 0 : 1)
      while (at < start) result.push(was[at++]!)
    } else if (line.startsWith('+')) result.push(line.slice(1))
    else {
      expect(was[at]).toBe(line.slice(1))
      if (line.startsWith(' ')) result.push(was[at]!)
      at++
    }
  }
  return [...result, ...was.slice(at)]
}

test('the difference, applied to what was, gives what is', () => {
  fc.assert(
    fc.property(lines, lines, (was, now) => {
      expect(applied(was, differenceOf(textOf(was), textOf(now)))).toEqual(now)
    }),
    { numRuns: 3000 },
  )
})

test('texts made to take for ever are shown as replaced, at once', () => {
  const was = Array.from({ length: 20_000 }, (_, i) => `${i % 7}`)
  const now = Array.from({ length: 400_000 }, (_, i) => `${i % 11}`)
  const start = processorTime()
  expect(applied(was, differenceOf(textOf(was), textOf(now)))).toEqual(now)
  expect(processorTime() - start).toBeLessThan(10_000)
})

/** Of this process, in milliseconds: on a busy machine the clock says nothing. */
const processorTime = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
