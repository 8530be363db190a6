import { basename, dirname, join } from 'node:path'
import { allowNetFlag, below, type Capability, CordonError, FsIndex, shellWord } from '@cordon/policy'
import { buildEnvironment, type KernelReport, type Plan, probeKernel } from '@cordon/sandbox'
import { WRITING } from '../compile/names.ts'
import { isSecretRule } from '../compile/own-secrets.ts'
import { planFor } from '../confine/plan.ts'
import { absolutePath, isThere, typedPath, wayOut, whyNeverGranted, whyOwn } from '../outside/place.ts'
import { realName } from '../real-name.ts'
import type { Chosen } from '../run/choose.ts'
import { type Answer, answer } from './answer.ts'
import { enforce, type RunPlace } from './enforced.ts'
import { askedPlace, byAddress, type LookUp, whyNoHosts, wishFor } from './network.ts'
import { whyNotThere } from './never.ts'
import { toldNotHeld } from './not-held.ts'
import { answerOutside, flagInside, flagPlace } from './outside.ts'
import { whyNotPermitted } from './permissions.ts'
import { whyPinned } from './pinned.ts'
import type { Question } from './question.ts'
import type { Why } from './why.ts'
import { asInside } from './without-rules.ts'

/** What is asked about of a run: the policy that it would have, and the one that it would have with a flag more. */
export interface RunAsked {
  readonly chosen: Chosen
  /** Throws where `run` would refuse the flag. */
  readonly withFlag: (flag: Flag, path: string) => Promise<Chosen>
  /** Those that the run is given already. */
  readonly options?: string
}

type Flag = 'read' | 'write' | 'execute'

interface RunMeans {
  readonly kernel?: () => KernelReport
  readonly lookUp?: LookUp
}

/**
 * `cordon why run …` and of a shipped profile: what a `cordon run` here would have, and the flag that would change it
 * (SPEC 4.7, 4.8).
 */
export async function whyRun(
  asked: RunAsked,
  question: Question,
  place: RunPlace,
  { kernel = probeKernel, lookUp }: RunMeans = {},
): Promise<Why> {
  const { chosen, options = '' } = asked
  const { project, policy } = chosen
  const told = (found: Answer, flag: string | undefined, notes: readonly string[] = []): Why => ({
    ...found,
    subject: chosen.label,
    notes,
    fix: undefined,
    ...(found.allowed || flag === undefined ? {} : { command: `cordon run ${options}${flag} -- COMMAND` }),
  })
  switch (question.axis) {
    case 'env':
      return told(answer(project.root, policy, question), `--env ${shellWord(question.target)}`)
    case 'net': {
      const { found, flag, notes } = askNet(chosen, question, kernel, lookUp)
      return told(found, flag, notes)
    }
    case 'fs': {
      const { found: ruled, path, isInside } = askFs(chosen, question, place, kernel)
      const never = whyNotThere({ ...ruled, place: ruled.place ?? ruled.canonical }, project.root)
      if (never !== undefined)
        return told({ ...ruled, allowed: false, rule: undefined, others: [], because: never }, undefined)
      const pinned = ruled.allowed ? pinnedIn(chosen, ruled, place, kernel) : undefined
      const found = pinned === undefined ? ruled : { ...ruled, allowed: false, because: pinned }
      if (found.allowed || found.canonical === undefined) return told(found, undefined)
      const { flag, notes = [] } = isInside
        ? await flagWithin(asked, question, path, place, kernel)
        : flagElsewhere(chosen, question, found, path)
      return told(found, flag && `--${FLAGS[question.capability]} ${typedPath(flag, place.home)}`, notes)
    }
  }
}

type FsQuestion = Question & { readonly axis: 'fs' }

interface Asked {
  readonly found: Answer
  /** What was named, absolute. */
  readonly path: string
  readonly isInside: boolean
}

function askFs(chosen: Chosen, question: FsQuestion, place: RunPlace, kernel: () => KernelReport): Asked {
  const { project, policy } = chosen
  const { root } = project
  const path = asInside(absolutePath(question.target, place), place.cwd)
  const named = below(root.path, path, root.foldCase)
  const ruled = named === undefined ? undefined : answer(root, policy, { ...question, target: named })
  // What leaves the workspace by a link is for the kernel where it leads: no tool asks by the name.
  const led = ruled && !ruled.canonical && !ruled.rule ? leadsTo(path, question.capability) : undefined
  const inside = led === undefined ? named : below(root.path, led, root.foldCase)
  return ruled && inside !== undefined
    ? { found: { ...toldNotHeld(ruled, policy, root, kernel), question }, path, isInside: true }
    : {
        found: answerOutside(chosen, question, led ?? path, { home: place.home, kernel }),
        path,
        isInside: false,
      }
}

interface FoundFlag {
  /** What it names. Undefined: no flag helps. */
  readonly flag?: string | undefined
  readonly notes?: readonly string[]
}

/**
 * The path as it really is, else the directory around it: what is removed is a matter of that one. Each is tried, on the rules and
 * on the plan; one that takes something else away is none that gives.
 */
