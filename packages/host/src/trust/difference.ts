/** Around each change, so that a person sees where it is. */
const CONTEXT = 3

/** Comparing more than this line by line would take seconds; then all of the changed part is shown as replaced. */
const MOST_PAIRS = 4_000_000

interface Line {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/**
 * A unified diff without its head: hunks of `@@`, ` `, `-` and `+` lines, and `\\ No newline at end of file` below a line that
 * has none. Empty when nothing differs. Applied to what was it gives what is, byte for byte.
 */
export function differenceOf(was: string, now: string): readonly string[] {
  return hunksOf(compare(linesOf(was), linesOf(now)))
}

/** With their ends: also a missing line break is a difference. */
const linesOf = (text: string): string[] => (text === '' ? [] : text.split(/(?<=\n)/))

/** The sign and the line; what no line can begin with says that its end is missing. */
const shownLine = ({ sign, text }: Line): string[] =>
  text.endsWith('\n') ? [sign + text.slice(0, -1)] : [sign + text, '\\ No newline at end of file']

function compare(was: readonly string[], now: readonly string[]): Line[] {
  let start = 0
  while (start < was.length && start < now.length && was[start] === now[start]) start++
  let [wasEnd, nowEnd] = [was.length, now.length]
  while (wasEnd > start && nowEnd > start && was[wasEnd - 1] === now[nowEnd - 1]) {
    wasEnd--
    nowEnd--
  }
  return [
    ...was.slice(0, start).map(kept),
    ...changes(was.slice(start, wasEnd), now.slice(start, nowEnd)),
    ...was.slice(wasEnd).map(kept),
  ]
}

/** By the longest common subsequence. */
function changes(was: readonly string[], now: readonly string[]): Line[] {
  if (was.length * now.length > MOST_PAIRS) return [...was.map(removed), ...now.map(added)]
  const width = now.length + 1
  const longest = new Uint32Array((was.length + 1) * width)
  for (let i = was.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      longest[i * width + j] =
        was[i] === now[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!)
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < was.length && j < now.length) {
    if (was[i] === now[j]) {
      lines.push(kept(was[i]!))
      i++
      j++
    } else if (longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!) lines.push(removed(was[i++]!))
    else lines.push(added(now[j++]!))
  }
  return [...lines, ...was.slice(i).map(removed), ...now.slice(j).map(added)]
}

const kept = (text: string): Line => ({ sign: ' ', text })
const removed = (text: string): Line => ({ sign: '-', text })
const added = (text: string): Line => ({ sign: '+', text })

function hunksOf(lines: readonly Line[]): string[] {
  const shown: string[] = []
  let [was, now, from] = [1, 1, 0]
  while (from < lines.length) {
    const change = lines.findIndex(({ sign }, i) => i >= from && sign !== ' ')
    if (change < 0) break
    const start = Math.max(from, change - CONTEXT)
    const end = endOfHunk(lines, change)
    was += start - from
    now += start - from
    const hunk = lines.slice(start, end)
    const [old, fresh] = ['+', '-'].map((other) => hunk.filter(({ sign }) => sign !== other).length) as [
      number,
      number,
    ]
    shown.push(`@@ -${range(was, old)} +${range(now, fresh)} @@`)
    for (const line of hunk) shown.push(...shownLine(line)) // one by one: there may be more than a call takes
    was += old
    now += fresh
    from = end
  }
  return shown
}

/** Changes with little between them share a hunk. */
function endOfHunk(lines: readonly Line[], change: number): number {
  let last = change
  for (let i = change; i < lines.length && i - last <= 2 * CONTEXT; i++) if (lines[i]!.sign !== ' ') last = i
  return Math.min(lines.length, last + CONTEXT + 1)
}

/** As `diff -u` counts: an empty range follows the line it names. */
const range = (line: number, count: number): string =>
  count === 1 ? String(line) : `${count === 0 ? line - 1 : line},${count}`
