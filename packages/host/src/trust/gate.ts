import { join } from 'node:path'
import {
  type AmbientSources,
  ConfigError,
  type ConfigProblem,
  formatKeyPath,
  formatOrigin,
  type LoadedConfig,
  type Source,
} from '@cordon/config'
import { CordonError, shellWord, show } from '@cordon/policy'
import { type Approvals, ApprovalStore, type Surroundings, type Workspace } from '@cordon/workspace'
import { BUILT_IN_TOOLS } from '../built-in-tools.ts'
import type { ConversationLayer } from '../conversation/layer.ts'
import type { GuardSurvey } from '../guard/survey.ts'
import { askToTrust, type Reviewer } from './ask.ts'
import { withGuarded } from './guarded.ts'
import { admittedSources, isOfFiles, itemsOf, sortItems, type TrustItem, type Waiting } from './items.ts'

/** How a command meets files that nobody has trusted as they are (SPEC 2.1). */
export interface TrustTerms {
  /** `files`: it asks, and cannot go on without them. `nothing`: it never asks, and leaves out what waits. */
  readonly needs: 'files' | 'nothing'
  readonly pid: number
  /** Called when there is something to ask. Undefined: there is nobody to ask. */
  readonly reviewer: () => Reviewer | undefined
}

export interface Gate {
  /** What counts: a person's words, and what is trusted of the files. Without the conversation. */
  readonly sources: readonly Source[]
  /** The conversation's sources that count. */
  readonly conversation: readonly Source[]
  readonly waiting: readonly Waiting[]
  /** Files that could not even be read, and were left out. */
  readonly unreadable: readonly ConfigProblem[]
  /** What a person must know: what was left out, and what is wrong with the store. */
  readonly notices: readonly string[]
}

/** For who opens a project and says nothing about trust: the files are needed, and nobody can be asked. */
const STRICT: TrustTerms = { needs: 'files', pid: 0, reviewer: () => undefined }

/** SPEC 2.1: lets through what counts. Text that is not trusted is not looked at, beyond its digest. */
export async function passGate(
  workspace: Workspace,
  surroundings: Pick<Surroundings, 'uid'>,
  found: AmbientSources,
  conversation: ConversationLayer | undefined,
  guard: GuardSurvey,
  terms: TrustTerms = STRICT,
): Promise<Gate> {
  const unreadable = found.problems.filter(isOfFiles)
  // Without the files, what is wrong with one of them is no obstacle; what a person wrote always is.
  const inTheWay = terms.needs === 'files' ? found.problems : found.problems.filter((one) => !isOfFiles(one))
  if (inTheWay.length > 0) throw new ConfigError(found.problems)

  const items = itemsOf(found.sources, conversation)
  const store = storeOf(workspace, surroundings, terms)
  const approvals = items.length === 0 ? undefined : await store.read()
  const { trusted, waiting } = approvals ? sortItems(items, approvals) : { trusted: [], waiting: [] }
  const needed = waiting.filter(({ typed }) => terms.needs === 'files' || typed)
  const reviewer = needed.length === 0 ? undefined : terms.reviewer()
  const counting = [BUILT_IN_TOOLS, ...admittedSources(found, trusted)]
  const refused = reviewer
    ? await ask(withGuarded(needed, guard, workspace, counting), store, reviewer, counting)
    : needed
  if (refused.length > 0)
    throw new NotTrustedError(refused, {
      root: workspace.root,
      warnings: approvals?.warnings ?? [],
      asked: reviewer !== undefined,
    })
  const left = waiting.filter((item) => !needed.includes(item))

  const admitted = [...trusted, ...waiting.filter((item) => !left.includes(item))]
  return {
    sources: admittedSources(found, admitted),
    // What this user sealed comes after what came with the files, and so wins.
    conversation: [...foreignOf(conversation, admitted), ...(conversation?.sources ?? [])],
    waiting: left,
    unreadable,
    notices: [
      ...(approvals?.warnings ?? []),
      ...(left.length === 0
        ? []
        : [
            `not trusted, and not in effect: ${left.map(({ path }) => show(path)).join(', ')}; see \`cordon trust\``,
          ]),
      ...unreadable.map(unreadableNotice),
    ],
  }
}

