import { show } from '@cordon/policy'
import { ToolError } from '../report.ts'

export interface FilePatch {
  readonly path: string
  readonly hunks: readonly Hunk[]
}

interface Hunk {
  readonly header: string
  /** The line, from 1, where the old text begins; for a pure insertion the line it follows. */
  readonly start: number
  readonly old: readonly string[]
  readonly new: readonly string[]
}

/** Only changes to files that exist: a diff that makes, removes or renames files names the tool for that. */
export function parseUnifiedDiff(diff: string): FilePatch[] {
  const lines = diff.split('\n')
  const patches: { path: string; hunks: Hunk[] }[] = []
  for (let i = 0; i < lines.length;) {
    const line = lines[i] ?? ''
    if (line.startsWith('--- ') && lines[i + 1]?.startsWith('+++ ')) {
      patches.push({ path: parseNames(line, lines[i + 1] ?? ''), hunks: [] })
      i += 2
    } else if (line.startsWith('@@')) {
      const patch = patches.at(-1)
      if (!patch) throw new ToolError('invalid diff: a hunk before the first --- and +++ lines')
      const { hunk, next } = parseHunk(lines, i)
      patch.hunks.push(hunk)
      i = next
    } else i++
  }
  if (patches.length === 0) throw new ToolError('invalid diff: there are no --- and +++ lines in it')
  const empty = patches.find(({ hunks }) => hunks.length === 0)
  if (empty) throw new ToolError(`invalid diff: ${show(empty.path)} has no hunk`)
  return patches
}

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
  while (old.length < oldCount || next.length < newCount) {
    const line = lines[i++]
    if (line === undefined) throw wrongCount(header)
    const body = `${line.slice(1)}\n`
    if (line.startsWith('-')) old.push(body)
    else if (line.startsWith('+')) next.push(body)
    else if (line.startsWith('\\')) endWithout(lines[i - 2] ?? '', old, next)
    // Editors strip the lone space of an empty context line.
    else if (line.startsWith(' ') || line === '') {
      old.push(body)
      next.push(body)
    } else throw wrongCount(header)
  }
  if (lines[i]?.startsWith('\\')) endWithout(lines[i++ - 1] ?? '', old, next)
  if (old.length !== oldCount || next.length !== newCount || /^[ +-]/.test(lines[i] ?? '')) {
    // `--- ` begins the next file, everything else is a line too many.
    if (!lines[i]?.startsWith('--- ')) throw wrongCount(header)
  }
  return { hunk: { header, start, old, new: next }, next: i }
}

/** `\ No newline at end of file` speaks of the line before it. */
function endWithout(before: string, old: string[], next: string[]): void {
  for (const [sides, side] of [
    [' -', old],
    [' +', next],
  ] as const)
    if (sides.includes(before[0] ?? ' ')) side.push((side.pop() ?? '').replace(/\n$/, ''))
}

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
    result.push(...hunk.new)
    done = at + hunk.old.length
  }
  return [...result, ...lines.slice(done)].join('')
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
