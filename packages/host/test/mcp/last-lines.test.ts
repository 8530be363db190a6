import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { expect, test } from 'vitest'
import { LastLines } from '../../src/mcp/last-lines.ts'

test('decision 0501: a flood of errors is read no faster than somebody could want, and to its end', async () => {
  const stream = new PassThrough()
  const last = new LastLines(stream)
  const line = `${'x'.repeat(1023)}\n`
  const began = performance.now()
  for (let i = 0; i < 3 * 1024; i++) stream.write(line)
  stream.end('the end\n')
  await finished(stream)
  expect(performance.now() - began).toBeGreaterThan(150)
  expect(last.lines.at(-1)).toBe('the end')
})

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
