import { expect, test } from 'vitest'
import { mergeSources } from '../src/index.ts'

const BASE = { layer: 'built-in', label: 'base', text: '' } as const

/** Of the first name, and of the other one that a file gives to the same tool. */
function modes(own: string, other: string): readonly unknown[] {
  const { config } = mergeSources([
    BASE,
    {
      layer: 'user',
      label: 'user',
      text: `[providers.mcp.s]\ncommand = "x"\n[conversation.tools.t]\nsource = "mcp.s"\n${own}`,
    },
    {
      layer: 'workspace',
      label: 'w',
      text: `[conversation.tools.u]\nsource = "mcp.s.t"\n${other}\n[conversation.tools.v]\nsource = "mcp.s"\nrun = "unattended"\n`,
    },
  ])
  const { t, u, v } = config.conversation.tools
  expect(v).toMatchObject({ run: 'unattended' }) // another tool of the same server
  expect([u!.enable, u!.run, u!.result]).toEqual([t!.enable, t!.run, t!.result])
  return [u!.enable, u!.run, u!.result]
}

const SKIP_B = { arg: '/a', equals: 'b', mode: 'skip' }

test.each([
  ['run = "skip"', 'run = "unattended"', 'skip'],
  ['run = "unattended"', 'run = "skip"', 'skip'],
  ['', 'run = "unattended"', 'ask'],
  ['run = "edit"', 'run = "unattended"', 'edit'],
  ['run = "unattended"', 'run = "unattended"', 'unattended'],
  ['run = [{ arg = "/a", equals = "b", mode = "skip" }]', 'run = "unattended"', [SKIP_B]],
  ['run = [{ arg = "/a", equals = "b", mode = "unattended" }]', 'run = "skip"', 'skip'],
  ['run = [{ arg = "/a", equals = "b", mode = "unattended" }]', 'run = "ask"', 'ask'],
  [
    'run = [{ arg = "/a", equals = "b", mode = "skip" }]',
    'run = [{ arg = "/a", equals = "b", mode = "unattended" }]',
    [SKIP_B],
  ],
])('SPEC 2.1 one tool under two names has the stricter run mode: %s and %s', (own, other, held) => {
  expect(modes(own, other)[1]).toEqual(held)
})

test('SPEC 2.1 and is offered, and its result handed over, only where both say so', () => {
  expect(modes('enable = false', 'enable = true\nrun = "unattended"')[0]).toBe(false)
  expect(modes('result = "skip"', 'result = "unattended"')[2]).toBe('skip')
})
