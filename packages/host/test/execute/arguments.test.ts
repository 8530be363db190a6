import { parseArguments, TOOLS } from '@cordon/tools'
import { expect, test } from 'vitest'
import { loadPatternTest } from '../../src/execute/patterns.ts'

type JsonSchema = NonNullable<Parameters<typeof parseArguments>[0]>

const parse = async (schema: JsonSchema, args: unknown): Promise<unknown> =>
  parseArguments(schema, args, await loadPatternTest(schema))
/** What is wrong with one argument `x` of this schema. */
const wrong = async (x: JsonSchema, value: unknown): Promise<string> => {
  try {
    await parse({ type: 'object', properties: { x } }, { x: value })
    return ''
  } catch (error) {
    return (error as Error).message.replace('invalid arguments: ', '')
  }
}

const file = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    limit: { type: 'integer', minimum: 1 },
    mode: { enum: ['a', 'b'] },
  },
  required: ['path'],
  additionalProperties: false,
} as const

test('everything that is wrong is said at once, with its place and a suggestion', async () => {
  await expect(parse(file, { pth: 'x', limit: 0.5, mode: 'c' })).rejects.toThrow(
    expect.objectContaining({
      message:
        'invalid arguments: unknown name "pth"; did you mean path?; limit: expected a whole number, got 0.5; ' +
        'mode: expected one of "a", "b", got the string "c"; path: is required',
    }),
  )
  await expect(parse(file, { path: 'x', zzz: 1 })).rejects.toThrow(
    'unknown name "zzz"; there are path, limit, mode',
  )
  for (const odd of [null, [], 'x', 7])
    await expect(parse(file, odd)).rejects.toThrow('invalid arguments: expected an object, got ')
})

test('null for an optional argument is absent, for a required one it is wrong', async () => {
  expect(await parse(file, { path: 'x', limit: null })).toEqual({ path: 'x' })
  await expect(parse(file, { path: null })).rejects.toThrow('invalid arguments: path: is required')
  const nullable = { type: 'object', properties: { x: { type: ['string', 'null'] } } }
  expect(await parse(nullable, { x: null })).toEqual({ x: null })
})

const cases: readonly (readonly [schema: JsonSchema, good: unknown, bad: unknown, message: string])[] = [
  [{ type: 'string', minLength: 2 }, '😀😀', '😀', 'x: must have at least 2 characters'],
  [{ type: 'string', maxLength: 1 }, '😀', 'ab', 'x: must have at most 1 character'],
  [{ type: 'string', pattern: '^a+$' }, 'aa', 'b', 'x: must match ^a+$'],
  [{ type: 'number', exclusiveMinimum: 0, maximum: 1 }, 1, 0, 'x: must be more than 0'],
  [{ exclusiveMaximum: 5 }, 'any', 5, 'x: must be less than 5'],
  [{ multipleOf: 0.1 }, 0.3, 0.35, 'x: must be a multiple of 0.1'],
  [{ const: { a: 1, b: [2] } }, { b: [2], a: 1 }, { a: 1 }, 'x: must be {"a":1,"b":[2]}, got an object'],
  [{ type: ['string', 'integer'] }, 3, true, 'x: expected a string or a whole number, got true'],
  [{ type: 'array', items: { type: 'string' }, minItems: 1 }, ['a'], [], 'x: must have at least 1 item'],
  [{ type: 'array', items: { type: 'string' } }, [], ['a', 1], 'x[1]: expected a string, got 1'],
  [{ type: 'array', maxItems: 1 }, [1], [1, 2], 'x: must have at most 1 item'],
  [
    { uniqueItems: true },
    [1, '1'],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    'x: has the same item twice',
  ],
  [{ prefixItems: [{ type: 'string' }], items: false }, ['a'], ['a', 1], 'x[1]: is not allowed'],
  [
    { items: [{ type: 'string' }], additionalItems: { type: 'number' } },
    ['a', 1],
    ['a', 'b'],
    'x[1]: expected a number, got the string "b"',
  ],
  [{ contains: { const: 1 } }, [0, 1], [0], 'x: must have at least 1 item of the wanted kind'],
  [{ contains: { const: 1 }, maxContains: 1 }, [1], [1, 1], 'x: must have at most 1 item of the wanted kind'],
  [
    { properties: { a: { type: 'object', required: ['b'] } } },
    { a: { b: 1 } },
    { a: {} },
    'x.a.b: is required',
  ],
  [
    { additionalProperties: { type: 'number' } },
    { a: 1 },
    { 'a b': '' },
    'x."a b": expected a number, got the string ""',
  ],
  [
    { patternProperties: { '^n_': { type: 'number' } }, additionalProperties: false },
    { n_a: 1 },
    { n_a: 'x' },
    'x.n_a: expected a number, got the string "x"',
  ],
  [
    { propertyNames: { maxLength: 2 } },
    { ab: 1 },
    { abc: 1 },
    'x: the name "abc" must have at most 2 characters',
  ],
  [{ minProperties: 1 }, { a: 1 }, {}, 'x: must have at least 1 member'],
  [{ maxProperties: 1 }, { a: 1 }, { a: 1, b: 1 }, 'x: must have at most 1 member'],
  [{ dependentRequired: { a: ['b'] } }, { b: 1 }, { a: 1 }, 'x.b: is required with a'],
  [{ dependentSchemas: { a: { required: ['c'] } } }, { b: 1 }, { a: 1 }, 'x.c: is required'],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 2, 3, 'x: must be at most 2'],
  [
    { anyOf: [{ type: 'string' }, { type: 'object', required: ['a', 'b'] }] },
    'a',
    {},
    'x: expected a string, got an object',
  ],
  [{ oneOf: [{ minimum: 1 }, { maximum: 5 }] }, 0, 3, 'x: fits 2 of the alternatives, and must fit one'],
  [{ not: { type: 'string' } }, 1, 'a', 'x: is one of the values that are excluded'],
  [
    JSON.parse('{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":5}}') as JsonSchema,
    'ab',
    1,
    'x: must be at least 5',
  ],
  [false, undefined, 1, 'x: is not allowed'],
]
for (const [schema, good, bad, message] of cases) {
  test(`JSON Schema ${JSON.stringify(schema)}`, async () => {
    if (good !== undefined) expect(await wrong(schema, good)).toBe('')
    expect(await wrong(schema, bad)).toBe(message)
  })
}

