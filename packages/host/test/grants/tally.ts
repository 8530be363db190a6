import { play, type Verdict } from './actor.ts'
import { CALLS_OF_A_POLICY, caseFrom, configOf } from './cases.ts'
import { GrantsPlace } from './place.ts'

/** Plays so many cases, several at once, and counts what came of them. Throws at the first that is wrong, with its number. */
export async function tally(
  first: number,
  cases: number,
  workers: number,
  onDone: (counts: Readonly<Record<Verdict, number>>) => void = () => undefined,
): Promise<Record<Verdict, number>> {
  const counts: Record<Verdict, number> = { done: 0, impossible: 0, refused: 0, fixed: 0, 'not compiled': 0 }
  let next = first
  const end = first + cases
  /** All calls of one policy in one place: the second and later ones meet the worker of the first. */
  const take = (): readonly number[] => {
    const from = next
    next = Math.min(end, CALLS_OF_A_POLICY * (Math.floor(from / CALLS_OF_A_POLICY) + 1))
    return Array.from({ length: next - from }, (_, i) => from + i)
  }
  const work = async (): Promise<void> => {
    const place = new GrantsPlace()
    try {
      for (let seeds = take(); seeds.length > 0; seeds = take())
        for (const seed of seeds) {
          counts[await playOrSay(place, seed)]++
          onDone(counts)
        }
    } finally {
      next = end
      await place.remove()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return counts
}

async function playOrSay(place: GrantsPlace, seed: number): Promise<Verdict> {
  const each = caseFrom(seed)
  try {
    return await play(place, each, { isPlayedTwice: seed % 16 === 3 })
  } catch (error) {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error)
    throw new Error(`case ${seed}: ${each.tool} ${JSON.stringify(each.arguments)}\n${configOf(each)}${why}`, {
      cause: error,
    })
  }
}
