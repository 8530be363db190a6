import { type Problem, quote, suggest } from '@cordon/policy'
import type { Checker } from './checker.ts'
import { count, limit } from './scalars.ts'
import { SchemaError } from './schema.ts'

type Fields = Readonly<Record<string, unknown>>

export function objectProblems(schema: Fields, value: Fields, at: string, checker: Checker): Problem[] {
  const names = Object.keys(value)
  const least = limit(schema, 'minProperties')
  const most = limit(schema, 'maxProperties')
  const inside = (name: string): string => (at === '' ? name : `${at}.${name}`)
  return [
    ...names.flatMap((name) => memberProblems(schema, value, name, { at, inside }, checker)),
    ...requiredNames(schema['required'])
      .filter((name) => !Object.hasOwn(value, name))
      .map((name) => ({ at: inside(name), message: 'is required' })),
    ...dependentProblems(schema, value, { at, inside }, checker),
    ...(least !== undefined && names.length < least
      ? [{ at, message: `must have at least ${count(least, 'member')}` }]
      : []),
    ...(most !== undefined && names.length > most
      ? [{ at, message: `must have at most ${count(most, 'member')}` }]
      : []),
  ]
}

interface Position {
  readonly at: string
  readonly inside: (name: string) => string
}

/** One member against `properties`, `patternProperties`, and, when neither knows it, `additionalProperties`. */
function memberProblems(
  schema: Fields,
  value: Fields,
  name: string,
  { at, inside }: Position,
  { check, matches }: Checker,
): readonly Problem[] {
  const problems: Problem[] = []
  const properties = tableOf(schema['properties'])
  const where = inside(/^[\w-]{1,64}$/.test(name) ? name : quote(name))
  const known = Object.hasOwn(properties, name)
  if (known) problems.push(...check(properties[name], value[name], where))
  const patterns = Object.entries(tableOf(schema['patternProperties'])).filter(([pattern]) =>
    matches(pattern, name),
  )
  for (const [, part] of patterns) problems.push(...check(part, value[name], where))
  if (schema['propertyNames'] !== undefined)
    for (const { message } of check(schema['propertyNames'], name, where))
      problems.push({ at, message: `the name ${quote(name)} ${message}` })
  const { additionalProperties: others } = schema
  if (known || patterns.length > 0 || others === undefined) return problems
  if (others === false) return [...problems, { at, message: unknownName(name, Object.keys(properties)) }]
  return [...problems, ...check(others, value[name], where)]
}

function unknownName(name: string, known: readonly string[]): string {
  const meant = suggest(name, known)
  const advice =
    meant !== undefined
      ? `did you mean ${meant}?`
      : known.length > 0
        ? `there are ${known.join(', ')}`
        : 'there are none'
  return `unknown name ${quote(name.slice(0, 64).toWellFormed())}; ${advice}`
}

function dependentProblems(
  schema: Fields,
  value: Fields,
  { at, inside }: Position,
  { check }: Checker,
): Problem[] {
  const present = (table: unknown): [string, unknown][] =>
    Object.entries(tableOf(table)).filter(([name]) => Object.hasOwn(value, name))
  return [
    ...[...present(schema['dependentRequired']), ...present(schema['dependencies'])].flatMap(
      ([name, needed]) =>
        Array.isArray(needed)
          ? requiredNames(needed)
              .filter((other) => !Object.hasOwn(value, other))
              .map((other) => ({ at: inside(other), message: `is required with ${name}` }))
          : [...check(needed, value, at)],
    ),
    ...present(schema['dependentSchemas']).flatMap(([, part]) => check(part, value, at)),
  ]
}

function requiredNames(value: unknown): readonly string[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value
  throw new SchemaError('the schema has a required that is not a list of names')
}

function tableOf(value: unknown): Fields {
  if (value === undefined) return {}
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new SchemaError('the schema has a keyword that should hold schemas by name, and does not')
}
