import { expect, test } from 'vitest'
import type { Gateway } from '../../src/gateway/gateway.ts'
import type { Offering, OfferedTool } from '../../src/agent/offering.ts'
import { Toolbox, type ToolNames } from '../../src/agent/toolbox.ts'
import { Secrets } from '../../src/execute/secrets.ts'

/** Whose each name is; the test changes it, as servers do that come and go. */
type Names = Record<string, string>

const CONFIG = {
  run: 'ask',
  runIsWritten: false,
  result: 'unattended',
  timeout_secs: 1,
  max_output_bytes: 1,
} as const

function toolboxOf(names: Names, choice: Partial<ToolNames> = {}): Toolbox {
  const offering: Offering = {
    tools: () =>
      Promise.resolve(
        Object.entries(names).map(([name, source]) => {
          return { tool: { name, inputSchema: { type: 'object' as const } }, source }
        }),
      ),
    find: (name) =>
      Promise.resolve(
        names[name] === undefined
          ? undefined
          : ({ name, source: names[name], config: CONFIG, perform: unused } satisfies OfferedTool),
      ),
    close: () => Promise.resolve(),
  }
  const gateway = {
    config: { conversation: { tools: {} } },
    localTools: new Map(),
    leading: () => ({}),
    secrets: new Secrets({ root: '/nowhere', home: '/nowhere', patterns: [] }),
  } as unknown as Gateway
  const options = {
    gateway,
    choice: { only: [], without: [], ...choice },
    respondent: undefined,
    remembered: undefined as never,
    refresh: unused,
    askPerson: undefined,
    keep: unused,
  }
  return new Toolbox(options, Promise.resolve(offering))
}

const unused = (): never => {
  throw new Error('nothing is called here')
}

const rename = (names: Names, to: Names): void => {
  for (const name of Object.keys(names)) delete names[name]
  Object.assign(names, to)
}

const namesOf = async (toolbox: Toolbox): Promise<string[]> =>
  (await toolbox.offered()).map(({ name }) => name)

test('`always` to a tool is no word for another server’s that has its name later (decision 0381)', async () => {
  const names: Names = { x: 'mcp.a.x' }
  const toolbox = toolboxOf(names)
  await toolbox.offered()
  toolbox.allow((await toolbox.find('x'))!)
  expect((await toolbox.find('x'))?.isAllowed).toBe(true)
  rename(names, { x: 'mcp.b.x', a_x: 'mcp.a.x' })
  await toolbox.offered()
  expect((await toolbox.find('x'))?.isAllowed).toBe(false)
  expect((await toolbox.find('a_x'))?.isAllowed).toBe(true)
})

test('a call goes to the tool that was offered, or to none', async () => {
  const names: Names = { x: 'mcp.a.x' }
  const toolbox = toolboxOf(names)
  await toolbox.offered()
  rename(names, { x: 'mcp.b.x', y: 'mcp.b.y' })
  expect([await toolbox.find('x'), await toolbox.find('y')]).toEqual([undefined, undefined])
  await toolbox.offered()
  expect((await toolbox.find('x'))?.source).toBe('mcp.b.x')
})

test('--no-tool takes a tool away under every name, and --tool gives one tool and not its name', async () => {
  const without: Names = { x: 'mcp.a.x', y: 'mcp.a.y' }
  const less = toolboxOf(without, { without: ['x'] })
  await less.settleChoice()
  expect(await namesOf(less)).toEqual(['y'])
  rename(without, { a_x: 'mcp.a.x', b_x: 'mcp.b.x', y: 'mcp.a.y' })
  expect(await namesOf(less)).toEqual(['y'])
  expect(await less.find('a_x')).toBe(undefined)
  const names: Names = { x: 'mcp.a.x', y: 'mcp.a.y' }
  const only = toolboxOf(names, { only: ['x'] })
  await only.settleChoice()
  expect(await namesOf(only)).toEqual(['x'])
  rename(names, { x: 'mcp.b.x', a_x: 'mcp.a.x' })
  expect(await namesOf(only)).toEqual(['a_x'])
})
