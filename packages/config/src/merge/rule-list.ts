import { type ConfigProblem } from '../errors.ts'
import { type Path } from '../layers.ts'
import { checkValue } from '../schema/check.ts'
import { describeToml, explainIssues } from '../schema/issues.ts'
import { type ListMerge, longForm, type Schema } from '../schema/schema.ts'
import { formatKey, formatKeyPath } from '../toml/key-path.ts'
import { formatValue } from '../toml/value.ts'
import { type Cell, isTable, plainValue, type RulesCell, type WrittenValue } from './cell.ts'
import { type Written } from './written.ts'

type Strategy = 'append' | 'prepend' | 'replace'

/** One layer's part of a rule list. */
export interface ListLayer {
  readonly kind: 'rules'
  readonly strategy: Strategy
  /** Which of several equal rules stays. */
  readonly dedup: 'none' | ListMerge['decides']
  readonly elements: readonly WrittenValue[]
}

type ReadLayer =
  | ListLayer
  | { readonly kind: 'scalar' }
  | { readonly kind: 'wrong'; readonly problems: readonly ConfigProblem[] }

interface LongForm {
  readonly strategy?: Strategy
  readonly dedup?: boolean
  readonly value: readonly unknown[]
}
const anyLongForm = longForm({ type: 'array' })

/** SPEC 2: a plain list, or the long form with its strategy. `run` may also be one mode. */
export function readListLayer(layer: WrittenValue, schema: Schema, merge: ListMerge, path: Path): ReadLayer {
  const { value, written } = layer
  if (Array.isArray(value))
    return { kind: 'rules', strategy: merge.strategy, dedup: 'none', elements: elementsOf(value, written) }
  if (!isTable(value) || !['strategy', 'dedup', 'value'].some((key) => Object.hasOwn(value, key)))
    return typeof value === 'string' && merge.strategy === 'replace'
      ? { kind: 'scalar' }
      : { kind: 'wrong', problems: [notAList(layer, schema, path)] }
  const issues = checkValue(anyLongForm, value)
  if (issues.length > 0)
    return {
      kind: 'wrong',
      problems: explainIssues(issues, path, (inner) => written.below(inner.slice(path.length)).origin),
    }
  const { strategy = 'append', dedup = false, value: rules } = value as unknown as LongForm
  if (strategy === 'replace' && !merge.reducible)
    return { kind: 'wrong', problems: [notReducible(written, path)] }
  return {
    kind: 'rules',
    strategy,
    dedup: dedup ? merge.decides : 'none',
    elements: elementsOf(rules, written.child('value')),
  }
}

export function joinRules(before: Cell | undefined, layer: ListLayer, written: Written): RulesCell {
  const earlier = before?.kind === 'rules' ? before.elements : []
  // What is kept is not overridden: only `replace`, or a list in the place of a plain value, drops something.
  const dropped = before && (layer.strategy === 'replace' || before.kind !== 'rules')
  return {
    kind: 'rules',
    elements: dropDuplicates(arrange(earlier, layer), layer.dedup),
    written,
    overrode: [
      ...(dropped ? [{ value: plainValue(before), written: before.written }] : []),
      ...(before?.overrode ?? []),
    ],
  }
}

function arrange(
  earlier: readonly WrittenValue[],
  { strategy, elements }: ListLayer,
): readonly WrittenValue[] {
  switch (strategy) {
    case 'append':
      return [...earlier, ...elements]
    case 'prepend':
      return [...elements, ...earlier]
    case 'replace':
      return elements
  }
}

/** Of equal rules the one stays that decides anyway, so that `dedup` never changes an answer. */
function dropDuplicates(
  elements: readonly WrittenValue[],
  keep: ListLayer['dedup'],
): readonly WrittenValue[] {
  if (keep === 'none') return elements
  const chosen = new Map<string, WrittenValue>()
  for (const element of keep === 'first' ? elements : elements.toReversed()) {
    const key = identity(element.value)
    if (!chosen.has(key)) chosen.set(key, element)
  }
  return keep === 'first' ? [...chosen.values()] : [...chosen.values()].toReversed()
}

/** The same for values that are equal, whatever the order of their keys. */
const identity = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isTable(inner) ? Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)) : inner,
  )

const elementsOf = (values: readonly unknown[], written: Written): WrittenValue[] =>
  values.map((value, i) => ({ value, written: written.child(i) }))

function notAList({ value, written }: WrittenValue, schema: Schema, path: Path): ConfigProblem {
  const key = formatKeyPath(path)
  const name = formatKey(String(path.at(-1)))
  const example = schema.examples?.[0]
  return {
    origin: written.origin,
    key,
    message: `\`${key}\`: expected a list of rules, got ${describeToml(value)}`,
    fix: isTable(value)
      ? `write a list, ${name} = [${formatValue(value)}], or start the table with [[${key}]]`
      : `write ${name} = ${formatValue(Array.isArray(example) ? example : [example])}`,
  }
}

const notReducible = (written: Written, path: Path): ConfigProblem => ({
  origin: written.origin,
  key: formatKeyPath(path),
  message: `\`${formatKeyPath(path)}\` can be extended, not replaced`,
  fix: 'write strategy = "append", or leave the strategy out',
})
