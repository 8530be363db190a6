import { type AccessPolicy, below, type Capability, type FsRule, show } from '@cordon/policy'
import {
  assumeKernel,
  buildEnvironment,
  type KernelReport,
  LIMITS,
  type LinkOnTheWay,
  nameOf,
  type Plan,
  UnenforceableError,
} from '@cordon/sandbox'
import { boundaryFor, isReplaceable, isShipped, NOT_REPLACEABLE } from '../compile/boundary.ts'
import { WRITING } from '../compile/names.ts'
import type { Subject } from '../compile/subject.ts'
import { planFor } from '../confine/plan.ts'
import { type Installation, shippedTool } from '../execute/shipped.ts'
import type { Project } from '../project.ts'
import type { Answer } from './answer.ts'
import { whyPinned } from './pinned.ts'

/** Where a subject would be started. */
export interface RunPlace {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where Cordon's own tools are started from. */
  readonly installation?: Installation
}

/**
 * The very plan that a call would run under; a tool that reads has less to write (decision 0253). `exactly`: the one of
 * `cordon run --tool`, which starts any program. Throws UnenforceableError under `enforce`.
 */
export function planOf(
  project: Pick<Project, 'root' | 'guard' | 'loaded'>,
  subject: Subject,
  policy: AccessPolicy,
  { cwd, home, env, installation, kernel = assumeKernel(), exactly }: PlanPlace,
): Plan {
  const { root, loaded } = project
  const boundary = exactly ? undefined : boundaryFor(project, subject, policy)
  const shipped =
    installation && isShipped(loaded.config, subject) ? shippedTool(subject.name, installation) : undefined
  const place = { cwd, root, home, env, own: shipped?.own }
  const request = { argv: ['/bin/sh'] as const, ...place, policy, boundary, unfinished: '' }
  return planFor(kernel, { ...request, sandbox: loaded.config.sandbox }, buildEnvironment(policy, env))
}

interface PlanPlace extends RunPlace {
  readonly kernel?: KernelReport
  readonly exactly?: true
}

/** Which rules keep a plan from being made, by their paths; undefined: none does. */
export function whyNoPlan(plan: () => Plan): string | undefined {
  try {
    plan()
    return undefined
  } catch (error) {
    if (!(error instanceof UnenforceableError)) throw error
    return pathsOf(error)
  }
}

/** What the kernel makes of what the rules grant. */
export interface Enforced {
  readonly verdict: 'works' | 'refused'
  /** Why, and what else there is to know. */
  readonly notes: readonly string[]
}

const WORKS: Enforced = { verdict: 'works', notes: [] }

export interface Enforcement {
  /** Makes the plan, or throws that there is none. */
  readonly plan: () => Plan
  /** `ours`: a shipped tool that writes, and holds the rest itself; `reads`: one that only reads. */
  readonly program: 'ours' | 'reads' | 'any'
  /** The links on the way to what was named. */
  readonly way: readonly LinkOnTheWay[]
}

/** SPEC 4.7 and 4.12: what the plan makes of an answer of the rules (decision 0178). */
export function enforce({ question, allowed, place }: Answer, { plan, program, way }: Enforcement): Enforced {
  if (question.axis !== 'fs' || !allowed || place === undefined) return WORKS
  try {
    const made = plan()
    if (!way.every(({ path }) => isSeen(path, made))) return { verdict: 'refused', notes: [UNSEEN] }
    // Cordon's own tools take a name apart by themselves.
    const closed = program === 'any' ? closedOn(way, made) : undefined
    if (closed !== undefined) return { verdict: 'refused', notes: [whyClosed(closed, made)] }
    const region = regionOf(place, made)
    if (!region) return WORKS
    if (holdsOwn(place, question.capability, made)) return { verdict: 'refused', notes: [RUNS_FROM_THERE] }
    const pinned = question.capability === 'delete' && !isMounted(region, place) && whyPinned(place, made)
    if (pinned) return { verdict: 'refused', notes: [pinned] }
    if (program === 'ours') return enforceOurs(region, question.capability, place, made)
    return enforceAny(region, question.capability, place, made)
  } catch (error) {
    if (!(error instanceof UnenforceableError)) throw error
    return { verdict: 'refused', notes: [`${CANNOT}${pathsOf(error)}`] }
  }
}

/**
 * Two mounts may lead to one place, or one into the other. What a rule withholds by one name, the kernel grants by another:
 * it sees the place. That rule; undefined: none does.
 */
export function reachedBy(
  { question, allowed, place }: Pick<Answer, 'question' | 'allowed'> & { readonly place: string | undefined },
  { plan, way }: Pick<Enforcement, 'plan' | 'way'>,
): FsRule | undefined {
  if (question.axis !== 'fs' || allowed || place === undefined) return undefined
  try {
    const made = plan()
    const region = regionOf(place, made)
    if (!region?.grants.has(question.capability) || !way.every(({ path }) => isSeen(path, made)))
      return undefined
    if (closedOn(way, made) !== undefined) return undefined
    // Whether the place itself is made or removed is decided by what lies around it.
    const isEntry = question.capability === 'create' || question.capability === 'delete'
    const isHeld = isMounted(region, place) || whyPinned(place, made) !== undefined
    return isEntry && isHeld ? undefined : region.rules[0]
  } catch (error) {
    if (!(error instanceof UnenforceableError)) throw error
    return undefined
  }
}

type HeldRegion = Plan['regions'][number]

