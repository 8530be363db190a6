import { type AccessPolicy, CAPABILITIES, type Capability, type NetRule } from '@cordon/policy'
import { type Guarantee } from '../kernel.ts'
import { limitsOf } from './limits.ts'
import { type HeldRegion } from './regions-held.ts'
import { type Held, type Holder, type Plan } from './types.ts'
import { isGuard, whenMade } from './watched.ts'

/** SPEC 4.7: for every rule and capability, who holds it. The table behind `policy explain`. */
export const holdersOf = (
  policy: AccessPolicy,
  regions: readonly HeldRegion[],
  isolation: Plan['isolation'],
): readonly Holder[] => [
  ...regions.flatMap(fsHolders),
  ...policy.net.map((rule) => netHolder(rule, isolation)),
  ...policy.env.map((rule): Holder => ({
    axis: 'env',
    rule,
    capability: 'see',
    granted: rule.read,
    held: { by: 'kernel', mechanism: 'the environment is rebuilt before exec' },
    limits: [],
  })),
  ...Object.entries(policy.commands ?? {}).map(([program, rule]): Holder => ({
    axis: 'commands',
    program,
    rule,
    capability: 'start',
    granted: true,
    held: {
      by: 'cooperative',
      why: 'the kernel sees the files a program opens, not the command line it was started by',
    },
    limits: [],
  })),
]

/**
 * What `enforce` refuses: a rule that this machine cannot hold. What is merely watched or cooperative is not, nor what
 * nobody wrote (SPEC 4.10).
 */
export const isRefused = (holder: Holder): boolean =>
  holder.held.by === 'not enforceable here' && !(holder.axis === 'fs' && holder.rule.guard !== undefined)

/** Whether the table would hold anything to refuse, without making it. */
export const cannotHold = (
  policy: AccessPolicy,
  regions: readonly HeldRegion[],
  isolation: Plan['isolation'],
): boolean =>
  (isolation === 'landlock-only' && policy.net.some((rule) => rule.allow)) ||
  regions.some(
    (region) =>
      region.hold.leaks &&
      region.rules.length > 0 &&
      !isGuard(region) &&
      CAPABILITIES.some((each) => heldAt(region, each).by === 'not enforceable here'),
  )

/** SPEC 4.10: where the guard has something to hold and cannot. */
export const unguarded = (regions: readonly HeldRegion[]): readonly HeldRegion[] =>
  regions.filter((region) => region.kind !== 'missing' && region.hold.leaks && isGuard(region))

/** SPEC 4.11: the guarantees that something in the policy asks for; the others are what every run gets besides. */
export const declaredIn = (
  policy: AccessPolicy,
  regions: readonly HeldRegion[],
  isolation: Plan['isolation'],
): ReadonlySet<Guarantee> =>
  new Set<Guarantee>([
    'workspace-boundary',
    ...(policy.net.some((rule) => rule.allow) ? (['host-rules'] as const) : []),
    ...(policy.fs.length > 0 ? (['capability-rules'] as const) : []),
    ...(cannotHold({ ...policy, net: [] }, regions, isolation) ? (['narrower-rules'] as const) : []),
  ])

const fsHolders = (region: HeldRegion, index: number, all: readonly HeldRegion[]): readonly Holder[] =>
  region.rules.flatMap((rule) =>
    CAPABILITIES.map((capability): Holder => ({
      axis: 'fs',
      rule,
      capability,
      granted: rule.grants.has(capability),
      held: heldAt(region, capability),
      limits: limitsOf(region, capability, {
        rule,
        alone: all.length === 1,
        root: index === 0,
        execution: executionIn(all),
      }),
    })),
  )

function executionIn(regions: readonly HeldRegion[]): 'everywhere' | 'somewhere' | 'nowhere' {
  const granting = regions.filter((region) => region.grants.has('execute')).length
  return granting === 0 ? 'nowhere' : granting === regions.length ? 'everywhere' : 'somewhere'
}

function heldAt(region: HeldRegion, capability: Capability): Held {
  if (region.kind !== 'missing' || region.grants.has(capability) || !region.inherited.has(capability))
    return region.hold.held[capability]
  return {
    by: 'cooperative',
    why:
      whenMade(region) === 'told'
        ? 'the path does not exist, so nothing can be mounted on it; when the process ends it is looked for and reported'
        : 'the path does not exist, so nothing can be mounted on it; when the process ends it is looked for, reported and moved aside',
  }
}

function netHolder(rule: NetRule, isolation: Plan['isolation']): Holder {
  const held: Held =
    isolation === 'namespaces'
      ? rule.allow
        ? { by: 'proxy' }
        : { by: 'kernel', mechanism: 'empty network namespace' }
      : rule.allow
        ? {
            by: 'not enforceable here',
            why: 'without a network namespace the proxy cannot be the only way out',
          }
        : { by: 'kernel', mechanism: 'seccomp refuses sockets' }
  return { axis: 'net', rule, capability: 'connect', granted: rule.allow, held, limits: [] }
}