async function flagWithin(
  { chosen, withFlag }: RunAsked,
  question: FsQuestion,
  path: string,
  place: RunPlace,
  kernel: () => KernelReport,
): Promise<FoundFlag> {
  const { capability } = question
  const { root, guard } = chosen.project
  const real = leadsTo(path, capability) ?? path
  const never = whyOwn(real, { writes: WRITING.has(capability), guard })
  if (never !== undefined) return { notes: isThere(path) ? [`${NO_FLAG}${never}`] : [] }
  for (const each of [real, dirname(real)]) {
    const flag = flagInside(capability, each)
    if (flag === undefined || below(root.path, flag, root.foldCase) === undefined) continue
    const tried = await orRefused(withFlag(FLAGS[capability], flag))
    if (tried && takesNothing(chosen, tried) && works(tried, question, place, kernel)) return { flag }
  }
  return WRITING.has(capability) ? { notes: [`${NO_FLAG}it is for you to do, without Cordon`] } : {}
}

async function orRefused(tried: Promise<Chosen>): Promise<Chosen | undefined> {
  try {
    return await tried
  } catch (error) {
    if (error instanceof CordonError) return undefined // `run` would say the same
    throw error
  }
}

/** SPEC 4.8: a flag for what is not guarded declares the axis, and then the rest of the workspace is gone. */
function takesNothing({ policy, project: { root } }: Chosen, { policy: after }: Chosen): boolean {
  const index = new FsIndex(after.fs, root.foldCase)
  return policy.fs.every(({ path, grants }) =>
    [...grants].every((each) => index.governing(path)?.grants.has(each)),
  )
}

function works(chosen: Chosen, question: FsQuestion, place: RunPlace, kernel: () => KernelReport): boolean {
  const { found } = askFs(chosen, question, place, kernel)
  if (chosen.sandbox.mode === 'off' || !found.allowed) return found.allowed
  const plan = (): Plan => planOfRun(chosen, place, kernel)
  return enforce(found, { plan, program: 'any', way: [] }).verdict === 'works'
}

/** What keeps an entry where it is although the rules let it go. */
function pinnedIn(
  chosen: Chosen,
  { question, place, canonical }: Answer,
  at: RunPlace,
  kernel: () => KernelReport,
): string | undefined {
  const path = place ?? canonical
  if (question.capability !== 'delete' || path === undefined || chosen.sandbox.mode === 'off')
    return undefined
  return whyPinned(path, planOfRun(chosen, at, kernel))
}

function planOfRun(
  { project, policy, outside, sandbox }: Chosen,
  { cwd, home, env }: RunPlace,
  kernel: () => KernelReport,
): Plan {
  const request = { argv: ['/bin/sh'] as const, cwd, root: project.root, home, env, policy, unfinished: '' }
  return planFor(kernel(), { ...request, outside, sandbox }, buildEnvironment(policy, env))
}

/** A flag grants what exists: the path, or for what is made or removed there the directory above it. */
function flagElsewhere(
  { project: { guard, root } }: Chosen,
  { capability }: FsQuestion,
  { canonical, rule }: Answer,
  path: string,
): FoundFlag {
  // Of a way through more links, the flag names the place by that way, so that they are there as well.
  const flag = flagPlace(capability, wayOut(path, root.path) ?? canonical ?? path)
  if (flag === undefined) return {}
  const wanted = { writes: WRITING.has(capability), guard }
  // What lies in Cordon's own is no matter of the directory around it.
  const never = whyNeverGranted(realName(flag) ?? flag, wanted) ?? whyOwn(canonical ?? path, wanted)
  const isSaid = rule?.axis === 'fs' && isSecretRule(rule.rule)
  if (never !== undefined) return { notes: isSaid || !isThere(path) ? [] : [`${NO_FLAG}${never}`] }
  const closed = whyNotPermitted(capability, flag)
  return closed === undefined ? { flag } : { notes: [`${NO_FLAG}${closed}`] }
}

const NO_FLAG = 'no flag grants it: '

function askNet(
  { project, policy, sandbox }: Chosen,
  question: Question & { readonly axis: 'net' },
  kernel: () => KernelReport,
  lookUp: LookUp | undefined,
): { readonly found: Answer; readonly flag?: string; readonly notes: readonly string[] } {
  const asked = answer(project.root, policy, question)
  const never = sandbox.mode === 'off' ? undefined : whyNoHosts(kernel())
  // Nothing is started with a rule that allows a host, so no host is reached, and no flag helps.
  if (never !== undefined)
    return {
      found: { ...asked, allowed: false, because: asked.allowed ? never : asked.because },
      notes: asked.allowed ? [] : [never],
    }
  const { found, notes, wish } = byAddress(asked, policy.net, lookUp)
  const target = wish ?? askedPlace(question.target)
  // SPEC 1.5: without a port such a rule allows nothing.
  if (target.port === undefined && !found.allowed)
    return {
      found,
      notes: [`a rule for ${target.scheme} needs a port: ask for ${target.scheme}://${target.host}:PORT`],
    }
  // A name that is denied, and leads to an address that is: one flag alone would be refused.
  const named = wish && !asked.allowed ? `${allowNetFlag(wishFor(askedPlace(question.target)))} ` : ''
  return { found, flag: `${named}${allowNetFlag(wishFor(target))}`, notes }
}

/** SPEC 1.3: of what is removed the entry counts, and not what it leads to. */
function leadsTo(path: string, capability: Capability): string | undefined {
  if (capability !== 'delete') return realName(path)
  const parent = realName(dirname(path))
  return parent && join(parent, basename(path))
}

const FLAGS: Record<Capability, Flag> = {
  read: 'read',
  create: 'write',
  update: 'write',
  delete: 'write',
  execute: 'execute',
}
