import { loadPatternTest } from './patterns.ts'
import { type CallPaths, decideRunMode, type RunDecision } from './run-mode.ts'
import { shownValues } from './shown.ts'
import type { LocalTool } from './tool.ts'

/** Whatever has a name and a run mode. */
export interface ConsentSubject {
  readonly name: string
  readonly config: Pick<LocalTool['config'], 'run'>
  /** What a call touches, where that is known. */
  readonly pathsIn?: CallPaths
}

/** Somebody who decides about single calls: at a terminal, or at the other end of a protocol. */
export interface Consenter {
  /** True only for an explicit yes. */
  confirms(question: string): Promise<boolean>
  /** The arguments as they shall be; undefined: do not run it. */
  edits(tool: string, args: unknown): Promise<unknown>
}

export type Consent =
  | { readonly kind: 'run'; readonly arguments: unknown; readonly decision: RunDecision }
  | { readonly kind: 'refused'; readonly reason: string; readonly decision: RunDecision }

/** SPEC 6.5: may this call run? Without anybody to ask, `ask` and `edit` are a no. What runs is still checked by itself. */
export async function askConsent(
  { name, config, pathsIn }: ConsentSubject,
  args: unknown,
  consenter: Consenter | undefined,
): Promise<Consent> {
  const decision = decideRunMode(config.run, args, await loadPatternTest(config.run), pathsIn)
  const refused = (reason: string): Consent => ({
    kind: 'refused',
    reason: `tool ${name}: ${reason}`,
    decision,
  })
  const run = (edited: unknown): Consent => ({ kind: 'run', arguments: edited, decision })
  switch (decision.mode) {
    case 'unattended':
      return run(args)
    case 'skip':
      return refused('its run mode is skip, so it was not run')
    case 'ask':
      if (!consenter) return refused(NOBODY)
      return (await consenter.confirms(`Run ${name}?\n${shownValues(args)}`))
        ? run(args)
        : refused('the call was declined')
    case 'edit': {
      if (!consenter) return refused(NOBODY)
      const edited = await consenter.edits(name, args)
      return edited === undefined ? refused('the call was declined') : run(edited)
    }
  }
}

const NOBODY = 'its run mode needs a person, and there is nobody to ask; run = "unattended" would allow it'
