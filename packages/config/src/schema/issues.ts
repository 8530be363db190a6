import { quote, suggest } from '@cordon/policy'
import { TomlDate } from 'smol-toml'
import { type ConfigProblem } from '../errors.ts'
import { type ConfigOrigin, type Path } from '../layers.ts'
import { formatKey, formatKeyPath } from '../toml/key-path.ts'
import { formatValue } from '../toml/value.ts'
import { type Issue, type WrongValue } from './check.ts'
import { type Schema } from './schema.ts'

export type Locate = (path: Path) => ConfigOrigin

/** What the definition found, as sentences that say what to write instead. `base` is where the value stands. */
export const explainIssues = (issues: readonly Issue[], base: Path, locate: Locate): ConfigProblem[] =>
  issues.flatMap((issue) => {
    const path = [...base, ...issue.path]
    return issue.kind === 'unknown keys'
      ? issue.keys.map((name) => unknownKey(path, name, issue.schema, locate))
      : [wrongValue(path, issue, locate)]
  })

function wrongValue(path: Path, issue: WrongValue, locate: Locate): ConfigProblem {
  const key = formatKeyPath(path)
  const { got, schema } = issue
  const fix = closest(path, issue) ?? example(path, schema) ?? fallback(path, issue)
  return {
    origin: locate(path),
    key,
    message:
      got === undefined
        ? `\`${key}\` is missing`
        : `\`${key}\`: expected ${expectation(issue)}, got ${describeToml(got)}`,
    ...(fix === undefined ? {} : { fix }),
  }
}

function unknownKey(path: Path, name: string, schema: Schema, locate: Locate): ConfigProblem {
  const here = [...path, name]
  const key = formatKeyPath(here)
  const base = { origin: locate(here), key }
  if (name === 'access' && formatKeyPath(path) === 'conversation.tools."*"')
    return {
      ...base,
      message: '`conversation.tools.*.access`: the defaults of all tools cannot grant access',
      fix: 'grant it to each tool by name: [conversation.tools.<name>.access]',
    }
  const known = Object.keys(schema.properties ?? {})
  const meant = suggest(name, known)
  return {
    ...base,
    message: `unknown key \`${key}\``,
    fix:
      meant === undefined
        ? `take it out; ${path.length === 0 ? 'the tables are' : `\`${formatKeyPath(path)}\` knows`} ${known.join(', ')}`
        : `did you mean \`${formatKey(meant)}\`?`,
  }
}

function expectation({ kind, schema }: WrongValue): string {
  switch (kind) {
    case 'wrong kind':
      return kindOf(schema)
    case 'no whole number':
      return 'a whole number'
    case 'too small':
      return schema.minimum === undefined ? 'something that is not empty' : `at least ${schema.minimum}`
    case 'too big':
      return `at most ${schema.maximum}`
    case 'wrong format':
      return '"local", "builtin", "mcp.<server>" or "mcp.<server>.<tool>"'
  }
}

function kindOf(schema: Schema): string {
  if (schema.anyOf) return anyOf(schema.anyOf.map(kindOf))
  return schema.enum ? anyOf(schema.enum.map(formatValue)) : TYPE_NAMES[schema.type!]
}

const TYPE_NAMES: Readonly<Record<NonNullable<Schema['type']>, string>> = {
  string: 'text in quotes',
  boolean: 'true or false',
  number: 'a number',
  integer: 'a number',
  array: 'a list',
  object: 'a table',
}

function anyOf(choices: readonly string[]): string {
  const all = [...new Set(choices)]
  const last = all.pop() ?? ''
  return all.length === 0 ? last : `${all.join(', ')} or ${last}`
}

function closest(path: Path, { schema, got }: WrongValue): string | undefined {
  if (!schema.enum || typeof got !== 'string') return undefined
  const meant = suggest(got, schema.enum)
  return meant === undefined ? undefined : `write ${formatKey(String(path.at(-1)))} = ${formatValue(meant)}`
}

function example(path: Path, schema: Schema): string | undefined {
  const name = path.at(-1)
  const value = schema.examples?.[0]
  if (typeof name !== 'string' || value === undefined) return undefined
  return `write ${formatKey(name)} = ${formatValue(value)}`
}

function fallback(path: Path, { schema, got }: WrongValue): string | undefined {
  const name = path.at(-1)
  return schema.type === 'array' && got !== undefined && typeof name === 'string'
    ? `write ${formatKey(name)} = […]`
    : undefined
}

/** What a wrong value is, in TOML's words; never long, never able to redraw the terminal. */
export function describeToml(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (value instanceof TomlDate) return 'a date'
  if (typeof value === 'object') return 'a table'
  if (typeof value === 'string')
    return quote(value.length > 40 ? `${value.slice(0, 40).toWellFormed()}…` : value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'something else'
}
