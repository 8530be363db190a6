import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { LastLines } from '../../src/mcp/last-lines.ts'

test('SPEC 5.4: of an error output the last 100 lines that say something', async () => {
  const stream = new PassThrough()
  const last = new LastLines(stream)
  stream.write('first\n\n  \nsecond\n\nunfi')
  stream.write('nished')
  await new Promise((resolve) => setImmediate(resolve))
  expect(last.lines).toEqual(['first', 'second', 'unfinished'])
  stream.write(`\n${Array.from({ length: 300 }, (_, i) => `line ${i}\n\n`).join('')}`)
  await new Promise((resolve) => setImmediate(resolve))
  expect(last.lines).toHaveLength(100)
  expect(last.lines.at(-1)).toBe('line 299')
})
