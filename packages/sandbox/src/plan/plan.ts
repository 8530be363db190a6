import { ABI_WITH_TRUNCATE } from '../linux/landlock.ts'
import { type Flag, type Item, type LimitName } from '../linux/items.ts'
import {
  hasBoundary,
  lostDoors,
  lostPorts,
  lostGuard,
  lostOf,
  lostPlaces,
  lostWithout,
  OPEN_SOCKETS,
  WITHOUT_CGROUP,
  WITHOUT_SOCKETS,
} from './lost.ts'
import { LauncherMissingError } from '../launcher.ts'
import { UnenforceableError, UnplannableError } from './errors.ts'
import { cannotHold, declaredIn, holdersOf, isRefused, unguarded } from './holders.ts'
import { layOutNamespaces } from './namespaces.ts'
import { planNetwork } from './network.ts'
import { allowOnly } from './landlock-only.ts'
import { nameOf } from './outside.ts'
import { regionsOf } from './regions.ts'
import { type HeldRegions, holdRegions } from './regions-held.ts'
import { type PlanRequest, type Holder, type Limits, type Loss, type Plan } from './types.ts'
import { whyNoWorkspace } from './no-workspace.ts'
import { movableGuarded, watchMissing } from './watched.ts'

const MIB = 1024 * 1024
export const DEFAULT_LIMITS: Limits = { memory: 8192 * MIB, processes: 1024, files: 8192, tmp: 1024 * MIB }

/**
 * SPEC 4.1: from a policy to the instructions that confine a process, and to the table of who holds what. Pure.
 * Throws under `enforce` when a declared guarantee cannot be had.
 */
export function planConfinement(request: PlanRequest): Plan {
  const { policy, outside = [], kernel, survey, mode } = request
  if (kernel.platform === 'linux' && kernel.launcher.state === 'missing')
    throw new LauncherMissingError(kernel.launcher)
  const unfit = whyNoWorkspace(survey.root.canonical)
  if (unfit !== undefined) throw new UnplannableError(unfit)
  const isolation =
    request.simulate?.userns === false || kernel.newRoot !== 'works' ? 'landlock-only' : 'namespaces'
  const means = { mounts: isolation === 'namespaces', landlockAbi: kernel.landlockAbi }
  const held = holdRegions(regionsOf(policy, outside, survey), survey, means)
  const limits = { ...DEFAULT_LIMITS, ...request.limits }
  const network = isolation === 'namespaces' ? planNetwork(policy.net, survey) : undefined
  const declared = declaredIn(policy, held.regions, isolation)
  const loose = unguarded(held.regions).flatMap(({ rules: [rule] }) => (rule ? [nameOf(rule)] : []))
  const movable = means.mounts ? [] : movableGuarded(held.regions, survey)
  const hasSockets = request.unixSockets === 'private'
  const lost: readonly Loss[] = [
    ...lostWithout(kernel, isolation).map((each) => ({ ...each, declared: declared.has(each.guarantee) })),
    ...lostGuard(loose, kernel),
    ...lostPlaces(movable, kernel),
    ...lostDoors(network?.doorless ?? []),
    ...lostPorts(network?.portless ?? []),
    ...(request.limits?.memory !== undefined && request.cgroup === undefined ? [WITHOUT_CGROUP] : []),
    ...(hasSockets && isolation !== 'namespaces' ? [WITHOUT_SOCKETS] : []),
  ]
  // Five entries a rule, wanted by `explain` and by a refusal: not made for every spawn.
  let table: readonly Holder[] | undefined
  const holders = (): readonly Holder[] => (table ??= holdersOf(policy, held.regions, isolation))
  // The workspace's boundary is declared by every policy, also by one without rules (SPEC 1.1).
  const holdsAll = !cannotHold(policy, held.regions, isolation)
  if (mode === 'enforce' && (!hasBoundary(kernel, isolation) || !holdsAll))
    throw new UnenforceableError(holders().filter(isRefused), lost)
  return {
    survey,
    limits,
    isolation,
    items: [
      { tag: 'flags', flags: flagsOf(request, held.execution, isolation) },
      { tag: 'tmp-size', bytes: limits.tmp },
      ...limitItems(limits),
      ...(isolation === 'namespaces'
        ? layOutNamespaces(held, survey, limits.processes)
        : allowOnly(held, survey)),
    ],
    regions: held.regions,
    get holders() {
      return holders()
    },
    lost:
      holdsAll || isolation === 'landlock-only' ? lost : [...lost, ...lostOf(holders().filter(isRefused))],
    watched: watchMissing(held.regions, survey),
    notes: [...held.notes, ...(hasSockets && isolation === 'namespaces' ? [OPEN_SOCKETS] : [])],
    cgroup:
      request.limits?.memory === undefined || request.cgroup === undefined
        ? undefined
        : { parent: request.cgroup, memory: limits.memory },
    network,
  }
}

function flagsOf(
  { kernel, unixSockets = 'pairs' }: PlanRequest,
  execution: HeldRegions['execution'],
  isolation: Plan['isolation'],
): readonly Flag[] {
  return [
    ...(isolation === 'namespaces' ? (['namespaces'] as const) : []),
    ...(kernel.landlockAbi > 0 ? (['landlock'] as const) : []),
    // In a root of its own what is not granted is absent, or mounted read-only; without Landlock nothing would be won.
    ...(isolation === 'landlock-only' && kernel.landlockAbi > 0 && kernel.landlockAbi < ABI_WITH_TRUNCATE
      ? (['no-truncation'] as const)
      : []),
    // Then nothing that is copied to a private place or into memory is started either (decision 0142).
    ...(execution === 'nowhere' ? (['no-execution'] as const) : []),
    // Without namespaces every path of the host is there, and Landlock does not stand before sockets (decision 0214).
    ...(unixSockets === 'private' && isolation === 'namespaces' ? (['unix-sockets'] as const) : []),
    // In a network namespace of its own a socket reaches nothing else. Without one, having no socket at all is the only
    // thing that holds.
    ...(isolation === 'namespaces' ? (['inet-sockets'] as const) : []),
  ]
}

const limitItems = (limits: Limits): readonly Item[] =>
  (
    [
      ...(limits.cpu === undefined ? [] : [['cpu', limits.cpu] as const]),
      ['data', limits.memory],
      ['processes', limits.processes],
      ['files', limits.files],
      ['core', 0],
    ] as const satisfies readonly (readonly [LimitName, number])[]
  ).map(([limit, value]) => ({ tag: 'limit', limit, value }))
