import { parse, TomlDate, TomlError } from 'smol-toml'
import { formatKey, formatString } from './key-path.ts'

export type ParsedValue =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'broken'; readonly message: string }

/**
 * A value on a command line or in a variable: TOML when it is TOML, else the text itself, so that nobody has
 * to quote `warn` for a shell. What starts like a list, a table or a string must be one.
 */
export function parseValue(text: string): ParsedValue {
  try {
    const table = parse(`v = ${text}`)
    // A line break could smuggle in further keys; then it is no single value.
    if (Object.keys(table).length === 1) return { kind: 'value', value: table['v'] }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    if (/^\s*[[{"']/.test(text))
      return {
        kind: 'broken',
        message: /^Invalid TOML document: (.*)/.exec(error.message)?.[1] ?? 'unreadable',
      }
  }
  return { kind: 'value', value: text }
}

/** On one line, as it would be written behind `key = `. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return formatString(value)
  if (typeof value === 'number') return formatNumber(value)
  if (value instanceof TomlDate) return value.toISOString()
  if (Array.isArray(value)) return `[${value.map(formatValue).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined)
    if (fields.length === 0) return '{}'
    return `{ ${fields.map(([name, field]) => `${formatKey(name)} = ${formatValue(field)}`).join(', ')} }`
  }
  return String(value)
}

function formatNumber(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  return Object.is(value, -0) ? '-0.0' : String(value)
}
