import { type Anchor, FileError } from '@cordon/files'
import { type CanonicalPath, CordonError, type RelPath, type Root, show, splitEntry } from '@cordon/policy'
import type { ApprovalStore, ConfigEvent } from '@cordon/workspace'
import { restoringDelta } from './delta.ts'
import { MountChangedError, MountFailedError } from './errors.ts'
import { existingLink } from './link-state.ts'
import type { Linker } from './linker.ts'
import type { MountPlan, MountStep, UnmountStep } from './plan.ts'

/** What carrying out a plan may touch. The caller holds the conversation's lock: `append` is its writer. */
export interface MountEffects {
  readonly root: Root
  readonly anchor: Pick<Anchor, 'mkdir' | 'readlink' | 'rmdir' | 'stat' | 'symlink' | 'unlink'>
  readonly linker: Linker
  readonly store: Pick<ApprovalStore, 'approve' | 'read' | 'revoke'>
  readonly append: (events: readonly ConfigEvent[]) => Promise<void>
  readonly now: () => Date
}

/**
 * SPEC 3.3, the side effects. In an order in which a crash at any point leaves less access, never more (decision 0083):
 * approvals and links that go, links that come, the rules in one write, and last the approvals that make them grant.
 * The same command again completes what is missing. A failure takes back what was made.
 */
export async function applyMounts(plan: MountPlan, effects: MountEffects): Promise<TakeBack> {
  const done = new Undo()
  try {
    for (const step of plan.steps)
      await (step.kind === 'unmount' ? unmount(step, effects, done) : link(step, effects, done))
    await record(plan, effects, done)
    for (const step of plan.steps) if (step.kind === 'mount') await approve(step, plan, effects, done)
    return (later) => done.takeBack(later)
  } catch (error) {
    const left = await done.takeBack(effects)
    throw error instanceof CordonError ? new MountFailedError(error.message, left) : error
  }
}

/** Takes back what was done, also later, under another lock. Says what it could not. */
export type TakeBack = (effects: MountEffects) => Promise<string[]>

type Back = (effects: MountEffects) => void | Promise<void>

/** What to do to take back what was done, the last first. */
class Undo {
  readonly #steps: { readonly what: string; readonly back: Back }[] = []

  push(what: string, back: Back): void {
    this.#steps.push({ what, back })
  }

  /** Goes on after a failure, and says what is left. */
  async takeBack(effects: MountEffects): Promise<string[]> {
    const left: string[] = []
    for (const { what, back } of this.#steps.toReversed()) {
      try {
        await back(effects)
      } catch (error) {
        left.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    return left
  }
}

/** The approval goes first: from then on nothing is granted, wherever the link leads. */
async function unmount({ name, link: found }: UnmountStep, effects: MountEffects, done: Undo): Promise<void> {
  const { anchor, store } = effects
  for (const { canonical_target } of await store.revoke(name))
    done.push(`approve ${show(name)} again`, (then) =>
      then.store.approve(name, canonical_target as CanonicalPath),
    )
  if (found !== 'remove') return
  const text = anchor.readlink(name) // also refuses what is no link any more
  anchor.unlink(name)
  done.push(`link ${show(name)} again`, (then) => then.anchor.symlink(name, text))
}

function link(step: MountStep, { root, anchor, linker }: MountEffects, done: Undo): void {
  if (step.link === 'keep') return
  for (const dir of parentsOf(step.name)) {
    if (!makeDirectory(anchor, dir)) continue
    done.push(`remove the directory ${show(dir)}`, (then) => then.anchor.rmdir(dir))
  }
  linker.link(step.name, { target: step.target, kind: step.targetKind })
  done.push(`remove the link ${show(step.name)}`, (then) => then.anchor.unlink(step.name))
  const made = existingLink(anchor, root, step.name)
  if (made.kind !== 'link' || made.target !== step.target) throw new MountChangedError(step.name, step.target)
}

/** From the top. */
function parentsOf(name: RelPath): RelPath[] {
  const parent = splitEntry(name)?.parent
  const above = parent === undefined ? undefined : splitEntry(parent)
  return parent === undefined || !above ? [] : [...parentsOf(parent), parent]
}

/** True when it was made here. What is there must be a directory; if it is not, the link fails on it. */
function makeDirectory(anchor: MountEffects['anchor'], dir: RelPath): boolean {
  try {
    anchor.mkdir(dir)
    return true
  } catch (error) {
    if (error instanceof FileError && error.code === 'FILE_EXISTS') return false
    throw error
  }
}

/** All rules of the command in one append: all of them count, or none. */
async function record(plan: MountPlan, { append, now }: MountEffects, done: Undo): Promise<void> {
  if (plan.deltas.length === 0) return
  const event = (delta: ConfigEvent['delta']): ConfigEvent => ({
    kind: 'config',
    at: now().toISOString(),
    delta,
  })
  await append(plan.deltas.map(event))
  // The log only grows, so going back is one more event.
  done.push('restore the rules', (then) => then.append([event(restoringDelta(plan.before, plan.changed))]))
}

async function approve(
  { name, target }: MountStep,
  { steps }: MountPlan,
  { store }: MountEffects,
  done: Undo,
): Promise<void> {
  // Mounted and unmounted again by a later flag.
  if (steps.findLast((step) => step.name === name)?.kind !== 'mount') return
  const known = (await store.read()).lookup(name, target)
  if (known === 'approved') return
  await store.approve(name, target)
  done.push(`forget the approval of ${show(name)}`, async (then) => {
    if (known === 'unknown') await then.store.revoke(name)
    else await then.store.approve(name, known.was as CanonicalPath)
  })
}
