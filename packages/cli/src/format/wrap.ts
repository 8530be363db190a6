import { stripVTControlCharacters } from 'node:util'

/** Columns a text takes: wide characters two, marks and colours none. Where terminals differ, rather too many. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const point of stripVTControlCharacters(text)) width += widthOfPoint(point)
  return width
}

const widthOfPoint = (point: string): number =>
  point <= '~' ? 1 : /[\p{Mn}\p{Me}]/u.test(point) ? 0 : isWide(point) ? 2 : 1

/**
 * All that Unicode calls wide, and what lies between. A pattern with a property is read when it is come across, which takes
 * half a millisecond: so not at every start (decision 0350).
 */
const isWide = (point: string): boolean =>
  /[\p{Emoji_Presentation}\p{RI}\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2fb}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(
    point,
  )

/** Lines of at most so many columns, broken between words. A word that is longer than a line is cut. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  let column = 0
  for (const word of text.split(/(?<=[^ ]) (?=[^ ])/)) {
    const room = widthOf(word)
    if (line !== '' && column + 1 + room <= width) {
      line += ` ${word}`
      column += 1 + room
      continue
    }
    if (line !== '') lines.push(line)
    const pieces = room <= width || word.includes('\u001b') ? [word] : cut(word, width)
    line = pieces.pop()!
    column = pieces.length === 0 ? room : widthOf(line)
    for (const piece of pieces) lines.push(piece)
  }
  return [...lines, line]
}

/** Rows of at most so many columns, and every character as it stands; one that is wider than a row has a row. */
export function cut(text: string, width: number): string[] {
  const rows: string[] = []
  let start = 0
  let column = 0
  let at = 0
  for (const point of text) {
    const room = widthOfPoint(point)
    if (at > start && column + room > width) {
      rows.push(text.slice(start, at))
      start = at
      column = 0
    }
    at += point.length
    column += room
  }
  return [...rows, text.slice(start)]
}

/** What follows the first line is indented, and at least as the first line is. Without a width nothing is broken. */
export function wrapBelow(text: string, indent: string, width: number | undefined): string {
  if (width === undefined) return text
  const own = Math.min(text.search(/[^ ]|$/), MOST_INDENT, width - NARROWEST)
  const wanted = own > indent.length ? ' '.repeat(own) : indent
  // Where there is hardly any room, as little as possible is left empty; words of others still begin no row.
  const below = width - wanted.length < NARROWEST / 2 ? wanted.slice(0, LEAST_INDENT) : wanted
  return wrap(text, Math.max(1, width - below.length)).join(`\n${below}`)
}

/** Text of others may be indented as far as they like. */
const MOST_INDENT = 8
const NARROWEST = 20
const LEAST_INDENT = 2

/**
 * A message of ours: prose breaks between words, and what is there to be pasted never does, or it would be two commands
 * (decision 0341). That is a line that begins with CONTRIBUTING's `to allow it` or `fix:`, and what is indented below it.
 */
export function wrapMessage(
  lines: readonly string[],
  { margin = '', indent, columns }: { margin?: string; indent: string; columns: number | undefined },
): string[] {
  let mark: number | undefined
  return lines.map((line) => {
    const marked = PASTED.exec(line)
    if (marked) mark = marked[1]!.length
    else if (mark !== undefined && line.search(/[^ ]/) <= mark) mark = undefined
    return mark === undefined ? wrapBelow(margin + line, indent, columns) : margin + line
  })
}

/** As deep as messages have them: what is deeper may be the words of others. */
const PASTED = /^( {0,2})(?:to allow it\b|fix:)/

/**
 * Text of others in rows that all begin with a margin of ours, also where a line of it goes on: padding must not put
 * words of theirs where a row begins, as if we had said them. Without a width nothing is broken.
 */
export function behindMargin(
  text: string,
  [first, more]: readonly [first: string, more: string],
  columns: number | undefined,
): string[] {
  if (columns === undefined) return [first + text]
  const room = Math.max(1, columns - Math.max(widthOf(first), widthOf(more)))
  return cut(withoutTabs(text), room).map((row, i) => (i === 0 ? first : more) + row)
}

/** How far a tab goes depends on where it stands, which is not counted here. */
export const withoutTabs = (text: string): string => text.replaceAll('\t', '    ')

/** At most so many columns, with a sign that there was more. */
export const clipColumns = (text: string, columns: number): string => {
  const line = withoutTabs(text)
  return widthOf(line) <= columns ? line : `${cut(line, columns - 1)[0]!}…`
}
