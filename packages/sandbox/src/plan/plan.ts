import { ABI_WITH_TRUNCATE } from '../linux/landlock.ts'
import { type Flag, type Item, type LimitName } from '../linux/items.ts'
import { hasBoundary, lostOf, lostWithout } from './lost.ts'
import { UnenforceableError, UnplannableError } from './errors.ts'
import { cannotHold, holdersOf, isRefused } from './holders.ts'
import { layOutNamespaces } from './namespaces.ts'
import { allowOnly } from './landlock-only.ts'
import { regionsOf } from './regions.ts'
import { holdRegions } from './regions-held.ts'
import { type ConfinementRequest, type Holder, type Limits, type Plan } from './types.ts'
import { watchMissing } from './watched.ts'

/** Alone in its network namespace, so any port is free; programs are told it in HTTP_PROXY. */
export const PROXY_PORT = 3128

const MIB = 1024 * 1024
export const DEFAULT_LIMITS: Limits = { memory: 8192 * MIB, processes: 1024, files: 8192, tmp: 1024 * MIB }

/**
 * SPEC 4.1: from a policy to the instructions that confine a process, and to the table of who holds what. Pure.
 * Throws under `enforce` when a declared guarantee cannot be had.
 */
export function planConfinement(request: ConfinementRequest): Plan {
  const { policy, kernel, survey, mode } = request
  if (survey.root.canonical === '/') throw new UnplannableError('the workspace may not be the root directory')
  const isolation =
    request.simulate?.userns === false || kernel.newRoot !== 'works' ? 'landlock-only' : 'namespaces'
  const means = { mounts: isolation === 'namespaces', landlockAbi: kernel.landlockAbi }
  const held = holdRegions(regionsOf(policy, survey), survey, means)
  const proxyPort =
    isolation === 'namespaces' && policy.net.some((rule) => rule.allow) ? PROXY_PORT : undefined
  const limits = { ...DEFAULT_LIMITS, ...request.limits }
  const lost = lostWithout(kernel, isolation)
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
      { tag: 'flags', flags: flagsOf(request, isolation, proxyPort) },
      { tag: 'tmp-size', bytes: limits.tmp },
      ...limitItems(limits),
      ...(isolation === 'namespaces'
        ? layOutNamespaces(held, survey, limits.processes)
        : allowOnly(held, survey)),
      ...(proxyPort === undefined ? [] : [{ tag: 'listen', port: proxyPort } as const]),
    ],
    regions: held.regions,
    get holders() {
      return holders()
    },
    lost:
      holdsAll || isolation === 'landlock-only' ? lost : [...lost, ...lostOf(holders().filter(isRefused))],
    watched: watchMissing(held.regions, survey),
    notes: held.notes,
    proxyPort,
  }
}

function flagsOf(
  { kernel, unixSockets = 'none' }: ConfinementRequest,
  isolation: Plan['isolation'],
  proxyPort: number | undefined,
): readonly Flag[] {
  return [
    ...(isolation === 'namespaces' ? (['namespaces'] as const) : []),
    ...(kernel.landlockAbi > 0 ? (['landlock'] as const) : []),
    // In a root of its own what is not granted is absent, or mounted read-only; without Landlock nothing would be won.
    ...(isolation === 'landlock-only' && kernel.landlockAbi > 0 && kernel.landlockAbi < ABI_WITH_TRUNCATE
      ? (['no-truncation'] as const)
      : []),
    ...(unixSockets === 'private' ? (['unix-sockets'] as const) : []),
    // In an empty network namespace a socket reaches nothing and programs fail as they do offline. Without
    // one, having no socket at all is the only thing that holds.
    ...(isolation === 'namespaces' || proxyPort !== undefined ? (['inet-sockets'] as const) : []),
  ]
}

const limitItems = (limits: Limits): readonly Item[] =>
  (
    [
      ['data', limits.memory],
      ['processes', limits.processes],
      ['files', limits.files],
      ['core', 0],
    ] as const satisfies readonly (readonly [LimitName, number])[]
  ).map(([limit, value]) => ({ tag: 'limit', limit, value }))
