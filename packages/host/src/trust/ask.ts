import { ConfigError, formatOrigin, mergeSources, type Source } from '@cordon/config'
import { show } from '@cordon/policy'
import type { Waiting } from './items.ts'
import { countsText, reviewText, wholeText } from './review.ts'

/** Somebody at a terminal who looks at what files want. */
export interface Reviewer {
  /** `yes` only for an explicit one; `view` to see all of it; end of input, Ctrl-C and anything else is a no. */
  reviews(question: string): Promise<'yes' | 'no' | 'view'>
}

/** SPEC 2.1: shows what it would grant, then asks; the whole text as often as it is wanted (decision 0126). */
export async function askToTrust(item: Waiting, reviewer: Reviewer, others: Others): Promise<boolean> {
  const question = `\n${countsText(item)}\nTrust ${show(item.path)} as it is now? (v: view all of it) [y/N/v] `
  let shown = reviewText(item, problemsOf(item, others))
  for (;;) {
    const reply = await reviewer.reviews(shown + question)
    if (reply !== 'view') return reply === 'yes'
    shown = wholeText(item)
  }
}

/** What an item stands beside. */
export interface Others {
  /** What counts already, or will with it. */
  readonly counting: readonly Source[]
  /** False: more waits, which may say the rest of a tool that this one speaks of. */
  readonly all: boolean
}

const MOST_PROBLEMS = 3

/** What would be wrong with the configuration if this counted beside the others: the first of it. */
export function problemsOf(item: Waiting, { counting, all }: Others): readonly string[] {
  try {
    mergeSources([...counting, ...item.sources], { all })
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const own = error.problems.filter(({ origin }) =>
      item.sources.some(({ label }) => label === origin.label),
    )
    const texts = own.map(({ message, origin }) => `${message} (${formatOrigin(origin)})`)
    const more = texts.length - MOST_PROBLEMS
    return [...texts.slice(0, MOST_PROBLEMS), ...(more > 0 ? [`and ${more} more problems`] : [])]
  }
}
