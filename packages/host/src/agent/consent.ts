import type { RunMode } from '@cordon/config'
import { loadPatternTest } from '../execute/patterns.ts'
import { decideRunMode } from '../execute/run-mode.ts'
import type { ShownCall } from './shown.ts'
import type { OpenTool } from './toolbox.ts'

/** What a person says to a call. */
export type Verdict =
  | { readonly kind: 'run' }
  /** From now on, in this conversation, whatever its arguments. */
  | { readonly kind: 'always' }
  | { readonly kind: 'edit' }
  /** No; and what the model is told instead of a result. */
  | { readonly kind: 'refuse'; readonly reply?: string }

/** Somebody at a terminal who decides about calls and results. */
export interface Decider {
  decides(call: ShownCall): Promise<Verdict>
  /** The text as it shall be; undefined: not at all. */
  edits(what: 'arguments' | 'result', text: string): Promise<string | undefined>
  /** Whether the model may have this result. */
  handsOver(tool: string, text: string): Promise<boolean>
}

export type Consent =
  | {
      readonly kind: 'run'
      readonly arguments: unknown
      readonly always: boolean
      /** The arguments are a person's now, and no longer the model's. */
      readonly isEdited: boolean
    }
  | { readonly kind: 'refused'; readonly outcome: 'denied' | 'skipped'; readonly reason: string }

/** SPEC 6.5: may this call run? Without anybody to ask, `ask` and `edit` are a no. */
export async function consentTo(
  tool: Pick<OpenTool, 'config' | 'isAllowed' | 'pathsIn'>,
  args: unknown,
  show: (mode: RunMode) => Promise<ShownCall>,
  decider: Decider | undefined,
): Promise<Consent> {
  const matches = await loadPatternTest(tool.config.run)
  const modeOf = (given: unknown): RunMode =>
    decideRunMode(tool.config.run, given, matches, tool.pathsIn).mode
  const asked = modeOf(args)
  const mode = asked === 'ask' && tool.isAllowed ? 'unattended' : asked
  const shown = await show(mode)
  const refused = (reason: string, outcome: 'denied' | 'skipped' = 'denied'): Consent => ({
    kind: 'refused',
    outcome,
    reason,
  })
  const run = (always: boolean): Consent => ({ kind: 'run', arguments: args, always, isEdited: false })
  if (mode === 'unattended') return run(false)
  if (mode === 'skip') return refused(SKIPPED, 'skipped')
  if (!decider) return refused(NOBODY)
  const verdict: Verdict = mode === 'edit' ? { kind: 'edit' } : await decider.decides(shown)
  switch (verdict.kind) {
    case 'run':
    case 'always':
      return run(verdict.kind === 'always')
    case 'edit': {
      const edited = await editArguments(args, decider)
      if (edited === undefined) return refused('the person declined the call')
      // Rules by argument are about what runs.
      if (modeOf(edited.arguments) === 'skip') return refused(SKIPPED, 'skipped')
      return { kind: 'run', ...edited, always: false, isEdited: true }
    }
    case 'refuse':
      return refused(
        verdict.reply === undefined
          ? 'the person declined the call'
          : `the person declined the call and says: ${verdict.reply}`,
      )
  }
}

const SKIPPED = 'its run mode is skip, so it was not run'

const NOBODY =
  'its run mode needs a person, and there is nobody to ask; run = "unattended" for this tool would allow it'

const MOST_EDITS = 3

/** What is no JSON is shown again: a slip of the finger is no refusal. */
async function editArguments(
  args: unknown,
  decider: Decider,
): Promise<{ readonly arguments: unknown } | undefined> {
  let text = JSON.stringify(args, undefined, 2)
  for (let attempt = 1; attempt <= MOST_EDITS; attempt++) {
    const edited = await decider.edits('arguments', text)
    if (edited === undefined || edited.trim() === '') return undefined
    try {
      return { arguments: JSON.parse(edited) as unknown }
    } catch {
      text = edited
    }
  }
  return undefined
}
