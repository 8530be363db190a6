import { stripVTControlCharacters } from 'node:util'
import { visible } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { wrap, wrapBelow } from './wrap.ts'

/**
 * What models and tools wrote, for reading. On a terminal it must not move the cursor, change colours or hide anything; the
 * blanks of other scripts and the mark of coloured emoji belong to prose. In a pipe it stays whole. What a person decides
 * about is `visible` instead.
 */
export const foreign = (text: string, { isTerminal }: Pick<Stream, 'isTerminal'>): string =>
  isTerminal
    ? text
        .replace(/\ufe0f{2,}/g, '\ufe0f')
        .replace(/[^\ufe0f\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+/g, visible)
    : text

/** At most so many characters, with a sign that there was more. */
export const clip = (text: string, most: number): string => {
  const points = Array.from(text.slice(0, 2 * most + 2)) // of a long text no more than is needed
  return points.length <= most ? text : `${points.slice(0, most - 1).join('')}…`
}

/** Local time, to the minute: what a person compares with the clock on the wall. */
export function formatTime(time: Date): string {
  const two = (part: number): string => String(part).padStart(2, '0')
  const day = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  return `${day} ${two(time.getHours())}:${two(time.getMinutes())}`
}

/** Items with commas between them, in lines of at most so many characters where an item allows it. */
export function wrapList(items: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const [i, item] of items.entries()) {
    const piece = i < items.length - 1 ? `${item},` : item
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + piece.length <= width)
      lines[lines.length - 1] = `${last} ${piece}`
    else lines.push(piece)
  }
  return lines
}

/** Columns as wide as they need to be; the last one is not padded. Colours take no room. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, width(cell))
  const pad = (cell: string, i: number): string => cell + ' '.repeat((widths[i] ?? 0) - width(cell))
  return rows.map((row) => `${row.map(pad).join('  ').trimEnd()}\n`).join('')
}

/**
 * The same within so many columns: the last cell goes on below itself; where that leaves too little room, each row has its first
 * cell alone, and the others below. No word is broken that fits.
 */
export function formatList(rows: readonly (readonly string[])[], columns: number | undefined): string {
  if (columns === undefined) return formatTable(rows)
  const most = (i: number): number => Math.max(0, ...rows.map((row) => width(row[i] ?? '')))
  const last = Math.max(0, ...rows.map((row) => row.length)) - 1
  const before = Array.from({ length: Math.max(0, last) }, (_, i) => most(i) + 2).reduce((a, b) => a + b, 0)
  if (before + most(last) <= columns) return formatTable(rows)
  if (columns - before >= LEAST_ROOM) {
    const head = formatTable(rows.map((row) => [...row.slice(0, last), '|']))
      .split('\n')
      .map((line) => line.replace(/\|$/, ''))
    return rows
      .map((row, i) => head[i]! + wrap(row[last] ?? '', columns - before).join(`\n${' '.repeat(before)}`))
      .map((line) => `${line.replaceAll(/ +$/gm, '')}\n`)
      .join('')
  }
  return rows
    .map(([first = '', ...more]) => {
      const facts = more.slice(0, -1).filter(Boolean).join(', ')
      return [first, ...[facts, more.at(-1) ?? ''].filter(Boolean).map((text) => `  ${text}`)]
    })
    .map((lines) => lines.map((line) => `${wrapBelow(line, '  ', columns)}\n`).join(''))
    .join('')
}

/** Narrower than this a text is hard to read. */
const LEAST_ROOM = 40

const width = (cell: string): number => stripVTControlCharacters(cell).length

export const isoTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
