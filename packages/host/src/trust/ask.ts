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
export async function askToTrust(
  item: Waiting,
  reviewer: Reviewer,
  others: readonly Source[],
): Promise<boolean> {
  const question = `\n${countsText(item)}\nTrust ${show(item.path)} as it is now? (v: view all of it) [y/N/v] `
  let shown = reviewText(item, problemsOf(item, others))
  for (;;) {
    const reply = await reviewer.reviews(shown + question)
    if (reply !== 'view') return reply === 'yes'
    shown = wholeText(item)
  }
}

const MOST_PROBLEMS = 3

/** What would be wrong with the configuration if this counted, beside what counts already: the first of it. */
export function problemsOf(item: Waiting, others: readonly Source[]): readonly string[] {
  try {
    mergeSources([...others, ...item.sources])
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const own = error.problems.filter(({ origin }) =>
      item.sources.some(({ label }) => label === origin.label),
    )
    const all = own.map(({ message, origin }) => `${message} (${formatOrigin(origin)})`)
    const more = all.length - MOST_PROBLEMS
    return [...all.slice(0, MOST_PROBLEMS), ...(more > 0 ? [`and ${more} more problems`] : [])]
  }
}
