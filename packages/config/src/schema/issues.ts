import { quote } from '@cordon/policy'
import { TomlDate } from 'smol-toml'
import type * as z from 'zod/mini'
import { type ConfigProblem } from '../errors.ts'
import { type ConfigOrigin, type Path } from '../layers.ts'
import { suggest } from '../suggest.ts'
import { formatKey, formatKeyPath } from '../toml/key-path.ts'
import { formatValue } from '../toml/value.ts'
import { shapeAt } from './shape.ts'

type Issue = z.core.$ZodIssue
export type Locate = (path: Path) => ConfigOrigin

/** What the definition found, as sentences that say what to write instead. `base` is where `value` stands. */
export const explainIssues = (
  issues: readonly Issue[],
  value: unknown,
  base: Path,
  locate: Locate,
): ConfigProblem[] => issues.flatMap((issue) => explainIssue(issue, value, base, locate))

function explainIssue(issue: Issue, root: unknown, base: Path, locate: Locate): ConfigProblem[] {
  const inner = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  const path = [...base, ...inner]
  const key = formatKeyPath(path)
  const got = valueAt(root, inner)
  const problem = (message: string, fix?: string): ConfigProblem[] => [
    { origin: locate(path), key, message: `\`${key}\`${message}`, ...(fix === undefined ? {} : { fix }) },
  ]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, MOST_KEYS).map((name) => unknownKey(path, name, locate))
  if (issue.code === 'invalid_union') {
    const branch = likelyBranch(issue.errors)
    if (branch)
      return branch.flatMap((one) =>
        explainIssue({ ...one, path: [...issue.path, ...one.path] }, root, base, locate),
      )
    return problem(
      `: expected ${anyOf(issue.errors.flat().map(expectation))}, got ${describeToml(got)}`,
      example(path),
    )
  }
  if (got === undefined) return problem(' is missing', example(path))
  return problem(
    `: expected ${expectation(issue)}, got ${describeToml(got)}`,
    closest(issue, got, path) ?? example(path) ?? fallback(issue, path),
  )
}

/** Of one table; more would only make a hostile file expensive to report. */
const MOST_KEYS = 100

/** The alternative that was meant: the one that got furthest into the value before it failed. */
function likelyBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  return branches.find((issues) =>
    issues.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys'),
  )
}

function unknownKey(path: Path, name: string, locate: Locate): ConfigProblem {
  const here = [...path, name]
  const key = formatKeyPath(here)
  const base = { origin: locate(here), key }
  if (name === 'access' && formatKeyPath(path) === 'conversation.tools."*"')
    return {
      ...base,
      message: '`conversation.tools.*.access`: the defaults of all tools cannot grant access',
      fix: 'grant it to each tool by name: [conversation.tools.<name>.access]',
    }
  const known = [...(shapeAt(path)?.keys?.keys() ?? [])]
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

function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPE_NAMES[issue.expected] ?? issue.expected
    case 'invalid_value':
      return anyOf(issue.values.map((value) => formatValue(value)))
    case 'too_small':
      return issue.origin === 'string' || issue.origin === 'array'
        ? 'something that is not empty'
        : `at least ${issue.minimum}`
    case 'too_big':
      return `at most ${issue.maximum}`
    case 'invalid_format':
      return '"local", "builtin", "mcp.<server>" or "mcp.<server>.<tool>"'
    case 'invalid_element':
    case 'invalid_key':
    case 'invalid_union':
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'custom':
      return 'another value'
  }
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text in quotes',
  boolean: 'true or false',
  number: 'a number',
  int: 'a whole number',
  array: 'a list',
  object: 'a table',
  record: 'a table',
}

function anyOf(choices: readonly string[]): string {
  const all = [...new Set(choices)]
  const last = all.pop() ?? ''
  return all.length === 0 ? last : `${all.join(', ')} or ${last}`
}

function closest(issue: Issue, got: unknown, path: Path): string | undefined {
  if (issue.code !== 'invalid_value' || typeof got !== 'string') return undefined
  const meant = suggest(got, issue.values.map(String))
  return meant === undefined ? undefined : `write ${formatKey(String(path.at(-1)))} = ${formatValue(meant)}`
}

function example(path: Path): string | undefined {
  const name = path.at(-1)
  const value = shapeAt(path)?.example
  if (typeof name !== 'string' || value === undefined) return undefined
  return `write ${formatKey(name)} = ${formatValue(value)}`
}

function fallback(issue: Issue, path: Path): string | undefined {
  const name = path.at(-1)
  if (typeof name !== 'string') return undefined
  if (issue.code === 'invalid_value') return `write ${formatKey(name)} = ${formatValue(issue.values[0])}`
  return issue.code === 'invalid_type' && issue.expected === 'array'
    ? `write ${formatKey(name)} = […]`
    : undefined
}

function valueAt(root: unknown, path: Path): unknown {
  let here = root
  for (const part of path) here = (here as Readonly<Record<string | number, unknown>> | undefined)?.[part]
  return here
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
