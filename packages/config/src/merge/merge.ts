import { type ConfigProblem } from '../errors.ts'
import { type Path } from '../layers.ts'
import { childShape, rootShape, type Shape } from '../schema/shape.ts'
import { type Document, type Table } from '../toml/document.ts'
import { type Mark } from '../toml/marks.ts'
import { type Cell, isTable, plainValue, type TableCell, type Written, type WrittenValue } from './cell.ts'
import { joinRules, readListLayer } from './rule-list.ts'

/** SPEC 2: tables are merged key by key, rule lists as their strategy says, and of anything else the later wins. */
export function mergeDocuments(
  documents: readonly [Document, ...Document[]],
  problems: ConfigProblem[],
): TableCell {
  const merge = new Merge(problems)
  const [first] = documents
  const root = newTable({ document: first, mark: first.root }, [])
  for (const document of documents)
    merge.table(root, document.values, rootShape(), { document, mark: document.root }, [])
  return root
}

class Merge {
  readonly #problems: ConfigProblem[]

  constructor(problems: ConfigProblem[]) {
    this.#problems = problems
  }

  table(into: TableCell, values: Table, shape: Shape | undefined, written: Written, path: Path): void {
    for (const key of Object.keys(values)) {
      const value = values[key]
      const inner = childShape(shape, key)
      const at: Written = { document: written.document, mark: markOf(written.mark, key) }
      const before = into.cells.get(key)
      if (inner?.list) {
        const cell = this.#rules(before, { value, written: at }, inner, [...path, key])
        if (cell) into.cells.set(key, cell)
      } else if (isTable(value)) {
        const cell =
          before?.kind === 'table' ? before : newTable(at, before ? [past(before), ...before.overrode] : [])
        if (cell !== before) into.cells.set(key, cell)
        this.table(cell, value, inner, at, [...path, key])
      } else {
        const overrode = before ? [past(before), ...before.overrode] : []
        into.cells.set(key, { kind: 'value', value, written: at, overrode })
      }
    }
  }

  #rules(before: Cell | undefined, layer: WrittenValue, shape: Shape, path: Path): Cell | undefined {
    const list = readListLayer(layer, shape, path)
    switch (list.kind) {
      case 'scalar': {
        const overrode = before ? [past(before), ...before.overrode] : []
        return { kind: 'value', ...layer, overrode }
      }
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

export const past = (cell: Cell): WrittenValue => ({ value: plainValue(cell), written: cell.written })

const markOf = (mark: Mark | undefined, key: string): Mark | undefined => mark?.keys?.get(key)
