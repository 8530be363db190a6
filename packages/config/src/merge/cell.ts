import { TomlDate } from 'smol-toml'
import { type ConfigOrigin, type Path } from '../layers.ts'
import { type Table } from '../toml/document.ts'
import { type Written } from './written.ts'

export interface WrittenValue {
  readonly value: unknown
  readonly written: Written
}

interface CellBase {
  readonly written: Written
  /** What stood here before, the most recent first. */
  readonly overrode: readonly WrittenValue[]
}
export interface TableCell extends CellBase {
  readonly kind: 'table'
  readonly cells: Map<string, Cell>
}
export interface ValueCell extends CellBase {
  readonly kind: 'value'
  readonly value: unknown
}
export interface RulesCell extends CellBase {
  readonly kind: 'rules'
  readonly elements: readonly WrittenValue[]
}

/** One place of the merged config: what is there, who wrote it, and what it replaced. */
export type Cell = TableCell | ValueCell | RulesCell

export const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof TomlDate)

/** Deeper than anybody writes by hand; what walks over values may then simply recurse. */
export const DEEPEST = 64

export const isDeep = (value: unknown, levels: number = DEEPEST): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeep(inner, levels - 1)))

/** The plain data. Tables have no prototype, so no name in a file can reach one. */
export function plainValue(cell: Cell): unknown {
  switch (cell.kind) {
    case 'table':
      return plainTable(cell)
    case 'value':
      return cell.value
    case 'rules':
      return cell.elements.map((element) => element.value)
  }
}

export function plainTable(cell: TableCell): Table {
  const table = Object.create(null) as Table
  for (const [key, inner] of cell.cells) table[key] = plainValue(inner)
  return table
}

/** The same for the checks only: without the given lists, and on ordinary objects, which are read faster. */
export function plainToCheck(cell: TableCell, without: ReadonlyMap<Cell, unknown>): Table {
  const table: Table = {}
  for (const [key, inner] of cell.cells)
    if (inner.kind === 'table') table[key] = plainToCheck(inner, without)
    else if (!without.has(inner)) table[key] = plainValue(inner)
  return table
}

export interface Found {
  readonly value: unknown
  readonly written: Written
  /** Absent inside a value that is kept whole, such as one rule of a list. */
  readonly cell?: Cell
}

export function findCell(root: Cell, path: Path): Found | undefined {
  let cell = root
  for (const [i, part] of path.entries()) {
    if (cell.kind === 'value') return inside(cell, path.slice(i))
    if (cell.kind === 'rules') {
      const element = typeof part === 'number' ? cell.elements[part] : undefined
      return element && inside(element, path.slice(i + 1))
    }
    const next = typeof part === 'string' ? cell.cells.get(part) : undefined
    if (!next) return undefined
    cell = next
  }
  return { value: plainValue(cell), written: cell.written, cell }
}

/** The cell itself, without the plain value that `findCell` makes for it. */
export function cellAt(root: Cell, path: readonly string[]): Cell | undefined {
  let cell: Cell | undefined = root
  for (const part of path) cell = cell?.kind === 'table' ? cell.cells.get(part) : undefined
  return cell
}

/** As if nobody had written it. Whether somebody had. */
export function removeCell(root: Cell, path: readonly string[]): boolean {
  const table = cellAt(root, path.slice(0, -1))
  return table?.kind === 'table' && table.cells.delete(path.at(-1)!)
}

function inside({ value, written }: WrittenValue, path: Path): Found | undefined {
  let here = value
  for (const part of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, part)) return undefined
    here = (here as Table)[part]
  }
  return { value: here, written: written.below(path) }
}

/** Where the path is, or the nearest place above it that was written: for messages about what is missing. */
export function nearestOrigin(root: Cell, path: Path): ConfigOrigin {
  for (let length = path.length; length > 0; length--) {
    const found = findCell(root, path.slice(0, length))
    if (found) return found.written.origin
  }
  return root.written.origin
}
