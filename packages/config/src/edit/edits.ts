import { isTable } from '../merge/cell.ts'
import { formatKey } from '../toml/key-path.ts'
import { type Mark, type Marks, type Section } from '../toml/marks.ts'
import { formatValue } from '../toml/value.ts'

interface Splice {
  readonly from: number
  readonly to: number
  readonly insert: string
}
export type Edit = readonly Splice[]

type Key = readonly string[]

/**
 * Ways to set a key, the most natural first. Not all of them are right for every document: the caller takes the
 * first one that leads to exactly the wanted values.
 */
export function setEdits(text: string, marks: Marks, path: Key, value: unknown): Edit[] {
  const written = formatValue(value)
  const mark = markAt(marks.root, path)
  if (mark && mark.to > mark.from) return [[{ from: mark.from, to: mark.to, insert: written }]]
  const [parent, last] = [path.slice(0, -1), formatKey(path.at(-1)!)]
  return [
    ...insertInline(text, marks.root, path, written),
    ...marks.sections
      .filter(
        (section) =>
          section.path.join('\0') === parent.join('\0') && section.mark === markAt(marks.root, parent),
      )
      .map((section) => [lineAfter(text, section, `${last} = ${written}`)]),
    ...(parent.length > 0 ? [[atEnd(text, [`[${joinKey(parent)}]`, `${last} = ${written}`])]] : []),
    ...sectionsAbove(marks, path).map((section) => [
      lineAfter(text, section, `${joinKey(path.slice(section.path.length))} = ${written}`),
    ]),
  ]
}

/** Ways to add one element to a list, which may be missing, inline, in the long form, or made of [[headers]]. */
export function appendEdits(text: string, marks: Marks, path: Key, value: unknown): Edit[] {
  const list = markAt(marks.root, path)
  if (!list || (!list.items && !list.keys))
    return [
      ...(markAt(marks.root, path.slice(0, -1))?.to === 0
        ? []
        : insertInline(text, marks.root, path, formatValue([value]))),
      ...(isTable(value) ? [[atEnd(text, tableLines(path, value))]] : []),
      ...setEdits(text, marks, path, [value]),
    ]
  const inner = list.items ? list : list.keys?.get('value')
  if (!inner?.items) return []
  if (inner.to > inner.from) return [appendInline(text, inner, formatValue(value))]
  const last = marks.sections.findLast((section) => startsWith(section.path, path))
  if (!last || !isTable(value)) return []
  const [, ...indented] = ['', ...tableLines(path, value)]
  return [[blockAfter(text, last, indented)]]
}

/** Ways to take a key away: its sections and lines, or its place in a table in braces, with one of the commas beside it. */
export function removeEdits(text: string, marks: Marks, path: Key): Edit[] {
  const mark = markAt(marks.root, path)
  if (!mark) return []
  const sections = marks.sections
    .filter((section) => section.path.length >= path.length && startsWith(section.path, path))
    .map((section) => wholeLines(text, section.mark.at, section.end))
  const inSections = (at: number): boolean => sections.some(({ from, to }) => at >= from && at < to)
  const lines = leavesOf(mark)
    .filter((leaf) => !inSections(leaf.at))
    .map((leaf) => wholeLines(text, leaf.at, leaf.to))
  return [[...sections, ...lines], ...removeInline(text, mark)]
}

/** What is written below a mark, each as far as it is one piece of text. */
const leavesOf = (mark: Mark): Mark[] =>
  mark.to > mark.from ? [mark] : [...(mark.keys?.values() ?? [])].flatMap(leavesOf)

/** From the start of the first line to behind the last, with one empty line before them. */
function wholeLines(text: string, at: number, end: number): Splice {
  const start = text.lastIndexOf('\n', at - 1) + 1
  const blank = /\r?\n(?=\r?\n$)|^\r?\n$/.exec(text.slice(0, start))
    ? /\r?\n$/.exec(text.slice(0, start))
    : null
  const last = text.indexOf('\n', end)
  return { from: start - (blank?.[0].length ?? 0), to: last < 0 ? text.length : last + 1, insert: '' }
}

function removeInline(text: string, mark: Mark): Edit[] {
  const at = keyStart(text, mark.at)
  const before = /,?\s*$/.exec(text.slice(0, at))!.index
  const behind = /^\s*,[ \t]*/.exec(text.slice(mark.to))
  return [
    [{ from: before, to: mark.to, insert: '' }],
    ...(behind ? [[{ from: at, to: mark.to + behind[0].length, insert: '' }]] : []),
  ]
}

