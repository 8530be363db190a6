import { show } from '@cordon/policy'
import { ToolError } from '../report.ts'

export interface FilePatch {
  readonly path: string
  readonly hunks: readonly Hunk[]
}

export interface Hunk {
  readonly header: string
  /** As they were given, a context line that lost its space restored. */
  readonly lines: readonly string[]
  /** The line, from 1, where the old text begins; for a pure insertion the line it follows. */
  readonly start: number
  readonly old: readonly string[]
  readonly new: readonly string[]
}

/**
 * Only changes to files that exist: a diff that makes, removes or renames files names the tool for that. Everything in it is
 * applied, or nothing: whoever reads it would take a line that looks like a change for one (decision 0380).
 */
export function parseUnifiedDiff(diff: string): FilePatch[] {
  const lines = diff.split('\n')
  const patches: { path: string; hunks: Hunk[] }[] = []
  for (let i = 0; i < lines.length;) {
    const line = lines[i] ?? ''
    if (line.startsWith('--- ')) {
      if (!lines[i + 1]?.startsWith('+++ ')) throw outside(line, 'no line with +++ follows it')
      patches.push({ path: parseNames(line, lines[i + 1] ?? ''), hunks: [] })
      i += 2
    } else if (line.startsWith('@@')) {
      const patch = patches.at(-1)
      if (!patch) throw new ToolError('invalid diff: a hunk before the first --- and +++ lines')
      const { hunk, next } = parseHunk(lines, i)
      patch.hunks.push(hunk)
      i = next
    } else if (BETWEEN.test(line)) i++
    else throw outside(line, 'it is in no hunk: the counts of the header before it end there')
  }
  if (patches.length === 0) throw new ToolError('invalid diff: there are no --- and +++ lines in it')
  const empty = patches.find(({ hunks }) => hunks.length === 0)
  if (empty) throw new ToolError(`invalid diff: ${show(empty.path)} has no hunk`)
  return patches
}

/** What `git diff` writes above the names of a file, and what editors leave at the end. */
const BETWEEN = /^(?:(?:diff|index) .*)?\r?$/

const outside = (line: string, why: string): ToolError =>
  new ToolError(
    `invalid diff: the line ${show(line)} would not be applied: ${why}; a diff is --- and +++ lines and complete hunks, without text around them`,
  )

function parseNames(minus: string, plus: string): string {
  const [from, to] = [minus, plus].map((line) => line.slice(4).replace(/\t.*$/, '').replace(/\r$/, '')) as [
    string,
    string,
  ]
  if (from === '/dev/null') throw new ToolError(`invalid diff: it makes ${show(to)}; use fs_create_file`)
  if (to === '/dev/null') throw new ToolError(`invalid diff: it removes ${show(from)}; use fs_delete_file`)
  const prefixed = from.startsWith('a/') && to.startsWith('b/')
  const [old, path] = prefixed ? [from.slice(2), to.slice(2)] : [from, to]
  if (old !== path)
    throw new ToolError(`invalid diff: it renames ${show(old)} to ${show(path)}; use fs_move_file`)
  return path
}

function parseHunk(lines: readonly string[], at: number): { hunk: Hunk; next: number } {
  const header = lines[at] ?? ''
  const numbers = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@/.exec(header)
  if (!numbers) throw new ToolError(`invalid diff: ${show(header)} is not a hunk header`)
  const [start, oldCount, newCount] = [Number(numbers[1]), Number(numbers[2] ?? 1), Number(numbers[3] ?? 1)]
  const [old, next]: [string[], string[]] = [[], []]
  let i = at + 1
  const push = (body: string, ...sides: string[][]): void => {
    for (const side of sides) {
      if (side.length > 0 && !side.at(-1)!.endsWith('\n')) throw notLast(header)
      side.push(body)
    }
  }
  while (old.length < oldCount || next.length < newCount) {
    const line = lines[i++]
    if (line === undefined) throw wrongCount(header)
    const body = `${line.slice(1)}\n`
    if (line.startsWith('-')) push(body, old)
    else if (line.startsWith('+')) push(body, next)
    else if (line.startsWith('\\')) endWithout(lines[i - 2] ?? '', header, old, next)
    // Editors strip the lone space of an empty context line.
    else if (line.startsWith(' ') || line === '') push(body, old, next)
    else throw wrongCount(header)
  }
  if (lines[i]?.startsWith('\\')) endWithout(lines[i++ - 1] ?? '', header, old, next)
  if (old.length !== oldCount || next.length !== newCount) throw wrongCount(header)
  // `--- ` begins the next file, everything else is a line too many.
  if (/^[ +\\-]/.test(lines[i] ?? '') && !lines[i]?.startsWith('--- ')) throw wrongCount(header)
  const body = lines.slice(at + 1, i).map((line) => line || ' ')
  return { hunk: { header, lines: body, start, old, new: next }, next: i }
}

