import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { openAmbientAnchor } from '@cordon/files'
import {
  ApprovalStore,
  type ConversationRef,
  type LogWriter,
  openConversation,
  removeUnused,
  type Shelf,
  userConfigFile,
  userDataDir,
  useConversation,
} from '@cordon/workspace'
import { sessionMemoryOf } from '../approve/session.ts'
import { type ConversationChoice, findChosen, startConversation } from '../conversation/choose.ts'
import { readConversationLayer } from '../conversation/layer.ts'
import { type ConversationUser, shelfOf } from '../conversation/open.ts'
import { openAmbientProject, type Project, type ProjectOptions, requireWorkspace } from '../project.ts'
import { applyMounts, type MountEffects, type TakeBack } from './apply.ts'
import { confirmMounts, type MountAudience, rememberSecrets } from './confirm.ts'
import { MountFailedError } from './errors.ts'
import { linkerFor } from './linker.ts'
import type { MountPlace } from './place.ts'
import { type MountFlag, type MountPlan, planMounts } from './plan.ts'

export interface MountCommand {
  readonly options: Omit<ProjectOptions, 'conversation'>
  readonly user: ConversationUser & { readonly uid: number | undefined }
  readonly conversation: ConversationChoice
  readonly flags: readonly MountFlag[]
  readonly audience: MountAudience
}

export type MountOutcome =
  | { readonly kind: 'refused' }
  /** There was nothing to do, so nothing was begun. */
  | { readonly kind: 'nothing' }
  | {
      readonly kind: 'done'
      readonly conversation: ConversationRef
      readonly started: 'new' | 'known'
      readonly plan: MountPlan
      /** For a command that fails after it. Says what could not be taken back. */
      readonly takeBack: () => Promise<readonly string[]>
      /** How many events of the conversation are from this command so far. */
      readonly written: () => number
    }

/** `cordon mount add|rm`: validate everything, ask, and only then begin (SPEC 3.3). */
export async function changeMounts(command: MountCommand): Promise<MountOutcome> {
  const { options, user, flags, audience } = command
  const shelf = shelfOf(requireWorkspace(options), user)
  const known = await findChosen(shelf, user.session, command.conversation)
  const confirmed = planIn(await projectIn(options, shelf, known), options, flags)
  if (confirmed.steps.length === 0) return { kind: 'nothing' }
  if (!(await confirmMounts(confirmed, audience))) return { kind: 'refused' }
  const conversation = known ?? (await startConversation(shelf, user.session))
  let written = 0
  const wrote = (count: number): void => void (written += count)
  const { plan, back } = await changeIn(conversation, shelf, { ...command, wrote }, (holder) =>
    changeUnderLock(confirmed, holder),
  ).catch(async (error: unknown) => {
    // What went wrong first is what has to be told; an empty conversation does no harm.
    const maker = { session: user.session, events: written }
    if (!known) await removeUnused(shelf, conversation, maker).catch(() => undefined)
    throw error
  })
  await useConversation(shelf, user.session, conversation.id)
  if (audience.person) rememberSecrets(plan, sessionMemoryOf(shelf.workspace, user.session))
  const takeBack = (): Promise<readonly string[]> =>
    changeIn(conversation, shelf, { ...command, wrote }, (holder) => withEffects(holder, back))
  const started = known ? 'known' : 'new'
  return { kind: 'done', conversation, started, plan, takeBack, written: () => written }
}

async function changeIn<T>(
  conversation: ConversationRef,
  shelf: Shelf,
  { options, user, flags, wrote }: MountCommand & { readonly wrote: (events: number) => void },
  change: (holder: LockedConversation) => Promise<T>,
): Promise<T> {
  const writer = await openConversation(shelf, conversation, { wait: PATIENCE })
  const append: LogWriter['append'] = async (events) => {
    await writer.append(events)
    wrote(events.length)
  }
  try {
    return await change({ conversation, append, shelf, uid: user.uid, options, flags })
  } finally {
    await writer.close()
  }
}

/** Whoever holds the conversation's lock. */
interface LockedConversation {
  readonly conversation: ConversationRef
  readonly append: LogWriter['append']
  readonly shelf: Shelf
  readonly uid: number | undefined
  readonly options: MountCommand['options']
  readonly flags: readonly MountFlag[]
}

/**
 * The side effects, under the conversation's lock, so that what was read last is what is added to. Planned again: what
 * is done must be what was confirmed. All of it is done, or none is left.
 */
async function changeUnderLock(
  confirmed: MountPlan,
  holder: LockedConversation,
): Promise<{ readonly plan: MountPlan; readonly back: TakeBack }> {
  const { conversation, shelf, options, flags } = holder
  const project = await projectIn(options, shelf, conversation)
  const plan = planIn(project, options, flags)
  if (!isDeepStrictEqual(plan.steps, confirmed.steps))
    throw new MountFailedError('the configuration or the links changed meanwhile; run it again', [])
  return { plan, back: await withEffects(holder, (effects) => applyMounts(plan, effects)) }
}

async function withEffects<T>(
  { conversation, append, shelf, uid, options }: LockedConversation,
  work: (effects: MountEffects) => Promise<T>,
): Promise<T> {
  const { root, workspace } = await projectIn(options, shelf, conversation)
  const anchor = openAmbientAnchor(root.path)
  try {
    return await work({
      root,
      anchor,
      linker: linkerFor(options.surroundings.platform, anchor, root.path),
      store: new ApprovalStore(workspace, { holder: shelf.holder, uid, now: shelf.now }),
      append,
      now: shelf.now,
    })
  } finally {
    anchor.close()
  }
}

/** Other mounts take milliseconds; a query that holds the conversation for longer is named in the error. */
const PATIENCE = 10_000

const projectIn = async (
  options: MountCommand['options'],
  { workspace }: Pick<Shelf, 'workspace'>,
  ref: ConversationRef | undefined,
): Promise<Project> =>
  openAmbientProject({ ...options, conversation: ref && (await readConversationLayer(workspace, ref)) })

/** Validates the flags against a project, and changes nothing. Throws MountError with everything that is wrong. */
export function planIn(
  project: Project,
  { cwd, surroundings }: Pick<ProjectOptions, 'cwd' | 'surroundings'>,
  flags: readonly MountFlag[],
): MountPlan {
  const place: MountPlace = {
    root: project.root,
    cwd: realpathSync.native(cwd),
    home: realPlace(surroundings.home),
    storage: [userDataDir(surroundings), dirname(userConfigFile(surroundings))].map(realPlace),
  }
  const anchor = openAmbientAnchor(project.root.path)
  try {
    return planMounts(flags, { ...project, place, anchor })
  } finally {
    anchor.close()
  }
}

/** The real path, as far as it exists: where the home is reached by a link, a target in it must still be seen as in the home. */
function realPlace(path: string): string {
  const parent = dirname(path)
  try {
    return realpathSync.native(path)
  } catch {
    return parent === path ? path : join(realPlace(parent), basename(path))
  }
}
