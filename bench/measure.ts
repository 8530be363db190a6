/**
 * Ratios measured in one run: both sides take turns in short rounds, so that whatever else the machine
 * does hits both, and the median of the rounds is compared (decision 0007).
 */
export interface Side {
  readonly name: string
  readonly run: () => unknown
}

export interface Comparison {
  readonly title: string
  readonly ours: Side
  readonly theirs: Side
  /** The bound on ours / theirs, if there is one. */
  readonly atMost?: number
  /** Calls per round; spawning a process needs few, a lookup many. */
  readonly batch: number
  readonly rounds?: number
}

export interface Result {
  readonly title: string
  readonly ratio: number
  readonly ours: number
  readonly theirs: number
}

export function compare({ title, ours, theirs, atMost, batch, rounds = 41 }: Comparison): Result {
  const times: [number[], number[]] = [[], []]
  for (let round = -3; round < rounds; round++) {
    for (const [i, side] of [ours, theirs].entries()) {
      const start = process.hrtime.bigint()
      for (let n = 0; n < batch; n++) side.run()
      const nanoseconds = Number(process.hrtime.bigint() - start) / batch
      if (round >= 0) times[i as 0 | 1].push(nanoseconds) // the first rounds warm up
    }
  }
  const [a, b] = [median(times[0]), median(times[1])]
  const result = { title, ratio: a / b, ours: a, theirs: b }
  const bound = atMost === undefined ? '' : `  (${a / b <= atMost ? 'within' : 'MISSES'} ≤ ${atMost})`
  console.log(
    `${title}\n  ${ours.name}: ${pretty(a)}   ${theirs.name}: ${pretty(b)}   ratio ${showRatio(a / b)}${bound}`,
  )
  return result
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((x, y) => x - y)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export function pretty(nanoseconds: number): string {
  if (nanoseconds < 1e3) return `${nanoseconds.toFixed(0)} ns`
  if (nanoseconds < 1e6) return `${(nanoseconds / 1e3).toFixed(2)} µs`
  if (nanoseconds < 1e9) return `${(nanoseconds / 1e6).toFixed(2)} ms`
  return `${(nanoseconds / 1e9).toFixed(2)} s`
}

const showRatio = (ratio: number): string => (ratio >= 0.1 ? ratio.toFixed(2) : `1/${Math.round(1 / ratio)}`)
