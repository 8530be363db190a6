import type { Problem } from '@cordon/policy'
import type { Checker } from './checker.ts'
import { SchemaError } from './schema.ts'

type Fields = Readonly<Record<string, unknown>>

/** Strings and numbers. `format` is an annotation, as JSON Schema 2020-12 has it by default. */
export function scalarProblems(schema: Fields, value: unknown, at: string, { matches }: Checker): Problem[] {
  const wrong =
    typeof value === 'string'
      ? wrongString(schema, value, matches)
      : typeof value === 'number'
        ? wrongNumber(schema, value)
        : []
  return wrong.map((message) => ({ at, message }))
}

function wrongString(schema: Fields, text: string, matches: Checker['matches']): string[] {
  const least = limit(schema, 'minLength')
  const most = limit(schema, 'maxLength')
  const { pattern } = schema
  // Characters, not UTF-16 units; only counted when it matters.
  const length = least === undefined && most === undefined ? 0 : charactersIn(text)
  return [
    ...(least !== undefined && length < least ? [`must have at least ${count(least, 'character')}`] : []),
    ...(most !== undefined && length > most ? [`must have at most ${count(most, 'character')}`] : []),
    ...(typeof pattern === 'string' && !matches(pattern, text) ? [`must match ${pattern}`] : []),
  ]
}

/** Code points: a pair of surrogates is one character. */
const charactersIn = (text: string): number => text.length - (text.match(PAIR)?.length ?? 0)

const PAIR = /[\ud800-\udbff][\udc00-\udfff]/g

function wrongNumber(schema: Fields, value: number): string[] {
  const { least, above, most, under } = {
    least: limit(schema, 'minimum'),
    above: limit(schema, 'exclusiveMinimum'),
    most: limit(schema, 'maximum'),
    under: limit(schema, 'exclusiveMaximum'),
  }
  const step = limit(schema, 'multipleOf')
  return [
    ...(least !== undefined && value < least ? [`must be at least ${least}`] : []),
    ...(above !== undefined && value <= above ? [`must be more than ${above}`] : []),
    ...(most !== undefined && value > most ? [`must be at most ${most}`] : []),
    ...(under !== undefined && value >= under ? [`must be less than ${under}`] : []),
    ...(step !== undefined && !isMultiple(value, step) ? [`must be a multiple of ${step}`] : []),
  ]
}

/** 0.3 is a multiple of 0.1, whatever binary fractions say. */
function isMultiple(value: number, step: number): boolean {
  const times = value / step
  return Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times))
}

/** A bound that is there must be a number: one that cannot be read is no bound at all, so nothing passes. */
export function limit(schema: Fields, keyword: string): number | undefined {
  const value = schema[keyword]
  if (value === undefined || typeof value === 'number') return value
  throw new SchemaError(`the schema has a ${keyword} that is not a number`)
}

export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`
