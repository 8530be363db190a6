import { stripVTControlCharacters } from 'node:util'

/** Columns as wide as they need to be; the last one is not padded. Colours take no room. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell))
  const pad = (cell: string, i: number): string => cell + ' '.repeat((widths[i] ?? 0) - width(cell))
  return rows.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('')
}

const width = (cell: string): number => stripVTControlCharacters(cell).length
