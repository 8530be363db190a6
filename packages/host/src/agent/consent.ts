import { formatKeyPath } from '@cordon/config'
import { shellWord, tomlString } from '@cordon/policy'
import type { ShownPath } from '@cordon/tools'
import type { CallMode } from '../execute/call-mode.ts'
import { unaskedSecret } from '../execute/consent.ts'
import type { FilesNow } from '../execute/files-now.ts'
import { judge } from '../execute/judged.ts'
import { type Foreseen, NOTHING_FORESEEN } from './foresee.ts'
import { hasTooManyLeads, TOO_MANY_PLACES } from '../execute/question-places.ts'
import { changedSince } from '../execute/shown-paths.ts'
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
type EditedText =
  | { readonly kind: 'text'; readonly text: string }
  /** There is none, it failed, or nothing was changed: no decision. Whoever edits was told. */
  | { readonly kind: 'nothing' }

/** Somebody at a terminal who decides about calls and results. */
export interface Decider {
  /** `problem`: what is wrong with what they wrote in their editor, or why they are asked again. */
  decides(call: ShownCall, problem?: string): Promise<Verdict>
  edits(what: 'arguments' | 'result', text: string): Promise<EditedText>
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
      /** What the yes was said to, or where it was decided about; undefined: neither. */
      readonly shown: readonly ShownPath[] | undefined
    }
  | { readonly kind: 'refused'; readonly outcome: 'denied' | 'skipped' | 'error'; readonly text: string }

/** `told`: who wrote the arguments is not asked about them. */
type Show = (look: Look, purpose?: 'asked' | 'told') => Promise<ShownCall>

/** All that is known of a call before it runs, of one moment. */
export interface Look {
  readonly arguments: unknown
  readonly isEdited: boolean
  readonly decided: CallMode
  readonly foreseen: Foreseen
  readonly files: FilesNow
  /** What a person is shown it against, or where it was decided about without one. Undefined: it is held to nothing. */
  readonly paths: readonly ShownPath[] | undefined
}

export type ConsentTool = Pick<
  OpenTool,
  | 'name'
  | 'source'
  | 'config'
  | 'isAllowed'
  | 'secretIn'
  | 'pathsIn'
  | 'filesNow'
  | 'foresee'
  | 'shownPaths'
  | 'placesOf'
  | 'secretAmong'
>

/**
 * SPEC 6.5: may this call run? Without anybody to ask, `ask` and `edit` are a no. A yes is to what was shown: what changed
 * while the question stood is shown and asked about again (decision 0408).
 */
export async function consentTo(
  tool: ConsentTool,
  args: unknown,
  show: Show,
  decider: Decider | undefined,
): Promise<Consent> {
  let asked: Asked = { arguments: args, isEdited: false }
  for (let times = 1; times <= MOST_ASKED; times++) {
    const consent = await consentOnce(tool, asked, show, decider)
    if (consent.kind !== 'changed') return consent
    asked = consent.asked
  }
  const text = `tool ${tool.name}: not run, because something else changes it all the time: ${asked.problem}`
  return { kind: 'refused', outcome: 'error', text }
}

/** What a server or an editor writes each second is never what was shown: nobody is asked about it for ever. */
const MOST_ASKED = 4

interface Asked extends Pick<Look, 'arguments' | 'isEdited'> {
  /** Why it is asked about again. */
  readonly problem?: string
}

async function consentOnce(
  tool: ConsentTool,
  asked: Asked,
  show: Show,
  decider: Decider | undefined,
): Promise<Consent | { readonly kind: 'changed'; readonly asked: Asked }> {
  const look = await lookAt(tool, asked)
  const { decided, foreseen } = look
  const { mode, secret } = decided
  const shown = await show(look)
  const refused = (reason: string, outcome: 'denied' | 'skipped' = 'denied'): Consent => ({
    kind: 'refused',
    outcome,
    text: `tool ${tool.name}: ${reason}`,
  })
  if (mode === 'unattended') return runAs(look)
  // Nobody is asked about what cannot succeed (decision 0366).
  if (foreseen.refusal !== undefined) return { kind: 'refused', outcome: 'error', text: foreseen.refusal }
  if (mode === 'skip') return refused(SKIPPED, 'skipped')
  if (!decider)
    return refused(`${secret === undefined ? NOBODY : unaskedSecret(secret)}\n${howToAllow(tool)}`)
  if (hasTooManyLeads(look.paths ?? [])) return refused(TOO_MANY_PLACES)
  let draft: Draft = { text: JSON.stringify(asked.arguments, undefined, 2) }
  let verdict: Verdict =
    mode === 'edit' && asked.problem === undefined
      ? { kind: 'edit' }
      : await decider.decides(shown, asked.problem)
  // A slip of the finger, or an editor that fails, is no refusal: the question is asked again.
  while (verdict.kind === 'edit') {
    const edited = await editArguments(tool, draft, decider)
    if (edited.kind === 'look') {
      // Rules by argument are about what runs.
      if (edited.look.decided.mode === 'skip') return refused(SKIPPED, 'skipped')
      const changes = changedSince(look.paths ?? [], edited.look.paths ?? [])
      if (changes.length > 0) return changed(edited.look, changes)
      await show(edited.look, 'told')
      return { ...runAs(edited.look), arguments: edited.look.arguments }
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
  const changes = changedSince(look.paths ?? [], tool.shownPaths(asked.arguments, tool.filesNow()))
  if (changes.length > 0) return changed(asked, changes)
  // What may be secret is asked about each time, whatever was answered before (decision 0365); what is edited, too.
  const always = verdict.kind === 'always' && mode === 'ask' && secret === undefined
  return { ...runAs(look), always }
}

/** Where nobody is asked, no file is looked at. */
async function lookAt(tool: ConsentTool, { arguments: args, isEdited }: Asked): Promise<Look> {
  const { decided, files, places } = await judge(tool, args)
  const { mode } = decided
  const isForeseen = isEdited || mode === 'ask'
  return {
    arguments: args,
    isEdited,
    decided,
    files,
    foreseen: isForeseen ? await tool.foresee(args, files) : NOTHING_FORESEEN,
    paths: isForeseen || mode === 'edit' ? tool.shownPaths(args, files) : places,
  }
}

const runAs = ({
  arguments: args,
  isEdited,
  decided,
  foreseen,
  paths,
}: Look): Extract<Consent, { kind: 'run' }> => ({
  kind: 'run',
  // One question: it said what is replaced.
  arguments: foreseen.replaces ? { ...(args as object), overwrite: true } : args,
  always: false,
  isEdited,
  secrets: decided.secrets,
  shown: paths,
})

const changed = ({ arguments: args, isEdited }: Asked, changes: readonly string[]) =>
  ({ kind: 'changed', asked: { arguments: args, isEdited, problem: changes.join('\n') } }) as const

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

type Edited =
  | { readonly kind: 'look'; readonly look: Look }
  | { readonly kind: 'again'; readonly draft: Draft }

/** What does not fit is there again at the next edit. */
async function editArguments(tool: ConsentTool, draft: Draft, decider: Decider): Promise<Edited> {
  const edited = await decider.edits('arguments', draft.text)
  if (edited.kind === 'nothing') return { kind: 'again', draft: { text: draft.text } }
  const { text } = edited
  const again = (problem: string): Edited => ({ kind: 'again', draft: { text, problem } })
  try {
    const look = await lookAt(tool, { arguments: JSON.parse(text) as unknown, isEdited: true })
    const { refusal } = look.foreseen
    return refusal === undefined ? { kind: 'look', look } : again(refusal)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return again(`what you saved is not JSON: ${error.message}`)
  }
}