/** What a hunk says, without the text that may follow its counts. */
export const hunkLines = ({ header, lines }: Hunk): string[] => [
  header.replace(/^(@@ .*? @@).*$/s, '$1'),
  ...lines,
]

/** `\ No newline at end of file` speaks of the line before it. */
function endWithout(before: string, header: string, old: string[], next: string[]): void {
  if (!/^[ +-]|^$/.test(before)) throw wrongCount(header)
  for (const [sides, side] of [
    [' -', old],
    [' +', next],
  ] as const)
    if (sides.includes(before[0] ?? ' ')) side.push((side.pop() ?? '').replace(/\n$/, ''))
}

const notLast = (header: string): ToolError =>
  new ToolError(
    `invalid diff: in the hunk ${show(header)} a line follows one that is marked as the end of the file; leave the line with the backslash out`,
  )

const wrongCount = (header: string): ToolError =>
  new ToolError(`invalid diff: the hunk ${show(header)} does not have the lines that its header counts`)

/**
 * Strict: every context and removed line must be there exactly. At the stated line, or, since line numbers
 * are easily wrong, at the only other place after the hunk before.
 */
export function applyHunks(text: string, { path, hunks }: FilePatch): string {
  const lines = text === '' ? [] : text.split(/(?<=\n)/)
  const result: string[] = []
  let done = 0
  for (const hunk of hunks) {
    const at = findPlace(lines, hunk, done, path)
    for (let i = done; i < at; i++) result.push(lines[i] ?? '')
    for (const line of hunk.new) result.push(line)
    done = at + hunk.old.length
    requireWholeLines(hunk, { before: lines[at - 1], isLast: done === lines.length }, path)
  }
  return [...result, ...lines.slice(done)].join('')
}

/** A line without an end would run into the next one. */
function requireWholeLines(
  { header, old, new: next }: Hunk,
  { before, isLast }: { readonly before: string | undefined; readonly isLast: boolean },
  path: string,
): void {
  if (next.at(-1)?.endsWith('\n') === false && !isLast)
    throw new ToolError(
      `${show(path)}: the hunk ${show(header)} ends with a line that is marked as the end of the file, and the file goes on; leave the line with the backslash out`,
    )
  if (old.length === 0 && before?.endsWith('\n') === false)
    throw new ToolError(
      `${show(path)}: the hunk ${show(header)} inserts after a last line that has no line break; remove that line, marked by a line with a backslash, and add it again`,
    )
}

function findPlace(lines: readonly string[], hunk: Hunk, from: number, path: string): number {
  const refuse = (why: string): ToolError =>
    new ToolError(`${show(path)}: the hunk ${show(hunk.header)} ${why}`)
  if (hunk.old.length === 0) {
    if (hunk.start < from || hunk.start > lines.length) throw refuse('inserts at a line that is not there')
    return hunk.start
  }
  const fits = (at: number): boolean => at >= from && hunk.old.every((line, i) => lines[at + i] === line)
  const stated = hunk.start - 1
  if (fits(stated)) return stated
  const places = [...lines.keys()].filter(fits)
  const [only, ...others] = places
  if (only === undefined) throw refuse('does not fit: its context and removed lines are not in the file')
  if (others.length > 0) throw refuse(`fits in ${places.length} places, none of them at the stated line`)
  return only
}
