import { type ConfigProblem } from '../errors.ts'
import { type Path } from '../layers.ts'
import { definition } from '../schema/definition.ts'
import { checkValue } from '../schema/check.ts'
import { explainIssues } from '../schema/issues.ts'
import { childSchema } from '../schema/lookup.ts'
import { LIST_MERGE, type ListMerge, type Schema } from '../schema/schema.ts'
import { type Document, type Table } from '../toml/document.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import {
  type Cell,
  DEEPEST,
  isDeep,
  isTable,
  plainValue,
  type TableCell,
  type ValueCell,
  type WrittenValue,
} from './cell.ts'
import { joinRules, readListLayer } from './rule-list.ts'
import { Written } from './written.ts'

/** SPEC 2: tables are merged key by key, rule lists as their strategy says, and of anything else the later wins (decision 0032). */
export function mergeDocuments(
  documents: readonly [Document, ...Document[]],
  problems: ConfigProblem[],
  part: (document: Document) => Table = ({ values }) => values,
): TableCell {
  const merge = new Merge(problems)
  const [first] = documents
  const root = newTable(Written.in(first), [])
  for (const document of documents) merge.table(root, part(document), definition, Written.in(document))
  return root
}

class Merge {
  readonly #problems: ConfigProblem[]
  /** Where the walk is. One array for all of it: the path is needed only for messages. */
  readonly #path: string[] = []

  constructor(problems: ConfigProblem[]) {
    this.#problems = problems
  }

  table(into: TableCell, values: Table, schema: Schema | undefined, written: Written): void {
    for (const key of Object.keys(values)) {
      this.#path.push(key)
      const cell = this.#cell(
        into.cells.get(key),
        { value: values[key], written: written.child(key) },
        childSchema(schema, key),
      )
      if (cell) into.cells.set(key, cell)
      this.#path.pop()
    }
  }

  /** What stands there now; undefined when the layer says nothing that can be used. */
  #cell(before: Cell | undefined, layer: WrittenValue, schema: Schema | undefined): Cell | undefined {
    const { value, written } = layer
    if (this.#path.at(-1) === '__proto__') {
      this.#problems.push(noSuchName(written, this.#path))
      return undefined
    }
    // The elements of a rule list are looked at one by one later, and are flat or wrong.
    const merge = schema?.[LIST_MERGE]
    const isWhole = merge ? !Array.isArray(value) : !isTable(value)
    if (this.#path.length > DEEPEST || (isWhole && isDeep(value))) {
      this.#problems.push(tooDeep(written, this.#path))
      return undefined
    }
    if (schema && merge) return this.#rules(before, layer, schema, merge)
    if (!isTable(value)) return { kind: 'value', value, written, overrode: overridden(before) }
    if (before?.kind === 'value' && schema) this.#refuseCovered(before, schema)
    const table = before?.kind === 'table' ? before : newTable(written, overridden(before))
    this.table(table, value, schema, written)
    return table
  }

  /**
   * A table over something that is none would leave no trace of it in what is checked after the merge: `profiles = 3`
   * would be wrong, or not, by whether the command adds a profile of its own.
   */
  #refuseCovered({ value, written }: ValueCell, schema: Schema): void {
    const issues = checkValue(schema, value)
    this.#problems.push(...explainIssues(issues, [...this.#path], () => written.origin))
  }

  #rules(before: Cell | undefined, layer: WrittenValue, schema: Schema, merge: ListMerge): Cell | undefined {
    const list = readListLayer(layer, schema, merge, this.#path)
    switch (list.kind) {
      case 'scalar':
        return { kind: 'value', ...layer, overrode: overridden(before) }
      case 'rules':
        return joinRules(before, list, layer.written)
      case 'wrong':
        this.#problems.push(...list.problems)
        return undefined
    }
  }
}

const newTable = (written: Written, overrode: readonly WrittenValue[]): TableCell => ({
  kind: 'table',
  cells: new Map(),
  written,
  overrode,
})

const overridden = (before: Cell | undefined): readonly WrittenValue[] =>
  before ? [{ value: plainValue(before), written: before.written }, ...before.overrode] : NOTHING
const NOTHING: readonly WrittenValue[] = []

const tooDeep = (written: Written, path: Path): ConfigProblem => ({
  origin: written.origin,
  key: formatKeyPath(path.slice(0, 3)),
  message: `\`${formatKeyPath(path.slice(0, 3))}\` holds more than ${DEEPEST} levels of tables and lists`,
  fix: 'write it flatter',
})

/** No key of ours, and in ordinary objects not a key at all: it must not get any further. */
const noSuchName = (written: Written, path: Path): ConfigProblem => ({
  origin: written.origin,
  key: formatKeyPath(path),
  message: `\`${formatKeyPath(path)}\` is not a name that can be used`,
  fix: 'choose another name',
})
