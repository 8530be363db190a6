import { Command } from 'commander'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { register } from '../src/commands/run.ts'
import { readPlainRun } from '../src/plain-run.ts'
import type { World } from '../src/world.ts'

/** What the parser makes of the same words: its options and operands, or undefined when it refuses them. */
function parsed(words: readonly string[]): unknown {
  const parser = new Command()
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({ writeErr: () => {} })
  const run = parser
    .command('run')
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
  register(run, {} as World)
  let seen: unknown
  run.action((command: string[], options: object) => void (seen = { command, options: { ...options } }))
  try {
    parser.parse(['run', ...words], { from: 'user' })
  } catch {
    return undefined
  }
  return seen
}

const word = fc.constantFrom(
  'a',
  'src',
  'x=y',
  '.',
  '',
  '--',
  '-q',
  '--read',
  '--tool',
  'api.github.com:443/x',
)
const name = fc.constantFrom(
  '--read',
  '--write',
  '--execute',
  '--allow-net',
  '--env',
  '--cfg',
  '--tool',
  '--profile',
  '--id',
  '--no-id',
  '--quiet',
  '-q',
  '--bogus',
  '--read=x',
  '--',
)

test('what is read without the parser is what the parser reads', () => {
  const line = fc.tuple(
    fc.array(fc.oneof(fc.tuple(name, word), fc.tuple(name)), { maxLength: 4 }),
    fc.array(word, { maxLength: 3 }),
  )
  let plain = 0
  fc.assert(
    fc.property(line, ([options, command]) => {
      const words = [...options.flat(), '--', ...command]
      const read = readPlainRun(['run', ...words])
      if (!read) return
      plain++
      expect(read).toEqual(parsed(words))
    }),
    { numRuns: 3000 },
  )
  expect(plain).toBeGreaterThan(100)
})

test('the usual form is read, and what is unusual is left to the parser', () => {
  expect(readPlainRun(['run', '--read', '.', '--env', 'A', '--', 'npm', 'test', '--', '-q'])).toMatchObject({
    command: ['npm', 'test', '--', '-q'],
    options: { read: ['.'], env: ['A'], cfg: [] },
  })
  for (const words of [['ls'], ['--help'], ['--'], ['-q', '--', 'ls'], ['--read', '--', 'ls']])
    expect(readPlainRun(['run', ...words])).toBeUndefined()
})
