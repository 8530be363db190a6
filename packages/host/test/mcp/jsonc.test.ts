import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openDocument } from '../../src/mcp/clients/document.ts'
import { parseJsonc, plainOf } from '../../src/mcp/clients/jsonc.ts'

const read = (text: string): unknown => plainOf(parseJsonc(text))
/** Objects without a prototype are compared as what they hold. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test('every JSON text means what JSON.parse says', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 2, '\t'), (text, indent) => {
      const written = JSON.stringify(JSON.parse(text), undefined, indent)
      expect(asJson(read(written))).toEqual(asJson(JSON.parse(written)))
    }),
  )
})

test.each([
  ['\uFEFF{ "a": 1 }', { a: 1 }],
  ['{ // one\n "a": [1, /* two */ 2,], /* * / */ }', { a: [1, 2] }],
  ['{ "a//b": "/* no */", "\\u0061": 1 }', { 'a//b': '/* no */', a: 1 }],
  ['{ "a": 1, "a": 2 }', { a: 2 }],
  ['-0.5e+3', -500],
  ['{ // one\r\n "a": 1 } // two', { a: 1 }],
  ['{ "a": "// \u2028" /* \r \u2029 */ }', { a: '// \u2028' }],
])('%j', (text, value) => {
  expect(asJson(read(text))).toEqual(value)
})

test('__proto__ is a key like any other', () => {
  const value = read('{ "__proto__": { "x": 1 } }') as Record<string, unknown>
  expect(Object.keys(value)).toEqual(['__proto__'])
  expect((value as { x?: unknown }).x).toBe(undefined)
})

test.each([
  ['', 'expected a value at line 1, column 1'],
  ['{ "a": 1', 'expected a comma or } at line 1, column 9'],
  ["{ 'a': 1 }", 'expected a key in quotes at line 1, column 3'],
  ['{ "a" 1 }', 'expected a colon at line 1, column 7'],
  ['[1 2]', 'expected a comma or ] at line 1, column 4'],
  ['[,]', 'expected a value at line 1, column 2'],
  ['{}\n{}', 'expected the end at line 2, column 1'],
  ['["a\nb"]', 'expected a string on one line, with its closing quote at line 1, column 2'],
  ['["\t"]', 'expected a string without unknown escapes and control characters at line 1, column 2'],
  // VS Code ends a comment at each of these, others do not.
  ['{ // \r "a": 1\n}', 'expected a line feed at the end of the comment at line 1, column 3'],
  ['{ // \u2028 "a": 1\n}', 'expected a line feed at the end of the comment at line 1, column 3'],
  ['{ // \u2029 "a": 1\n}', 'expected a line feed at the end of the comment at line 1, column 3'],
  ['{} // \r', 'expected a line feed at the end of the comment at line 1, column 4'],
  ['/* never closed', 'expected a value at line 1, column 1'],
  ['01', 'expected a value at line 1, column 1'],
  ['nullx', 'expected a value at line 1, column 1'],
  ['['.repeat(100_000), 'expected fewer levels at line 1, column 202'],
])('broken text %# is refused, with its place', (text, problem) => {
  expect(() => parseJsonc(text)).toThrow(`not valid JSON: ${problem}`)
})

describe('an edit of an entry', () => {
  const word = fc.string({ unit: 'grapheme' })
  const entry = fc.record(
    {
      command: word,
      args: fc.array(word, { maxLength: 3 }),
      env: fc.dictionary(word, word),
      timeout: fc.nat(),
    },
    { requiredKeys: ['command'] },
  )
  const servers = fc.dictionary(word, entry, { minKeys: 1, maxKeys: 4 })
  const launch = fc.record({ command: word, args: fc.array(word) })

  test.each(['mcp.json', 'config.toml'])(
    'of %s says what it should, changes nothing else, and is taken back',
    (file) => {
      fc.assert(
        fc.property(servers, launch, fc.constantFrom(undefined, 2), (before, { command, args }, indent) => {
          const text = file.endsWith('.toml')
            ? tomlOf(before)
            : JSON.stringify({ s: before, x: [1] }, undefined, indent)
          const names = Object.keys(before)
          const was = names.map((name) => ({
            path: ['s', name],
            command: before[name]!.command,
            args: before[name]!.args,
          }))
          const edited = openDocument(file, text).withEntries(
            was.map(({ path }) => ({ path, command, args })),
          )
          const expected = Object.fromEntries(names.map((name) => [name, { ...before[name], command, args }]))
          expect(asJson(openDocument(file, edited).valueAt(['s']))).toEqual(asJson(expected))
          const back = openDocument(file, edited).withEntries(was)
          expect(asJson(openDocument(file, back).valueAt([]))).toEqual(
            asJson(openDocument(file, text).valueAt([])),
          )
        }),
        { numRuns: file.endsWith('.toml') ? 30 : 100 },
      )
    },
  )
})

/** As Codex has them. */
function tomlOf(servers: Readonly<Record<string, Readonly<Record<string, unknown>>>>): string {
  const text = (value: unknown): string =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? `{ ${Object.entries(value)
          .map(([key, field]) => `${quoted(key)} = ${text(field)}`)
          .join(', ')} }`
      : Array.isArray(value)
        ? `[${value.map(text).join(', ')}]`
        : typeof value === 'string'
          ? quoted(value)
          : String(value)
  return Object.entries(servers)
    .map(
      ([name, fields]) =>
        `[s.${quoted(name)}] # ${name.length}\n${['command', 'args', 'env', 'timeout']
          .filter((key) => key in fields)
          .map((key) => `${key} = ${text(fields[key])}\n`)
          .join('')}`,
    )
    .join('\n')
}

const quoted = (text: string): string => JSON.stringify(text).replace(/[\u007f]/g, '\\u007f')
