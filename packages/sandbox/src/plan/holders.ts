import { type AccessPolicy, CAPABILITIES, type Capability, type NetRule } from '@cordon/policy'
import { limitsOf } from './limits.ts'
import { type HeldRegion } from './regions-held.ts'
import { type Held, type Holder, type Plan } from './types.ts'

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

/** What `enforce` refuses: a rule that this machine cannot hold. What is merely watched or cooperative is not. */
export const isRefused = ({ held }: Holder): boolean => held.by === 'not enforceable here'

/** Whether the table would hold anything to refuse, without making it. */
export const cannotHold = (
  policy: AccessPolicy,
  regions: readonly HeldRegion[],
  isolation: Plan['isolation'],
): boolean =>
  (isolation === 'landlock-only' && policy.net.some((rule) => rule.allow)) ||
  regions.some(
    (region) =>
      region.rules.length > 0 &&
      CAPABILITIES.some((each) => heldAt(region, each).by === 'not enforceable here'),
  )

const fsHolders = (region: HeldRegion, index: number, all: readonly HeldRegion[]): readonly Holder[] =>
  region.rules.flatMap((rule) =>
    CAPABILITIES.map((capability): Holder => ({
      axis: 'fs',
      rule,
      capability,
      granted: rule.grants.has(capability),
      held: heldAt(region, capability),
      limits: limitsOf(region, capability, { rule, alone: all.length === 1, root: index === 0 }),
    })),
  )

function heldAt(region: HeldRegion, capability: Capability): Held {
  if (region.kind !== 'missing' || region.grants.has(capability) || !region.inherited.has(capability))
    return region.hold.held[capability]
  return {
    by: 'cooperative',
    why: 'the path does not exist, so nothing can be mounted on it; when the process ends it is looked for, reported and moved aside',
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