/** Trust is no help there: what is wrong with the file, and what to do about it, is said wherever it is left out. */
const unreadableNotice = ({ origin, message, fix }: ConfigProblem): string =>
  `not in effect: ${formatOrigin(origin)}: ${message}${fix === undefined ? '' : `\n  fix: ${fix}`}`

/** Whether all that the files say counts. If not, what is missing of a tool may be in the rest (decision 0262). */
export const isWhole = ({ waiting, unreadable }: Pick<Gate, 'waiting' | 'unreadable'>): boolean =>
  waiting.length + unreadable.length === 0

/** What was left out of the configuration because what waits may say the rest of it. */
export const incompleteNotices = ({ incomplete }: Pick<LoadedConfig, 'incomplete'>): readonly string[] =>
  incomplete.length === 0
    ? []
    : [
        'not complete without what waits, and not in effect: ' +
          incomplete
            .map(({ entry, problem }) => `\`${formatKeyPath(entry)}\` (${formatOrigin(problem.origin)})`)
            .join(', '),
      ]

export const storeOf = (
  workspace: Workspace,
  { uid }: Pick<Surroundings, 'uid'>,
  { pid }: Pick<TrustTerms, 'pid'>,
): ApprovalStore =>
  new ApprovalStore(workspace, { holder: { pid, command: 'cordon' }, uid, now: () => new Date() })

/** Returns what is still not trusted. The first no ends it: the command will not go on anyway. A yes is durable first. */
async function ask(
  waiting: readonly Waiting[],
  store: Pick<ApprovalStore, 'trust'>,
  reviewer: Reviewer,
  counting: readonly Source[],
): Promise<readonly Waiting[]> {
  for (const [i, item] of waiting.entries()) {
    const before = waiting.slice(0, i).flatMap((each) => each.sources)
    const others = { counting: [...counting, ...before], all: i === waiting.length - 1 }
    if (!(await askToTrust(item, reviewer, others))) return waiting.slice(i)
    await store.trust([item])
  }
  return []
}

const foreignOf = (
  conversation: ConversationLayer | undefined,
  admitted: readonly TrustItem[],
): readonly Source[] => {
  const foreign = conversation?.foreign
  return foreign && admitted.some(({ path }) => path === foreign.name) ? foreign.sources : []
}

/** The command needs what the files say, and nobody has trusted it (SPEC 2.1). Nothing of it was used. */
export class NotTrustedError extends CordonError {
  readonly code = 'NOT_TRUSTED'
  readonly waiting: readonly { readonly path: string; readonly state: 'new' | 'changed' }[]
  constructor(
    waiting: readonly Waiting[],
    {
      root,
      warnings,
      asked,
    }: Pick<Approvals, 'warnings'> & { readonly root: string; readonly asked: boolean },
  ) {
    const states = waiting.map(({ path, was }) => ({
      path,
      state: was ? ('changed' as const) : ('new' as const),
    }))
    super(
      [
        'nobody has trusted what these files of the workspace say, and this command needs it',
        ...states.map(({ path, state }) => `  ${show(path)} (${WORDS[state]})`),
        ...warnings.map((warning) => `  because: ${warning}`),
        asked ? '  not trusted; nothing changed' : fixOf(waiting, root),
      ].join('\n'),
    )
    this.waiting = states
  }
}

/** A file that only `--cfg` names is not looked at by `cordon trust` alone. */
function fixOf(waiting: readonly Waiting[], root: string): string {
  const typed = waiting
    .filter((item) => item.typed)
    .map(({ path }) => ` --cfg ${shellWord(join(root, path))}`)
  const options = typed.join('')
  return (
    `  fix: run \`cordon trust${options}\`, which shows what they would grant; ` +
    `without a terminal \`cordon trust show${options}\`, then \`cordon trust --yes${options}\``
  )
}

const WORDS = { new: 'new', changed: 'changed since it was trusted' } as const
