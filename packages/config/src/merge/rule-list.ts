import * as z from 'zod/mini'
import { type ConfigProblem } from '../errors.ts'
import { type Path } from '../layers.ts'
import { type ListMerge, longForm } from '../schema/definition.ts'
import { describeToml, explainIssues } from '../schema/issues.ts'
import { type Shape } from '../schema/shape.ts'
import { formatKey, formatKeyPath } from '../toml/key-path.ts'
import { formatValue } from '../toml/value.ts'
import {
  type Cell,
  isTable,
  originOf,
  plainValue,
  type RulesCell,
  type Written,
  type WrittenValue,
} from './cell.ts'

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

const anyLongForm = longForm(z.array(z.unknown()))

/** SPEC 2: a plain list, or the long form with its strategy. `run` may also be one mode. */
export function readListLayer(layer: WrittenValue, shape: Shape, path: Path): ReadLayer {
  const { value, written } = layer
  const merge = shape.list!
  if (Array.isArray(value))
    return { kind: 'rules', strategy: merge.strategy, dedup: 'none', elements: elementsOf(value, written) }
  if (!isTable(value) || !['strategy', 'dedup', 'value'].some((key) => Object.hasOwn(value, key)))
    return typeof value === 'string' && merge.strategy === 'replace'
      ? { kind: 'scalar' }
      : { kind: 'wrong', problems: [notAList(layer, shape, path)] }
  const parsed = anyLongForm.safeParse(value)
  if (!parsed.success)
    return {
      kind: 'wrong',
      problems: explainIssues(parsed.error.issues, value, path, (inner) => ({
        ...originOf({ document: written.document, mark: nearestMark(written, inner.slice(path.length)) }),
      })),
    }
  const { strategy = 'append', dedup = false } = parsed.data
  if (strategy === 'replace' && !merge.reducible)
    return { kind: 'wrong', problems: [notReducible(written, path)] }
  const list: Written = { document: written.document, mark: written.mark?.keys?.get('value') ?? written.mark }
  return {
    kind: 'rules',
    strategy,
    dedup: dedup ? merge.decides : 'none',
    elements: elementsOf(parsed.data.value, list),
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

const elementsOf = (values: readonly unknown[], { document, mark }: Written): WrittenValue[] =>
  values.map((value, i) => ({ value, written: { document, mark: mark?.items?.[i] ?? mark } }))

function nearestMark({ mark }: Written, path: Path): Written['mark'] {
  let here = mark
  for (const part of path)
    here = (typeof part === 'string' ? here?.keys?.get(part) : here?.items?.[part]) ?? here
  return here
}

function notAList({ value, written }: WrittenValue, shape: Shape, path: Path): ConfigProblem {
  const key = formatKeyPath(path)
  const name = formatKey(String(path.at(-1)))
  return {
    origin: originOf(written),
    key,
    message: `\`${key}\`: expected a list of rules, got ${describeToml(value)}`,
    fix: isTable(value)
      ? `write a list, ${name} = [${formatValue(value)}], or start the table with [[${key}]]`
      : `write ${name} = ${formatValue(Array.isArray(shape.example) ? shape.example : [shape.example])}`,
  }
}

const notReducible = (written: Written, path: Path): ConfigProblem => ({
  origin: originOf(written),
  key: formatKeyPath(path),
  message: `\`${formatKeyPath(path)}\` can be extended, not replaced`,
  fix: 'write strategy = "append", or leave the strategy out',
})