const regionOf = (place: string, { regions }: Plan): HeldRegion | undefined =>
  regions.findLast(({ path }) => below(path, place) !== undefined)

/** Nothing can be mounted on what is not there: until it is made, what is around it decides. */
const existingAbove = (place: string, { regions }: Plan): HeldRegion | undefined =>
  regions.findLast(({ path, kind }) => kind !== 'missing' && below(path, place) !== undefined)

/**
 * A link is visible where its directory is, or where a rule's own path leads over it. What no rule reaches is there only if it is
 * the machine's. Without namespaces nothing is hidden.
 */
function isSeen(link: string, plan: Plan): boolean {
  const { isolation, survey } = plan
  if (isolation === 'landlock-only' || survey.links.some(({ path }) => path === link)) return true
  const region = regionOf(link, plan)
  if (region) return !region.hold.cover
  return [...survey.system, ...survey.runtime].some(({ path }) => below(path, link) !== undefined)
}

/**
 * `d/../a` leads through `d`: inside, that has to be there, and not be covered. The first that is not. A link that is only there
 * for a rule's sake leads through nothing it can do without (decision 0177).
 */
function closedOn(way: Enforcement['way'], plan: Plan): string | undefined {
  const { isolation, regions, survey } = plan
  if (isolation === 'landlock-only') return undefined
  const shown = [
    ...regions.flatMap(({ path, kind, hold }) => (hold.cover || kind === 'missing' ? [] : [path])),
    survey.home.canonical,
    ...survey.scratch,
  ]
  const isWalked = (dir: string): boolean =>
    isSeen(dir, plan) || shown.some((each) => below(dir, each) !== undefined)
  return way
    .filter(({ path }) => regionOf(path, plan)?.hold.cover === false)
    .flatMap(({ left }) => left)
    .find((dir) => !isWalked(dir))
}

function whyClosed(dir: string, { survey: { root } }: Plan): string {
  const name = below(root.canonical, dir)
  return `the way leads over a link through ${name === undefined ? 'a directory' : show(name)}, which no rule shows`
}

/** What a shipped tool is started from is mounted on top of what its rules say: nothing of it is changed or moved meanwhile. */
const holdsOwn = (place: string, capability: Capability, { survey, isolation }: Plan): boolean =>
  isolation === 'namespaces' &&
  survey.runtime.some(
    (entry) =>
      entry.kind === 'bind' &&
      entry.own === true &&
      ((WRITING.has(capability) && below(entry.path, place) !== undefined) ||
        (capability === 'delete' && below(place, entry.path) !== undefined)),
  )

/** A region of its own is a mount point: it is not removed, nor replaced. */
const isMounted = ({ path, kind, apart }: HeldRegion, place: string): boolean =>
  path === place && apart && kind !== 'missing'

/** The tool holds the rest itself. */
function enforceOurs(
  region: HeldRegion,
  capability: Capability,
  place: string,
  { survey: { home, root } }: Plan,
): Enforced {
  if (!isMounted(region, place)) return WORKS
  if (region.kind === 'dir')
    return capability === 'delete' ? { verdict: 'refused', notes: [HELD_DIRECTORY] } : WORKS
  if (capability === 'read') return WORKS
  const around = { home: home.canonical, root: root.canonical }
  return { verdict: 'refused', notes: [isReplaceable(place, around) ? HELD_FILE : NOT_REPLACEABLE] }
}

function enforceAny(region: HeldRegion, capability: Capability, place: string, plan: Plan): Enforced {
  if (region.kind === 'missing' && !existingAbove(place, plan)?.grants.has(capability))
    return capability === 'create'
      ? { verdict: 'refused', notes: [ABSENT] }
      : { verdict: 'works', notes: [LIMITS.absent] }
  if (!region.grants.has(capability)) return { verdict: 'refused', notes: [LIMITS.sharedTarget] }
  if (capability === 'execute' && !region.grants.has('read'))
    return { verdict: 'refused', notes: [LIMITS.blindExecution] }
  if (isMounted(region, place) && (capability === 'create' || capability === 'delete'))
    return { verdict: 'refused', notes: [RULED_BY_ITSELF] }
  if (capability === 'create' && !region.grants.has('update'))
    return { verdict: 'works', notes: [LIMITS.emptyFiles] }
  const renames = region.grants.has('create') && region.grants.has('delete')
  return capability === 'update' && !renames ? { verdict: 'works', notes: [LIMITS.replacing] } : WORKS
}

const ABSENT =
  'its rule is for a path that does not exist yet, and nothing is made there while the directory above does not grant create; make it first, or grant that'
export const RULED_BY_ITSELF =
  'a path with a rule of its own can be changed in place, and not be removed or replaced: that is for a rule of the directory above'
const RUNS_FROM_THERE = 'the tool itself is started from there'
const UNSEEN = 'the way leads over a link in a directory that no rule shows'
const CANNOT =
  'this machine cannot enforce the policy, so every call fails; `cordon policy explain` says why: '
const HELD_FILE = 'it is held as it is by a rule of its own, and so it cannot be replaced in its directory'
const HELD_DIRECTORY = 'its rule begins here, and the directory above is not writable for the tool'

const pathsOf = ({ refused, lost }: UnenforceableError): string => {
  const paths = new Set(
    refused.flatMap((holder) => (holder.axis === 'fs' ? [show(nameOf(holder.rule))] : [])),
  )
  return [...paths, ...(paths.size > 0 ? [] : lost.map(({ guarantee }) => guarantee))].join(', ')
}
