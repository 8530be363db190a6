import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { removeToml, setToml } from '../src/index.ts'

const path = ['providers', 'mcp', 'a']

test('a table goes with all its sections; what is around it, and every comment outside, stays', () => {
  const before = '# mine\n[sandbox]\nmode = "enforce" # why\n'
  const server =
    '\n[providers.mcp.a]\ncommand = "x"\n\n[[providers.mcp.a.access.env]]\nname = "K"\nread = true\n'
  const other = '\n[providers.mcp.ab]\ncommand = "y"\n'
  expect(removeToml(before + server + other, path)).toBe(before + other)
  expect(removeToml(before + other + server, path)).toBe(before + other)
  expect(removeToml(before + server, path)).toBe(before)
})

test.each([
  ['providers.mcp.a.command = "x"\nsandbox.mode = "warn"\n', 'sandbox.mode = "warn"\n'],
  [
    '[providers.mcp]\na.command = "x"\na.arguments = ["y"]\nb.command = "z"\n',
    '[providers.mcp]\nb.command = "z"\n',
  ],
  [
    '[providers]\nmcp = { a = { command = "x" }, b = { command = "z" } }\n',
    '[providers]\nmcp = { b = { command = "z" } }\n',
  ],
  [
    '[providers]\nmcp = { b = { command = "z" }, a = { command = "x" } }\n',
    '[providers]\nmcp = { b = { command = "z" } }\n',
  ],
])('of %j remains %j', (text, left) => {
  expect(removeToml(text, path)).toBe(left)
})

test('what is not there leaves the text as it is; __proto__ is a name like any other', () => {
  expect(removeToml('x = 1\n', path)).toBe('x = 1\n')
  const text = setToml('x = 1\n', ['a', '__proto__', 'command'], 'c')!
  expect(Object.keys(parse(text)['a'] as object)).toEqual(['__proto__'])
  expect(removeToml(text, ['a', '__proto__'])).toBe('x = 1\n')
})

test('a comment in the way is no reason to lose it', () => {
  const text = '[providers.mcp.a]\ncommand = "x"\n# about b\n[providers.mcp.b]\ncommand = "y"\n'
  expect(removeToml(text, path)).toBe('# about b\n[providers.mcp.b]\ncommand = "y"\n')
})

test('a dotted key in a table in braces is taken out as a whole', () => {
  const text = 't1 = { source = "local", access.fs = [], access."commands" = { git = {} }, enable = true }\n'
  const left = (rest: string): string => `t1 = { source = "local", ${rest}enable = true }\n`
  expect(removeToml(text, ['t1', 'access', 'commands'])).toBe(left('access.fs = [], '))
  expect(removeToml(text, ['t1', 'access', 'fs'])).toBe(left('access."commands" = { git = {} }, '))
  expect(removeToml('t = { a.b = 1 , c = 2 }\n', ['t', 'a', 'b'])).toBe('t = { c = 2 }\n')
})
