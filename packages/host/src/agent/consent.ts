import { formatKeyPath } from '@cordon/config'
import { shellWord, tomlString } from '@cordon/policy'
import { type CallMode, decideCallMode } from '../execute/call-mode.ts'
import { unaskedSecret } from '../execute/consent.ts'
import { type Foreseen, NOTHING_FORESEEN } from './foresee.ts'
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

/** What came of somebody's editor. */
type Edited =
  | { readonly kind: 'text'; readonly text: string }
  /** There is none, it failed, or nothing was changed: no decision. Whoever edits was told. */
  | { readonly kind: 'nothing' }

/** Somebody at a terminal who decides about calls and results. */
export interface Decider {
  /** `problem`: what is wrong with what they wrote in their editor. */
  decides(call: ShownCall, problem?: string): Promise<Verdict>
  edits(what: 'arguments' | 'result', text: string): Promise<Edited>
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
      /** SPEC 4.9: whether the result may hold what may be secret. */
      readonly secrets: 'take' | 'leave out'
    }
  | { readonly kind: 'refused'; readonly outcome: 'denied' | 'skipped' | 'error'; readonly text: string }

/** SPEC 6.5: may this call run? Without anybody to ask, `ask` and `edit` are a no. */
export async function consentTo(
  tool: Pick<OpenTool, 'name' | 'source' | 'config' | 'isAllowed' | 'secretIn' | 'pathsIn' | 'foresee'>,
  args: unknown,
  show: (mode: CallMode, foreseen: Foreseen) => Promise<ShownCall>,
  decider: Decider | undefined,
): Promise<Consent> {
  const decided = await decideCallMode(tool, args)
  const { mode, secret } = decided
  const foreseen = mode === 'ask' ? await tool.foresee(args) : NOTHING_FORESEEN
  const shown = await show(decided, foreseen)
  const refused = (reason: string, outcome: 'denied' | 'skipped' = 'denied'): Consent => ({
    kind: 'refused',
    outcome,
    text: `tool ${tool.name}: ${reason}`,
  })
  const run = (always: boolean): Consent => ({
    kind: 'run',
    // One question: it said what is replaced.
    arguments: foreseen.replaces ? { ...(args as object), overwrite: true } : args,
    always,
    isEdited: false,
    secrets: decided.secrets,
  })
  if (mode === 'unattended') return run(false)
  // Nobody is asked about what cannot succeed (decision 0366).
  if (foreseen.refusal !== undefined) return { kind: 'refused', outcome: 'error', text: foreseen.refusal }
  if (mode === 'skip') return refused(SKIPPED, 'skipped')
  if (!decider)
    return refused(`${secret === undefined ? NOBODY : unaskedSecret(secret)}\n${howToAllow(tool)}`)
  let draft: Draft = { text: JSON.stringify(args, undefined, 2) }
  let verdict: Verdict = mode === 'edit' ? { kind: 'edit' } : await decider.decides(shown)
  // A slip of the finger, or an editor that fails, is no refusal: the question is asked again.
  while (verdict.kind === 'edit') {
    const edited = await editArguments(tool, draft, decider)
    if (edited.kind === 'arguments') {
      // Rules by argument are about what runs.
      const { mode: now, secrets } = await decideCallMode(tool, edited.value)
      if (now === 'skip') return refused(SKIPPED, 'skipped')
      return { kind: 'run', arguments: edited.value, always: false, isEdited: true, secrets }
    }
    draft = edited.draft
    verdict = await decider.decides(shown, draft.problem)
  }
  if (verdict.kind === 'refuse')
    return refused(
      verdict.reply === undefined
        ? 'the person declined the call'
        : `the person declined the call and says: ${verdict.reply}`,
    )
  // What may be secret is asked about each time, whatever was answered before (decision 0365); what is edited, too.
  return run(verdict.kind === 'always' && mode === 'ask' && secret === undefined)
}

const SKIPPED = 'its run mode is skip, so it was not run'

const NOBODY = 'its run mode needs a person, and there is nobody to ask'

/** SPEC 6.5: for a script, as it is pasted. A tool that no layer knows by name needs to be said where it comes from. */
function howToAllow({ name, source, config }: Pick<OpenTool, 'name' | 'source' | 'config'>): string {
  const key = ['conversation', 'tools', name]
  const isKnown = source === 'local' || source === 'builtin' || 'source' in config
  const setting = isKnown
    ? `${formatKeyPath([...key, 'run'])}=unattended`
    : `${formatKeyPath(key)}={ source = ${tomlString(source)}, run = "unattended" }`
  return `to allow it: --cfg ${shellWord(setting)}`
}

/** What a person wrote so far, and what is wrong with it. */
interface Draft {
  readonly text: string
  readonly problem?: string
}

type EditedArguments =
  | { readonly kind: 'arguments'; readonly value: unknown }
  | { readonly kind: 'again'; readonly draft: Draft }

/** What does not fit is there again at the next edit. */
async function editArguments(
  tool: Pick<OpenTool, 'foresee'>,
  draft: Draft,
  decider: Decider,
): Promise<EditedArguments> {
  const edited = await decider.edits('arguments', draft.text)
  if (edited.kind === 'nothing') return { kind: 'again', draft: { text: draft.text } }
  const { text } = edited
  const again = (problem: string): EditedArguments => ({ kind: 'again', draft: { text, problem } })
  try {
    const value: unknown = JSON.parse(text)
    const { refusal } = await tool.foresee(value)
    return refusal === undefined ? { kind: 'arguments', value } : again(refusal)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return again(`what you saved is not JSON: ${error.message}`)
  }
}
