import { type AccessPolicy, CAPABILITIES, type Origin } from '@cordon/policy'
import {
  buildEnvironment,
  type Held,
  type Holder,
  netHolders,
  openAmbientSurvey,
  planConfinement,
  probeKernel,
} from '@cordon/sandbox'
import { labelOf } from './compile/subject.ts'
import type { Policies } from './policies.ts'
import type { Project } from './project.ts'
import { findSubject } from './why/find-subject.ts'

/** SPEC 4.7: what one rule says about one or more capabilities, and who makes it so. */
export interface Holding {
  readonly axis: Holder['axis']
  /** What the rule is about: a path, a host, a name, a program. */
  readonly about: string
  readonly capabilities: readonly string[]
  readonly granted: boolean
  readonly holder: Held['by']
  /** How, or why not, and where the kernel is stricter than the rule. */
  readonly detail: readonly string[]
  readonly origin: Origin | undefined
}

/** `policy explain`: one subject and who holds each of its rules. */
export interface PolicyView {
  readonly subject: string
  readonly holdings: readonly Holding[]
}

export interface ExplainWorld {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export function explainPolicies(
  project: Project,
  { bySubject }: Policies,
  world: ExplainWorld,
  name?: string,
): PolicyView[] {
  const subjects = [...bySubject.keys()]
  const wanted = name === undefined ? subjects : [findSubject(project.loaded.config, subjects, name)]
  return wanted.map((subject) => ({
    subject: labelOf(subject),
    holdings: holdingsOf(project, bySubject.get(subject)!, world),
  }))
}

/** From the very plan that a run would use, so that the table cannot say anything else than what happens. */
function holdingsOf(project: Project, policy: AccessPolicy, { cwd, home, env }: ExplainWorld): Holding[] {
  const survey = openAmbientSurvey({
    policy,
    root: project.root.path,
    home,
    cwd,
    argv0: '/bin/sh',
    env: buildEnvironment(policy, env),
  })
  const { holders } = planConfinement({ policy, kernel: probeKernel(), survey, mode: 'warn' })
  return mergeAlike(holders.map((holder) => describe(holder, policy)))
}

function describe(holder: Holder, policy: AccessPolicy): Holding {
  const held = holder.axis === 'net' ? heldNet(holder, policy) : holder.held
  return {
    axis: holder.axis,
    about: aboutOf(holder),
    capabilities: [holder.axis === 'env' ? 'read' : holder.capability],
    granted: holder.granted,
    holder: held.by,
    detail: [
      ...('mechanism' in held ? [held.mechanism] : []),
      ...('why' in held && held.why ? [held.why] : []),
      ...holder.limits,
    ],
    origin: holder.rule.origin,
  }
}

/** With a proxy in place, it holds what is refused as well, and knows better than the plan what it can see. */
function heldNet(holder: Holder & { axis: 'net' }, { net }: AccessPolicy): Held {
  if (holder.held.by === 'not enforceable here' || !net.some((rule) => rule.allow)) return holder.held
  const seen = netHolders(net)[net.indexOf(holder.rule)]
  if (!seen || seen.holder === 'proxy') return { by: 'proxy' }
  return { by: seen.holder === 'none' ? 'not enforceable here' : 'cooperative', why: seen.reason }
}

function aboutOf(holder: Holder): string {
  switch (holder.axis) {
    case 'fs':
      return holder.rule.path
    case 'net': {
      const { scheme, host, port, pathPrefix } = holder.rule
      return `${scheme ? `${scheme}://` : ''}${host}${port === undefined ? '' : `:${port}`}${pathPrefix ?? ''}`
    }
    case 'env':
      return holder.rule.name
    case 'commands':
      return holder.program
  }
}

/** Capabilities of one rule that have the same fate share a line. */
function mergeAlike(holdings: readonly Holding[]): Holding[] {
  const merged = new Map<string, Holding>()
  for (const holding of holdings) {
    const { axis, about, granted, holder, detail, origin } = holding
    const key = JSON.stringify([axis, about, granted, holder, detail, origin])
    const before = merged.get(key)
    merged.set(
      key,
      before
        ? { ...before, capabilities: inOrder([...before.capabilities, ...holding.capabilities]) }
        : holding,
    )
  }
  return [...merged.values()]
}

const inOrder = (capabilities: readonly string[]): string[] => {
  const known: readonly string[] = CAPABILITIES
  return [...new Set(capabilities)].toSorted((a, b) => known.indexOf(a) - known.indexOf(b))
}
