import { play, type Thoroughness, type Verdict } from './actor.ts'
import { caseFrom, configOf } from './cases.ts'
import { GrantsPlace } from './place.ts'

/** All of a case for some; most of it for all. */
const thoroughnessOf = (seed: number): Thoroughness => ({
  isPlayedTwice: seed % 16 === 3,
  areRepairsConfined: seed % 4 === 0,
})

/** Plays so many cases, several at once, and counts what came of them. Throws at the first that is wrong, with its number. */
export async function tally(
  first: number,
  cases: number,
  workers: number,
  onDone: (counts: Readonly<Record<Verdict, number>>) => void = () => undefined,
): Promise<Record<Verdict, number>> {
  const counts: Record<Verdict, number> = { done: 0, impossible: 0, refused: 0, fixed: 0, 'not compiled': 0 }
  let next = 0
  const work = async (): Promise<void> => {
    const place = new GrantsPlace()
    try {
      while (next < cases) {
        const seed = first + next++
        const each = caseFrom(seed)
        try {
          counts[await play(place, each, thoroughnessOf(seed))]++
          onDone(counts)
        } catch (error) {
          next = cases
          const why = error instanceof Error ? (error.stack ?? error.message) : String(error)
          throw new Error(
            `case ${seed}: ${each.tool} ${JSON.stringify(each.arguments)}\n${configOf(each)}${why}`,
            { cause: error },
          )
        }
      }
    } finally {
      await place.remove()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
  return counts
}
