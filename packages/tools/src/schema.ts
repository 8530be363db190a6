import { describe, ParseError, type Problem, quote } from '@cordon/policy'

/** The part of JSON Schema that the tools' parameters use. What is not in here is not checked anywhere. */
export type Schema = StringSchema | NumberSchema | BooleanSchema | ArraySchema | ObjectSchema

interface Described {
  readonly description?: string
}
interface StringSchema extends Described {
  readonly type: 'string'
  readonly enum?: readonly string[]
  readonly maxLength?: number
}
interface NumberSchema extends Described {
  readonly type: 'integer'
  readonly minimum: number
  readonly maximum: number
}
interface BooleanSchema extends Described {
  readonly type: 'boolean'
}
interface ArraySchema extends Described {
  readonly type: 'array'
  readonly items: Schema
  readonly minItems?: number
  readonly maxItems: number
}
export interface ObjectSchema extends Described {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, Schema>>
  readonly required: readonly string[]
  readonly additionalProperties: false
}

/** The type of the values that fit a schema. */
export type Infer<S> = S extends { type: 'string'; enum: readonly (infer E)[] }
  ? E
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'integer' }
      ? number
      : S extends { type: 'boolean' }
        ? boolean
        : S extends { type: 'array'; items: infer I }
          ? readonly Infer<I>[]
          : S extends { type: 'object'; properties: infer P; required: readonly (infer R)[] }
            ? { readonly [K in keyof P & R]: Infer<P[K]> } & {
                readonly [K in Exclude<keyof P, R>]?: Infer<P[K]>
              }
            : never

/** Reports everything that is wrong at once. `null` is absent: models write it for "none". */
export function parseArguments<S extends ObjectSchema>(schema: S, value: unknown): Infer<S> {
  const problems: Problem[] = []
  const parsed = read(schema, value, '', problems)
  if (problems.length > 0) throw new ParseError('invalid arguments', problems.slice(0, MOST_PROBLEMS))
  return parsed as Infer<S>
}

const MOST_PROBLEMS = 20

/** Adds what is wrong and returns undefined, or returns the value. */
function read(schema: Schema, value: unknown, at: string, problems: Problem[]): unknown {
  if (problems.length >= MOST_PROBLEMS) return undefined
  if (schema.type === 'array') return readList(schema, value, at, problems)
  if (schema.type === 'object') return readObject(schema, value, at, problems)
  const message = wrongScalar(schema, value)
  if (message === undefined) return value
  problems.push({ at, message })
  return undefined
}

function wrongScalar(
  schema: StringSchema | NumberSchema | BooleanSchema,
  value: unknown,
): string | undefined {
  if (schema.type === 'boolean')
    return typeof value === 'boolean' ? undefined : `expected true or false, got ${describe(value)}`
  if (schema.type === 'integer') {
    if (typeof value !== 'number' || !Number.isSafeInteger(value))
      return `expected a whole number, got ${describe(value)}`
    if (value < schema.minimum) return `must be at least ${schema.minimum}`
    return value > schema.maximum ? `must be at most ${schema.maximum}` : undefined
  }
  if (typeof value !== 'string') return `expected a string, got ${describe(value)}`
  if (schema.enum && !schema.enum.includes(value))
    return `expected one of ${schema.enum.join(', ')}, got ${describe(value)}`
  return value.length > (schema.maxLength ?? Infinity)
    ? `is longer than ${schema.maxLength} characters`
    : undefined
}

function readList(schema: ArraySchema, value: unknown, at: string, problems: Problem[]): unknown {
  const wrong = (message: string): undefined => void problems.push({ at, message })
  if (!Array.isArray(value)) return wrong(`expected a list, got ${describe(value)}`)
  if (value.length < (schema.minItems ?? 0)) return wrong(`must have at least ${schema.minItems} items`)
  if (value.length > schema.maxItems) return wrong(`must have at most ${schema.maxItems} items`)
  return value.map((item: unknown, i) => read(schema.items, item, `${at}[${i}]`, problems))
}

function readObject(schema: ObjectSchema, value: unknown, at: string, problems: Problem[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return void problems.push({ at, message: `expected an object, got ${describe(value)}` })
  const inside = (name: string): string => (at === '' ? name : `${at}.${name}`)
  const parsed: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    const known = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (problems.length >= MOST_PROBLEMS) break
    if (!known) problems.push({ at, message: unknownName(name, Object.keys(schema.properties)) })
    else if (field !== null) parsed[name] = read(known, field, inside(name), problems)
  }
  for (const name of schema.required)
    if (!Object.hasOwn(value, name) || (value as Record<string, unknown>)[name] === null)
      problems.push({ at: inside(name), message: 'is required' })
  return parsed
}

function unknownName(name: string, known: readonly string[]): string {
  const near = known.find((candidate) => isNear(name, candidate))
  const advice = near === undefined ? `there are ${known.join(', ')}` : `did you mean ${near}?`
  return `unknown argument ${quote(name.slice(0, 64).toWellFormed())}; ${advice}`
}

/** The same letters in another spelling (`startLine`), or one a part of the other (`line` of `line_numbers`). */
function isNear(name: string, candidate: string): boolean {
  const [a, b] = [name, candidate].map((text) => text.toLowerCase().replaceAll(/[^a-z]/g, '')) as [
    string,
    string,
  ]
  return a === b || (a.length >= 3 && (b.includes(a) || a.includes(b)))
}
