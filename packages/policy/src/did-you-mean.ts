/** The candidate that was probably meant: at most so many edits away, by default in proportion to its length. */
export function suggest(
  wrong: string,
  candidates: Iterable<string>,
  most = (candidate: string): number => Math.max(1, Math.floor(candidate.length / 3)),
): string | undefined {
  if (wrong.length > LONGEST) return undefined
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of candidates) {
    const distance = editDistance(wrong.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance && distance <= most(candidate)) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

const LONGEST = 64

/** Insertions, deletions, substitutions, and swaps of neighbours, each one edit. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, before[j - 2]! + 1)
      row.push(cost)
    }
    before = last
    last = row
  }
  return last[b.length]!
}
