import { type Path } from '../layers.ts'
import { isTable } from '../merge/cell.ts'
import { type Table } from '../toml/document.ts'
import { resolve } from './lookup.ts'
import { type Schema } from './schema.ts'

/** One place where a value does not fit. `issues.ts` has the words for it. */
export type Issue = WrongValue | UnknownKeys

export interface WrongValue {
  readonly kind: 'wrong kind' | 'no whole number' | 'too small' | 'too big' | 'wrong format'
  readonly path: Path
  /** What the definition says about this place. */
  readonly schema: Schema
  /** Undefined: it is missing. */
  readonly got: unknown
}

interface UnknownKeys {
  readonly kind: 'unknown keys'
  readonly path: Path
  readonly schema: Schema
  readonly keys: readonly string[]
}

/** Every issue of the value, in the order of the definition. Goes no deeper than the definition does. */
export function checkValue(schema: Schema, value: unknown): Issue[] {
  const issues: Issue[] = []
  visit(resolve(schema), value, [], issues)
  return issues
}

/** `path` is one array for the whole walk: it is copied only into an issue. */
function visit(schema: Schema, value: unknown, path: (string | number)[], issues: Issue[]): void {
  // The alternatives are of different kinds, so that at most one of them is meant.
  const meant = schema.anyOf ? schema.anyOf.find((one) => isOfKind(one, value)) : schema
  if (!meant || !isOfKind(meant, value)) {
    issues.push({ kind: 'wrong kind', path: [...path], schema, got: value })
    return
  }
  if (Array.isArray(value)) visitList(meant, value, path, issues)
  else if (isTable(value)) visitTable(meant, value, path, issues)
  const kind = outOfBounds(meant, value)
  if (kind) issues.push({ kind, path: [...path], schema: { ...schema, ...meant }, got: value })
}

function isOfKind(schema: Schema, value: unknown): boolean {
  if (schema.enum) return schema.enum.includes(value as string)
  if (!schema.type) return true
  switch (schema.type) {
    case 'string':
    case 'boolean':
      return typeof value === schema.type
    case 'number':
    case 'integer':
      return Number.isFinite(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isTable(value)
  }
}

function outOfBounds(schema: Schema, value: unknown): WrongValue['kind'] | undefined {
  if (typeof value === 'number') {
    if (schema.type === 'integer' && !Number.isInteger(value)) return 'no whole number'
    if (schema.minimum !== undefined && value < schema.minimum) return 'too small'
    if (schema.maximum !== undefined && value > schema.maximum) return 'too big'
  } else if (typeof value === 'string') {
    if (schema.minLength !== undefined && value.length < schema.minLength) return 'too small'
    if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value)) return 'wrong format'
  } else if (Array.isArray(value) && schema.minItems !== undefined && value.length < schema.minItems)
    return 'too small'
  return undefined
}

function visitList(
  { items }: Schema,
  list: readonly unknown[],
  path: (string | number)[],
  issues: Issue[],
): void {
  if (!items) return
  const element = resolve(items)
  for (const [i, value] of list.entries()) {
    path.push(i)
    visit(element, value, path, issues)
    path.pop()
  }
}

function visitTable(schema: Schema, table: Table, path: (string | number)[], issues: Issue[]): void {
  const { properties = NONE, required, additionalProperties: others } = schema
  for (const key of Object.keys(properties)) {
    const inner = resolve(properties[key]!)
    // Only own keys: no name in a file reaches a prototype.
    const value = Object.hasOwn(table, key) ? table[key] : undefined
    path.push(key)
    if (value !== undefined || required?.includes(key)) visit(inner, value, path, issues)
    path.pop()
  }
  if (others === undefined) return
  const names = Object.keys(table).filter((key) => !Object.hasOwn(properties, key))
  if (others) {
    const inner = resolve(others)
    for (const name of names) {
      path.push(name)
      visit(inner, table[name], path, issues)
      path.pop()
    }
  } else if (names.length > 0)
    issues.push({ kind: 'unknown keys', path: [...path], schema, keys: names.slice(0, MOST_KEYS) })
}

const NONE: Readonly<Record<string, Schema>> = {}

/** Of one table; more would only make a hostile file expensive to report. */
const MOST_KEYS = 100
