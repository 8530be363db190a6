import { expect, test } from 'vitest'
import { ServerWarnings } from '../../src/agent/server-warnings.ts'

test('SPEC 6.5: a server has so many warnings in a turn, and the others have theirs', () => {
  const said: string[] = []
  const warnings = new ServerWarnings((texts) => void said.push(...texts))
  for (let i = 1; i <= 9; i++) warnings.take(`a${i}`, 'a')
  warnings.take('b1', 'b')
  warnings.take('no server', undefined)
  const more = 'MCP server a: further warnings about it are not shown in this turn'
  expect(said).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', more, 'b1', 'no server'])
  warnings.beginTurn()
  warnings.take('a10', 'a')
  expect(said.at(-1)).toBe('a10')
})
