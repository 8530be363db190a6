import type { ShownPath } from '@cordon/tools'
import type { CallMode } from './call-mode.ts'
import { judge, type JudgedTool } from './judged.ts'
import { placesInQuestion, TOO_MANY_PLACES } from './question-places.ts'
import { changedSince } from './shown-paths.ts'
import { shownValues } from './shown.ts'

/** Whatever has a name and a run mode. */
export interface ConsentSubject extends JudgedTool {
  readonly name: string
}

/** Somebody who decides about single calls: at a terminal, or at the other end of a protocol. */
export interface Consenter {
  /** True only for an explicit yes. */
  confirms(question: string): Promise<boolean>
  /** The arguments as they shall be; undefined: do not run it. */
  edits(question: string, args: unknown): Promise<unknown>
}

export type Consent =
  | {
      readonly kind: 'run'
      readonly arguments: unknown
      readonly decision: CallMode
      /** What the yes was said to, or where it was decided about; undefined: neither. */
      readonly shown: readonly ShownPath[] | undefined
    }
  | { readonly kind: 'refused'; readonly reason: string; readonly decision: CallMode }

/**
 * SPEC 6.5: may this call run? Without anybody to ask, `ask` and `edit` are a no. What runs is still checked by itself. A yes is
 * to what was shown: what leads elsewhere or is something else by then is not run (decision 0408).
 */
export async function askConsent(
  subject: ConsentSubject,
  args: unknown,
  consenter: Consenter | undefined,
): Promise<Consent> {
  const { name } = subject
  const { decided, files, places: decidedFor } = await judge(subject, args)
  const { secret } = decided
  const refused = (reason: string): Consent => ({
    kind: 'refused',
    reason: `tool ${name}: ${reason}`,
    decision: decided,
  })
  switch (decided.mode) {
    case 'unattended':
      return { kind: 'run', arguments: args, decision: decided, shown: decidedFor }
    case 'skip':
      return refused(SKIPPED)
    case 'ask': {
      if (!consenter) return refused(secret === undefined ? NOBODY : unaskedSecret(secret))
      const shown = subject.shownPaths(args, files)
      const places = placesInQuestion(args, shown)
      if (places === undefined) return refused(TOO_MANY_PLACES)
      const question = `${asked(`Run ${name}?`, secret)}\n${places}${shownValues(args)}`
      if (!(await consenter.confirms(question))) return refused(DECLINED)
      const changes = changedSince(shown, subject.shownPaths(args, subject.filesNow()))
      if (changes.length > 0) return refused(changedMeanwhile(changes))
      return { kind: 'run', arguments: args, decision: decided, shown }
    }
    case 'edit': {
      if (!consenter) return refused(NOBODY)
      const shown = subject.shownPaths(args, files)
      const places = placesInQuestion(args, shown)
      if (places === undefined) return refused(TOO_MANY_PLACES)
      const question = asked(`Run ${name} with these arguments, or change them first?`, secret)
      const edited = await consenter.edits(places === '' ? question : `${question}\n${places}`, args)
      if (edited === undefined) return refused(DECLINED)
      // Rules by argument are about what runs, and so is what may be secret.
      const now = await judge(subject, edited)
      if (now.decided.mode === 'skip') return refused(SKIPPED)
      const written = subject.shownPaths(edited, now.files)
      const changes = changedSince(shown, written)
      if (changes.length > 0) return refused(changedMeanwhile(changes))
      return { kind: 'run', arguments: edited, decision: now.decided, shown: written }
    }
  }
}

const asked = (question: string, secret: string | undefined): string =>
  secret === undefined ? question : `${question} ${secret}`

const changedMeanwhile = (changes: readonly string[]): string =>
  `not run, because of what happened while the question stood:\n${changes.join('\n')}\ncall it again, and it is asked about as it is now`

const DECLINED = 'the call was declined'

/** SPEC 4.9, where nobody can be asked. */
export const unaskedSecret = (secret: string): string => `${secret}, and there is nobody to ask`

const SKIPPED = 'its run mode is skip, so it was not run'

const NOBODY = 'its run mode needs a person, and there is nobody to ask; run = "unattended" would allow it'
