import { type CallableTool, type CallMode, decideCallMode } from './call-mode.ts'
import { shownValues } from './shown.ts'

/** Whatever has a name and a run mode. */
export interface ConsentSubject extends CallableTool {
  readonly name: string
}

/** Somebody who decides about single calls: at a terminal, or at the other end of a protocol. */
export interface Consenter {
  /** True only for an explicit yes. */
  confirms(question: string): Promise<boolean>
  /** The arguments as they shall be; undefined: do not run it. `secret`: what of them may be secret, in words. */
  edits(tool: string, args: unknown, secret?: string): Promise<unknown>
}

export type Consent =
  | { readonly kind: 'run'; readonly arguments: unknown; readonly decision: CallMode }
  | { readonly kind: 'refused'; readonly reason: string; readonly decision: CallMode }

/** SPEC 6.5: may this call run? Without anybody to ask, `ask` and `edit` are a no. What runs is still checked by itself. */
export async function askConsent(
  subject: ConsentSubject,
  args: unknown,
  consenter: Consenter | undefined,
): Promise<Consent> {
  const { name } = subject
  const decision = await decideCallMode(subject, args)
  const { secret } = decision
  const refused = (reason: string): Consent => ({
    kind: 'refused',
    reason: `tool ${name}: ${reason}`,
    decision,
  })
  const run = (): Consent => ({ kind: 'run', arguments: args, decision })
  switch (decision.mode) {
    case 'unattended':
      return run()
    case 'skip':
      return refused(SKIPPED)
    case 'ask':
      if (!consenter) return refused(secret === undefined ? NOBODY : unaskedSecret(secret))
      return (await consenter.confirms(
        `Run ${name}?${secret === undefined ? '' : ` ${secret}`}\n${shownValues(args)}`,
      ))
        ? run()
        : refused('the call was declined')
    case 'edit': {
      if (!consenter) return refused(NOBODY)
      const edited = await consenter.edits(name, args, secret)
      if (edited === undefined) return refused('the call was declined')
      // Rules by argument are about what runs, and so is what may be secret.
      const now = await decideCallMode(subject, edited)
      return now.mode === 'skip' ? refused(SKIPPED) : { kind: 'run', arguments: edited, decision: now }
    }
  }
}

/** SPEC 4.9, where nobody can be asked. */
export const unaskedSecret = (secret: string): string => `${secret}, and there is nobody to ask`

const SKIPPED = 'its run mode is skip, so it was not run'

const NOBODY = 'its run mode needs a person, and there is nobody to ask; run = "unattended" would allow it'
