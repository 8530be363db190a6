import { showWhole } from '@cordon/policy'
import { changedLines, type LineChange } from './changed-lines.ts'

/** Lines around a change that are shown. */
const CONTEXT = 3
/** More than this is not looked into: it is shown as one change. A list of a million lines would take seconds. */
const MOST_COMPARED_CHARACTERS = 2 ** 20
const MOST_COMPARED_LINES = 50_000

/** Others have their turn after so many characters, or so many changes. */
const A_PIECE = 2 ** 18
const A_TURN = 500

type Breathe = () => Promise<void>

/**
 * A unified diff of two texts, linear in their size: what is the same at both ends is found on whole texts, and lines
 * are compared only in what is left, if that is not too much. In pieces: texts of some megabytes would hold up everybody.
 */
export async function unifiedDiff(
  path: string,
  before: string,
  after: string,
  breathe: Breathe,
): Promise<string> {
  if (before === after) return ''
  const start = await sameLinesBefore(before, after, breathe)
  const end = await sameLinesAfter(before, after, start, breathe)
  const lead = before.slice(startOfLast(before, start), start)
  const rest = before.slice(before.length - end, endOfFirst(before, before.length - end))
  const removed = before.slice(start, before.length - end)
  const added = after.slice(start, after.length - end)
  const first = await countLines(before.slice(0, start - lead.length), breathe)
  const name = showWhole(path) // a line break in it would make lines of the diff
  const head = `--- ${name}\n+++ ${name}\n`
  const [fewer, more] = [await countLines(removed, breathe), await countLines(added, breathe)]
  if (removed.length + added.length > MOST_COMPARED_CHARACTERS || fewer + more > MOST_COMPARED_LINES) {
    const around = (await countLines(lead, breathe)) + (await countLines(rest, breathe))
    const parts = [`@@ -${range(first, around + fewer)} +${range(first, around + more)} @@\n`]
    for (const [sign, text] of [
      [' ', lead],
      ['-', removed],
      ['+', added],
      [' ', rest],
    ] as const)
      for (const piece of wholeLines(text)) {
        parts.push(signed(sign, piece))
        await breathe()
      }
    return head + parts.join('')
  }
  const old = linesOf(lead + removed + rest)
  await breathe()
  const now = linesOf(lead + added + rest)
  await breathe()
  const changes = await changedLines(old, now, breathe)
  const hunks: string[] = []
  for (const hunk of hunksOf(changes)) {
    if (hunks.push(formatHunk(hunk, old, now, first)) % A_TURN === 0) await breathe()
  }
  return head + hunks.join('')
}

/** In pieces that end where lines do; a line is never cut, however long it is. */
function* wholeLines(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n', at + A_PIECE) + 1 || text.length
    yield text.slice(at, end)
    at = end
  }
}

/** How many characters of whole lines are the same from the beginning. */
async function sameLinesBefore(a: string, b: string, breathe: Breathe): Promise<number> {
  let same = 0
  while (same < a.length && a.charCodeAt(same) === b.charCodeAt(same))
    if (++same % A_PIECE === 0) await breathe()
  return same === 0 ? 0 : a.lastIndexOf('\n', same - 1) + 1
}

/** The same from the end, of what is left after `start`. */
async function sameLinesAfter(a: string, b: string, start: number, breathe: Breathe): Promise<number> {
  const most = Math.min(a.length, b.length) - start
  let same = 0
  while (same < most && a.charCodeAt(a.length - 1 - same) === b.charCodeAt(b.length - 1 - same))
    if (++same % A_PIECE === 0) await breathe()
  if ([a, b].every((text) => beginsLine(text, text.length - same, start))) return same
  const newline = a.indexOf('\n', a.length - same)
  return newline < 0 ? 0 : a.length - (newline + 1)
}

const beginsLine = (text: string, at: number, start: number): boolean => at === start || text[at - 1] === '\n'

function startOfLast(text: string, end: number): number {
  let at = end
  for (let i = 0; i < CONTEXT && at > 0; i++) at = at < 2 ? 0 : text.lastIndexOf('\n', at - 2) + 1
  return at
}

function endOfFirst(text: string, start: number): number {
  let at = start
  for (let i = 0; i < CONTEXT && at < text.length; i++) at = text.indexOf('\n', at) + 1 || text.length
  return at
}

/** The last one may have no end. */
async function countLines(text: string, breathe: Breathe): Promise<number> {
  let count = text === '' || text.endsWith('\n') ? 0 : 1
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === NEWLINE) count++
    if (at % A_PIECE === A_PIECE - 1) await breathe()
  }
  return count
}

const NEWLINE = 10

/** With their ends: a last line without one differs from the same line with one. */
const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

/** Changes that share the lines around them are shown together. */
function hunksOf(changes: readonly LineChange[]): LineChange[][] {
  const hunks: LineChange[][] = []
  for (const change of changes) {
    const last = hunks.at(-1)?.at(-1)
    if (last && change.old[0] - last.old[1] <= 2 * CONTEXT) hunks.at(-1)!.push(change)
    else hunks.push([change])
  }
  return hunks
}

function formatHunk(
  hunk: readonly LineChange[],
  old: readonly string[],
  now: readonly string[],
  first: number,
): string {
  const [begin, end] = [hunk[0]!, hunk.at(-1)!]
  const lead = Math.min(CONTEXT, begin.old[0])
  const tail = Math.min(CONTEXT, old.length - end.old[1])
  const span = ([from]: readonly number[], [, to]: readonly number[]): string =>
    range(first + from! - lead, to! + tail - (from! - lead))
  let text = `@@ -${span(begin.old, end.old)} +${span(begin.now, end.now)} @@\n`
  let at = begin.old[0] - lead
  for (const change of hunk) {
    text += signed(' ', old.slice(at, change.old[0]).join(''))
    text += signed('-', old.slice(...change.old).join('')) + signed('+', now.slice(...change.now).join(''))
    at = change.old[1]
  }
  return text + signed(' ', old.slice(at, at + tail).join(''))
}

/** Lines are counted from 1; of none, the one before is named. */
const range = (before: number, count: number): string => `${count === 0 ? before : before + 1},${count}`

/** Of all ways to write this, the one that the engine does quickest by far. */
function signed(sign: string, lines: string): string {
  if (lines === '') return ''
  const isWhole = lines.endsWith('\n')
  const text = isWhole ? lines.slice(0, -1) : lines
  const end = isWhole ? '\n' : '\n\\ No newline at end of file\n'
  return `${sign}${text.split('\n').join(`\n${sign}`)}${end}`
}
