import { mergeSources } from '@cordon/config'
import { describe, expect, test } from 'vitest'
import { nameApart, nameTools } from '../../src/gateway/names.ts'

const config = (text: string): ReturnType<typeof mergeSources>['config'] =>
  mergeSources([{ layer: 'user', label: 'test', text }]).config

const SERVERS = `
[providers.mcp.one]
command = "one"
[providers.mcp.two]
command = "two"
`
const named = (text: string, offers: Parameters<typeof nameTools>[1]): string[] =>
  nameTools(config(SERVERS + text), offers).tools.map(
    ({ name, server, remote }) => `${name} = ${server}.${remote}`,
  )

test('SPEC 5.5: a tool keeps its name, unless somebody else has it as well', () => {
  const offers = [
    { server: 'one', tools: ['search', 'add'] },
    { server: 'two', tools: ['search'] },
  ]
  expect(named('', offers)).toEqual(['one_search = one.search', 'two_search = two.search', 'add = one.add'])
  // Whichever was faster.
  expect(named('', offers.toReversed()).toSorted()).toEqual(named('', offers).toSorted())
})

test('SPEC 5.5: local tools and configured ones keep theirs, and a switched off one is not offered', () => {
  const offers = [{ server: 'one', tools: ['fs_read_file', 'search', 'add'] }]
  expect(
    named(
      `[conversation.tools.fs_read_file]
source = "local"
command = ["x"]
[conversation.tools.find]
source = "mcp.one.search"
[conversation.tools.add]
source = "mcp.one"
enable = false
`,
      offers,
    ),
  ).toEqual(['find = one.search', 'one_fs_read_file = one.fs_read_file'])
  expect(named('[conversation.tools."*"]\nenable = false\n', offers)).toEqual([])
})

test('SPEC 5.5: a prefixed name is its server’s, and look-alikes by case are prefixed', () => {
  expect(
    named('', [
      { server: 'one', tools: ['a', 'two_a', 'TWO_b'] },
      { server: 'two', tools: ['a', 'Read'] },
      { server: 'one', tools: ['read'] },
    ]),
  ).toEqual([
    'one_a = one.a',
    'two_a = two.a',
    'one_two_a = one.two_a',
    'one_TWO_b = one.TWO_b',
    'two_Read = two.Read',
    'one_read = one.read',
  ])
  expect(named('', [{ server: 'one', tools: ['FS_read_file', 'find'] }])).toEqual([
    'FS_read_file = one.FS_read_file',
    'find = one.find',
  ])
  expect(
    named('[conversation.tools.find]\nsource = "local"\ncommand = ["x"]\n', [
      { server: 'one', tools: ['Find'] },
    ]),
  ).toEqual(['one_Find = one.Find'])
})

test('SPEC 5.5: what has no free name is left out, and said', () => {
  const { tools, problems } = nameTools(config(SERVERS), [
    { server: 'one', tools: ['a', 'one_a'] },
    { server: 'two', tools: ['a'] },
  ])
  expect(tools.map(({ name }) => name)).toEqual(['two_a'])
  expect(problems.map(({ text }) => text)).toEqual([
    'tool a of MCP server one has no name that is free',
    'tool one_a of MCP server one has no name that is free',
  ])
})

describe('SPEC 5.5: where one server’s name begins another’s, a name is the longer one’s', () => {
  const servers = ['a', 'a_b', 'd']
  const told = (...all: readonly [string, string][]): Record<'named' | 'nameless', string[]> => {
    const found = nameApart(
      all.map(([server, remote]) => ({ server, remote })),
      { servers },
    )
    return {
      named: found.named.map(({ name, server, remote }) => `${name} = ${server} ${remote}`),
      nameless: found.nameless.map(({ server, remote }) => `${server} ${remote}`),
    }
  }

  test('two that would be called alike', () => {
    const all: [string, string][] = [
      ['a', 'b_c'],
      ['d', 'b_c'],
      ['a_b', 'c'],
      ['d', 'c'],
    ]
    const expected = { named: ['d_b_c = d b_c', 'a_b_c = a_b c', 'd_c = d c'], nameless: ['a b_c'] }
    expect(told(...all)).toEqual(expected)
    const reversed = told(...all.toReversed())
    expect(reversed.named.toSorted()).toEqual(expected.named.toSorted())
    expect(reversed.nameless).toEqual(expected.nameless)
  })

  test('also when the other has no such thing, and by no spelling of its own', () => {
    expect(told(['a', 'b_c'], ['d', 'b_c'], ['a_b', 'z'])).toEqual({
      named: ['d_b_c = d b_c', 'z = a_b z'],
      nameless: ['a b_c'],
    })
    expect(told(['a', 'b_c'], ['a', 'B_c'], ['a_b', 'c'])).toEqual({
      named: ['c = a_b c'],
      nameless: ['a b_c', 'a B_c'],
    })
    expect(told(['a', 'a_b_c'], ['a_b', 'c'])).toEqual({
      named: ['a_a_b_c = a a_b_c', 'c = a_b c'],
      nameless: [],
    })
  })
})
