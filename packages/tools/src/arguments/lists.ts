import type { Problem } from '@cordon/policy'
import { canonicalJson, type Checker } from './checker.ts'
import { count, limit } from './scalars.ts'

type Fields = Readonly<Record<string, unknown>>

export function arrayProblems(
  schema: Fields,
  list: readonly unknown[],
  at: string,
  checker: Checker,
): Problem[] {
  const least = limit(schema, 'minItems')
  const most = limit(schema, 'maxItems')
  const problems: Problem[] = []
  if (least !== undefined && list.length < least)
    problems.push({ at, message: `must have at least ${count(least, 'item')}` })
  if (most !== undefined && list.length > most)
    return [{ at, message: `must have at most ${count(most, 'item')}` }]
  if (schema['uniqueItems'] === true && hasTwins(list))
    problems.push({ at, message: 'has the same item twice' })
  const { first, rest } = itemSchemas(schema)
  for (const [i, item] of list.entries()) {
    const part = i < first.length ? first[i] : rest
    if (part !== undefined) problems.push(...checker.check(part, item, `${at}[${i}]`))
  }
  return [...problems, ...containsProblems(schema, list, at, checker)]
}

/** 2020-12 has `prefixItems` and `items`; before it, a list of `items` and `additionalItems`. */
function itemSchemas({ prefixItems, items, additionalItems }: Fields): {
  readonly first: readonly unknown[]
  readonly rest: unknown
} {
  if (Array.isArray(items)) return { first: items, rest: additionalItems }
  return { first: Array.isArray(prefixItems) ? prefixItems : [], rest: items }
}

function containsProblems(
  schema: Fields,
  list: readonly unknown[],
  at: string,
  { check }: Checker,
): Problem[] {
  if (schema['contains'] === undefined) return []
  const found = list.filter((item) => check(schema['contains'], item, at).length === 0).length
  const least = limit(schema, 'minContains') ?? 1
  const most = limit(schema, 'maxContains') ?? Infinity
  if (found < least) return [{ at, message: `must have at least ${count(least, 'item')} of the wanted kind` }]
  return found > most ? [{ at, message: `must have at most ${count(most, 'item')} of the wanted kind` }] : []
}

const hasTwins = (list: readonly unknown[]): boolean => new Set(list.map(canonicalJson)).size < list.length