test('references inside the schema are followed', async () => {
  const tree = {
    type: 'object',
    properties: { root: { $ref: '#/$defs/node' } },
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, required: ['id'] } },
  }
  expect(await parse(tree, { root: { id: 1, next: { id: 2 } } })).toEqual({
    root: { id: 1, next: { id: 2 } },
  })
  await expect(parse(tree, { root: { id: 1, next: {} } })).rejects.toThrow(
    'invalid arguments: root.next.id: is required',
  )
})

const unusable: readonly (readonly [JsonSchema, string])[] = [
  [
    { $ref: 'https://example.com/x' },
    'the schema refers to the string "https://example.com/x"; only #/… can be followed',
  ],
  [{ $ref: '#/$defs/none' }, 'the schema refers to "#/$defs/none", which is not there'],
  [{ unevaluatedProperties: false }, 'the schema uses unevaluatedProperties, which cannot be checked here'],
  [{ type: 'date' }, 'the schema has the type "date", which JSON does not'],
  [{ properties: { a: { required: true } } }, 'the schema has a required that is not a list of names'],
  [
    { properties: { a: { exclusiveMinimum: true } } },
    'the schema has a exclusiveMinimum that is not a number',
  ],
  [{ $ref: '#' }, 'the schema takes too long to check, or what it is for is nested too deep'],
  [
    Object.fromEntries([
      ['$ref', '#/0'],
      ...Array.from({ length: 40 }, (_, i) => [
        i,
        { anyOf: [{ $ref: `#/${i + 1}` }, { $ref: `#/${i + 1}` }] },
      ]),
      [40, false],
    ]) as JsonSchema,
    'the schema takes too long to check, or what it is for is nested too deep',
  ],
]
for (const [schema, message] of unusable) {
  test(`a schema that cannot be checked lets nothing run: ${JSON.stringify(schema).slice(0, 80)}`, async () => {
    const value = JSON.stringify(schema).includes('exclusive') ? { a: 1 } : { a: {} }
    await expect(parse(schema, value)).rejects.toThrow(expect.objectContaining({ code: 'SCHEMA', message }))
  })
}

test('arguments that are nested too deep are refused', async () => {
  const deep: unknown = JSON.parse(`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)
  await expect(parse({}, deep)).rejects.toThrow('invalid arguments: nested deeper than 128 levels')
})

test('the published schemas of the fs tools are checked as the tools check them', async () => {
  const names = TOOLS.map((tool) => tool.name)
  expect(names).toContain('fs_read_file')
  for (const { parameters } of TOOLS) {
    await expect(parse({ ...parameters }, { no_such: 1 })).rejects.toThrow('unknown name "no_such"')
  }
})
