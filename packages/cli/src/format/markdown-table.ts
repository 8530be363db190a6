import type { Stream } from '../world.ts'
import { behindMargin, widthOf, wrap, wrapBelow } from './wrap.ts'

type Styled = Pick<Stream, 'style'>

const GAP = '  '
/** A column that is narrower is no help. */
const NARROWEST = 6

/** More is no table that anybody reads, and each row has every column: as it was written. */
const MOST_COLUMNS = 50
const MOST_ROWS = 1000
/** Names of columns are repeated for each row where columns have no room; so many characters of them. */
const MOST_NAMES = 50_000

/**
 * The lines of a Markdown table in columns, within the width; too many columns for it: one line for each cell. What is drawn
 * is at most so many times as long as what was written, whatever was written.
 */
export function formatMarkdownTable(lines: readonly string[], width: number, { style }: Styled): string {
  const asWritten = (): string =>
    lines
      .flatMap((line) => behindMargin(line, ['', '↳ '], width))
      .map((row) => `${row}\n`)
      .join('')
  const [head, marks] = lines.slice(0, 2).map(cellsOf)
  const isTable = head && marks && marks.every((mark) => /^:?-+:?$/.test(mark))
  if (!isTable || head.length > MOST_COLUMNS || lines.length > MOST_ROWS + 2) return asWritten()
  const rows = lines.slice(2).map((line) => {
    const row = cellsOf(line)
    return head.map((_, i) => row[i] ?? '')
  })
  const room = width - GAP.length * (head.length - 1)
  if (room < NARROWEST * head.length)
    return head.join().length * rows.length > MOST_NAMES
      ? asWritten()
      : rows.map((row) => record(head, row, width, style)).join('\n')
  const widths = share(
    head.map((name, i) => Math.max(1, ...[name, ...rows.map((row) => row[i]!)].map(widthOf))),
    room,
  )
  const isRight = marks.map((mark) => /[^:]:$/.test(mark) || /^-:$/.test(mark))
  const line = (row: readonly string[], styled: (cell: string) => string): string => {
    const cells = row.map((cell, i) => wrap(cell, widths[i]!))
    const height = Math.max(...cells.map((cell) => cell.length))
    return Array.from({ length: height }, (_, y) =>
      cells.map((cell, i) => pad(cell[y] ?? '', widths[i]!, isRight[i] === true, styled)).join(GAP),
    )
      .map((text) => `${text.trimEnd()}\n`)
      .join('')
  }
  return [
    line(head, (cell) => style('bold', cell)),
    `${style('dim', widths.map((each) => '─'.repeat(each)).join(GAP))}\n`,
    ...rows.map((row) => line(row, (cell) => cell)),
  ].join('')
}

/** What nobody needs goes to those that want more; these get the same. */
function share(wanted: readonly number[], room: number): number[] {
  const given = wanted.map(() => 0)
  let left = room
  const order = wanted.map((_, i) => i).toSorted((a, b) => wanted[a]! - wanted[b]!)
  for (const [n, i] of order.entries()) {
    given[i] = Math.min(wanted[i]!, Math.floor(left / (order.length - n)))
    left -= given[i]
  }
  return given
}

const record = (
  head: readonly string[],
  row: readonly string[],
  width: number,
  style: Styled['style'],
): string =>
  row
    .map((cell, i) => {
      const name = `${head[i]!}:`
      const text = wrapBelow(`${name} ${cell}`, GAP, width)
      return text.startsWith(name)
        ? `${style('bold', head[i]!)}${text.slice(head[i]!.length)}\n`
        : `${text}\n`
    })
    .join('')

function pad(cell: string, width: number, isRight: boolean, styled: (cell: string) => string): string {
  const room = ' '.repeat(Math.max(0, width - widthOf(cell)))
  const shown = cell === '' ? '' : styled(cell)
  return isRight ? room + shown : shown + room
}

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) =>
      cell
        .trim()
        .replaceAll('\\|', '|')
        .replaceAll(/\*\*([^*]+)\*\*|`([^`]+)`/g, '$1$2'),
    )
