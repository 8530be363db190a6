/** Nobody can make it compare the same lines again and again. */
const MOST_DEPTH = 16

type Span = readonly [number, number]
type Lines = readonly string[]

/** Lines of the one text that are replaced by lines of the other; ends are exclusive. */
export interface LineChange {
  readonly old: Span
  readonly now: Span
}

/** Where two texts differ, in order. What is the same is found by lines that each of them has once ("patience diff"). */
export async function changedLines(
  old: Lines,
  now: Lines,
  breathe: () => Promise<void>,
): Promise<LineChange[]> {
  const found: LineChange[] = []
  let steps = 0
  for (const _ of compare(old, now, { old: [0, old.length], now: [0, now.length] }, found, 0))
    if (++steps % A_TURN === 0) await breathe()
  return found
}

/** Others have their turn after so many parts were compared. */
const A_TURN = 500

/** One step for each part. */
function* compare(
  old: Lines,
  now: Lines,
  within: LineChange,
  found: LineChange[],
  depth: number,
): Generator<undefined, undefined> {
  yield undefined
  let [a, aEnd, b, bEnd] = [...within.old, ...within.now]
  while (a < aEnd && b < bEnd && old[a] === now[b]) [a, b] = [a + 1, b + 1]
  while (a < aEnd && b < bEnd && old[aEnd - 1] === now[bEnd - 1]) [aEnd, bEnd] = [aEnd - 1, bEnd - 1]
  if (a === aEnd && b === bEnd) return undefined
  const rest: LineChange = { old: [a, aEnd], now: [b, bEnd] }
  const same = depth < MOST_DEPTH ? longestOrder(uniqueInBoth(old, now, rest)) : []
  if (same.length === 0) {
    found.push(rest)
    return undefined
  }
  for (const [i, j] of [...same, [aEnd, bEnd] as const]) {
    yield* compare(old, now, { old: [a, i], now: [b, j] }, found, depth + 1)
    ;[a, b] = [i, j] // a line that is the same is skipped by the next one
  }
  return undefined
}

/** Where the lines are that both have once, in the order of the first. */
function uniqueInBoth(old: Lines, now: Lines, { old: [a, aEnd], now: [b, bEnd] }: LineChange): Span[] {
  const at = new Map<string, number | undefined>()
  for (let j = b; j < bEnd; j++) at.set(now[j]!, at.has(now[j]!) ? undefined : j)
  const pairs = new Map<string, Span | undefined>()
  for (let i = a; i < aEnd; i++) {
    const j = at.get(old[i]!)
    if (j !== undefined) pairs.set(old[i]!, pairs.has(old[i]!) ? undefined : [i, j])
  }
  return [...pairs.values()].filter((pair) => pair !== undefined)
}

/** The most of them that are in the same order in both: the longest increasing sequence. */
function longestOrder(pairs: readonly Span[]): Span[] {
  const ends: { readonly pair: Span; readonly before: number }[][] = []
  for (const pair of pairs) {
    let [low, high] = [0, ends.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (ends[middle]!.at(-1)!.pair[1] < pair[1]) low = middle + 1
      else high = middle
    }
    const before = low === 0 ? -1 : ends[low - 1]!.length - 1
    ;(ends[low] ??= []).push({ pair, before })
  }
  const order: Span[] = []
  let index = (ends.at(-1)?.length ?? 0) - 1
  for (let length = ends.length - 1; length >= 0; length--) {
    const { pair, before } = ends[length]![index]!
    order.push(pair)
    index = before
  }
  return order.toReversed()
}