/** Where the whole of a key starts, of which a mark has the last part: `access.commands`. */
function keyStart(text: string, at: number): number {
  const line = text.lastIndexOf('\n', at - 1) + 1
  const above = /(?:(?:[\w-]+|"[^"]*"|'[^']*')[ \t]*\.[ \t]*)+$/.exec(text.slice(line, at))
  return above ? line + above.index : at
}

const tableLines = (path: Key, value: Readonly<Record<string, unknown>>): string[] => [
  `[[${joinKey(path)}]]`,
  ...Object.entries(value).map(([key, field]) => `${formatKey(key)} = ${formatValue(field)}`),
]

function appendInline(text: string, list: Mark, written: string): Edit {
  const close = list.to - 1
  const last = list.items!.at(-1)
  if (!last) return [{ from: close, to: close, insert: written }]
  const comma = commaAfter(text, last.to, close)
  const lineEnd = endOfLine(text, last.to)
  const addComma = comma === undefined ? [{ from: last.to, to: last.to, insert: ',' }] : []
  if (lineEnd > close) {
    const at = comma === undefined ? last.to : comma + 1
    return comma === undefined
      ? [{ from: at, to: at, insert: `, ${written}` }]
      : [{ from: at, to: at, insert: ` ${written}` }]
  }
  const at = Math.max(lineEnd, comma === undefined ? 0 : endOfLine(text, comma))
  const indent = indentAt(text, last.at)
  return [
    ...addComma,
    { from: at, to: at, insert: `${newline(text)}${indent}${written}${comma === undefined ? '' : ','}` },
  ]
}

/** A comma between the last element and the bracket, if there is one; comments may lie between them. */
function commaAfter(text: string, from: number, close: number): number | undefined {
  for (let i = from; i < close; i++) {
    if (text[i] === '#') i = endOfLine(text, i)
    else if (text[i] === ',') return i
  }
  return undefined
}

/** Into the deepest table on the path that is written in braces. */
function insertInline(text: string, root: Mark, path: Key, written: string): Edit[] {
  for (let depth = path.length - 1; depth > 0; depth--) {
    const table = markAt(root, path.slice(0, depth))
    if (!table?.keys || table.to <= table.from || text[table.from] !== '{') continue
    const close = table.to - 1
    const field = `${joinKey(path.slice(depth))} = ${written}`
    let at = close
    while (/[ \t]/.test(text[at - 1]!)) at--
    // With a comma before it, or without: after a trailing comma or in an empty table.
    return ['', ','].map((comma) => [{ from: at, to: close, insert: `${comma} ${field} ` }])
  }
  return []
}

/** The sections that could hold the key in dotted form, the deepest first. */
const sectionsAbove = (marks: Marks, path: Key): Section[] =>
  marks.sections
    .filter(
      (section) =>
        section.path.length < path.length &&
        startsWith(path, section.path) &&
        section.mark === markAt(marks.root, section.path),
    )
    .toSorted((a, b) => b.path.length - a.path.length)

function lineAfter(text: string, section: Section, line: string): Splice {
  const nl = newline(text)
  if (section.path.length === 0 && section.end <= 1) {
    // Nothing stands before the first header; an editor's hint must stay on the first line.
    const at = text.startsWith('#:schema')
      ? Math.min(endOfLine(text, 0) + nl.length, text.length)
      : section.end
    const before = at > 0 && text[at - 1] !== '\n' && at !== section.end ? nl : ''
    return { from: at, to: at, insert: `${before}${line}${nl}` }
  }
  const at = endOfLine(text, section.end)
  return { from: at, to: at, insert: `${nl}${indentAt(text, section.end)}${line}` }
}

function blockAfter(text: string, section: Section, lines: readonly string[]): Splice {
  const at = endOfLine(text, section.end)
  const nl = newline(text)
  return { from: at, to: at, insert: nl + lines.map((line) => nl + line).join('') }
}

function atEnd(text: string, lines: readonly string[]): Splice {
  const nl = newline(text)
  const gap = text === '' ? '' : text.endsWith('\n') ? nl : nl + nl
  return { from: text.length, to: text.length, insert: `${gap}${lines.join(nl)}${nl}` }
}

function markAt(root: Mark, path: Key): Mark | undefined {
  let mark: Mark | undefined = root
  for (const key of path) mark = mark?.keys?.get(key)
  return mark
}

const startsWith = (path: Key, prefix: Key): boolean => prefix.every((part, i) => path[i] === part)

const joinKey = (path: Key): string => path.map(formatKey).join('.')

const newline = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')

/** Before the line break, so that a comment behind the value stays on its line. */
function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  if (end < 0) return text.length
  return text[end - 1] === '\r' && end > at ? end - 1 : end
}

function indentAt(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1
  return /^[ \t]*/.exec(text.slice(start, at))![0]
}
