import { describe, isFields, ParseError, type Problem, quote } from '@cordon/policy'
import { canonicalJson, type Checker, type PatternTest } from './checker.ts'
import { arrayProblems } from './lists.ts'
import { objectProblems } from './objects.ts'
import { asSchema, type JsonSchema, resolveRef, SchemaError } from './schema.ts'
import { scalarProblems } from './scalars.ts'

/**
 * The arguments as the tool gets them, or everything that is wrong with them at once (decision 0100).
 * `null` for an optional argument that may not be null is absent: models write it for "none".
 */
export function parseArguments(
  schema: JsonSchema | undefined,
  args: unknown,
  matches: PatternTest,
): Readonly<Record<string, unknown>> {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw new ParseError('invalid arguments', [
      { at: '', message: `expected an object, got ${describe(args)}` },
    ])
  if (isDeeper(args, DEEPEST)) throw new ParseError('invalid arguments', [TOO_DEEP])
  if (schema === undefined) return args as Record<string, unknown>
  const { check } = checkerFor(schema, matches)
  const given = withoutNulls(schema, args as Record<string, unknown>, check)
  const problems = check(schema, given, '')
  if (problems.length > 0) throw new ParseError('invalid arguments', problems.slice(0, MOST_PROBLEMS))
  return given
}

/** What is wrong with any value; nothing, if it fits. */
export const misfits = (schema: JsonSchema, value: unknown, matches: PatternTest): readonly Problem[] =>
  isDeeper(value, DEEPEST)
    ? [TOO_DEEP]
    : checkerFor(schema, matches).check(schema, value, '').slice(0, MOST_PROBLEMS)

const MOST_PROBLEMS = 20
/** A schema may refer to itself, and branch; a legitimate one is far below both. */
const DEEPEST = 128
const TOO_DEEP: Problem = { at: '', message: `nested deeper than ${DEEPEST} levels` }
const MOST_STEPS = 200_000

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1)))

function checkerFor(root: JsonSchema, matches: PatternTest): Checker {
  let depth = 0
  let steps = 0
  const checker: Checker = {
    matches,
    check(part, value, at) {
      if (++steps > MOST_STEPS || depth > DEEPEST)
        throw new SchemaError('the schema takes too long to check, or what it is for is nested too deep')
      depth++
      try {
        return problemsOf(asSchema(part, at === '' ? '' : ` for ${at}`), value, at, root, checker)
      } finally {
        depth--
      }
    },
  }
  return checker
}

function problemsOf(
  schema: JsonSchema,
  value: unknown,
  at: string,
  root: JsonSchema,
  checker: Checker,
): readonly Problem[] {
  if (schema === true) return []
  if (schema === false) return [{ at, message: 'is not allowed' }]
  const wrongType = typeProblem(schema['type'], value, at)
  // What a value of another type would have to contain is of no interest.
  if (wrongType) return [wrongType]
  return [
    ...(schema['$ref'] === undefined ? [] : checker.check(resolveRef(root, schema['$ref']), value, at)),
    ...valueProblem(schema, value, at),
    ...scalarProblems(schema, value, at, checker),
    ...(Array.isArray(value) ? arrayProblems(schema, value, at, checker) : []),
    ...(isFields(value) ? objectProblems(schema, value, at, checker) : []),
    ...combined(schema, value, at, checker),
  ]
}

function typeProblem(type: unknown, value: unknown, at: string): Problem | undefined {
  if (type === undefined) return undefined
  const known = checkType(type)
  if (known.some((name) => TYPES[name].fits(value))) return undefined
  return {
    at,
    message: `expected ${known.map((name) => TYPES[name].text).join(' or ')}, got ${describe(value)}`,
  }
}

/** The types that `type` names. Throws where JSON has none of that name. */
export function checkType(type: unknown): readonly TypeName[] {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  const known = types.filter((name) => typeof name === 'string' && Object.hasOwn(TYPES, name)) as TypeName[]
  if (known.length !== types.length || known.length === 0)
    throw new SchemaError(`the schema has the type ${JSON.stringify(type)}, which JSON does not`)
  return known
}

const TYPES = {
  string: { text: 'a string', fits: (value: unknown) => typeof value === 'string' },
  number: { text: 'a number', fits: (value: unknown) => typeof value === 'number' },
  integer: { text: 'a whole number', fits: (value: unknown) => Number.isInteger(value) },
  boolean: { text: 'true or false', fits: (value: unknown) => typeof value === 'boolean' },
  null: { text: 'null', fits: (value: unknown) => value === null },
  array: { text: 'a list', fits: (value: unknown) => Array.isArray(value) },
  object: { text: 'an object', fits: (value: unknown) => isFields(value) },
} as const

type TypeName = keyof typeof TYPES

function valueProblem(schema: Fields, value: unknown, at: string): Problem[] {
  const { enum: allowed, const: only } = schema
  if (Object.hasOwn(schema, 'const') && canonicalJson(only) !== canonicalJson(value))
    return [{ at, message: `must be ${show(only)}, got ${describe(value)}` }]
  if (!Array.isArray(allowed)) return []
  const text = canonicalJson(value)
  if (allowed.some((one) => canonicalJson(one) === text)) return []
  return [{ at, message: `expected one of ${allowed.map(show).join(', ')}, got ${describe(value)}` }]
}

const show = (value: unknown): string => (typeof value === 'string' ? quote(value) : JSON.stringify(value))

/** Keywords that are made of schemas for the same value. */
function combined(schema: Fields, value: unknown, at: string, { check }: Checker): Problem[] {
  const { allOf, anyOf, oneOf, not, if: condition } = schema
  const fits = (part: unknown): boolean => check(part, value, at).length === 0
  const problems: Problem[] = listOf(allOf).flatMap((part) => check(part, value, at))
  if (Array.isArray(anyOf)) problems.push(...nearest(anyOf.map((part) => check(part, value, at))))
  if (Array.isArray(oneOf)) {
    const results = oneOf.map((part) => check(part, value, at))
    const fitting = results.filter((each) => each.length === 0).length
    if (fitting > 1) problems.push({ at, message: `fits ${fitting} of the alternatives, and must fit one` })
    else problems.push(...nearest(results))
  }
  if (not !== undefined && fits(not)) problems.push({ at, message: 'is one of the values that are excluded' })
  if (condition !== undefined) {
    const branch = fits(condition) ? schema['then'] : schema['else']
    if (branch !== undefined) problems.push(...check(branch, value, at))
  }
  return problems
}

/** Of several alternatives that all fail, the one that fails least is the one that was meant. */
function nearest(results: readonly (readonly Problem[])[]): readonly Problem[] {
  return results.toSorted((a, b) => a.length - b.length)[0] ?? []
}

function withoutNulls(
  schema: JsonSchema,
  args: Readonly<Record<string, unknown>>,
  check: Checker['check'],
): Readonly<Record<string, unknown>> {
  if (typeof schema === 'boolean' || !isFields(schema['properties'])) return args
  const { properties } = schema
  const isNone = ([name, value]: [string, unknown]): boolean =>
    value === null && Object.hasOwn(properties, name) && check(properties[name], null, name).length > 0
  return Object.fromEntries(Object.entries(args).filter((entry) => !isNone(entry)))
}

type Fields = Readonly<Record<string, unknown>>

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
