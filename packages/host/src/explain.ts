import { type AccessPolicy, CAPABILITIES, type Origin } from '@cordon/policy'
import {
  buildEnvironment,
  type Held,
  type Holder,
  nameOf,
  needsAuthority,
  netHolders,
  NotExecutableError,
  type Plan,
  probeKernel,
  ProgramNotFoundError,
  proxyEnv,
  trustEnv,
} from '@cordon/sandbox'
import { holdsItself, onlyReads } from './compile/boundary.ts'
import { DEFAULT_NET } from './compile/defaults.ts'
import { WRITING } from './compile/names.ts'
import { labelOf, type Subject } from './compile/subject.ts'
import { planFor } from './confine/plan.ts'
import type { Confinement } from './confine/program.ts'
import type { Policies } from './policies.ts'
import type { Project } from './project.ts'
import { whyNotHere } from './run/not-started.ts'
import { planOf, type RunPlace } from './why/enforced.ts'
import { findSubject } from './why/find-subject.ts'

/** SPEC 4.7: what one rule says about one or more capabilities, and who makes it so. */
export interface Holding {
  readonly axis: Holder['axis']
  /** What the rule is about: a path, a host, a name, a program. */
  readonly about: string
  readonly capabilities: readonly string[]
  readonly granted: boolean
  /** `tool`: the shipped tool itself (SPEC 4.12). */
  readonly holder: Held['by'] | 'tool'
  /** How, or why not, and where the kernel is stricter than the rule. */
  readonly detail: readonly string[]
  readonly origin: Origin | undefined
  /** SPEC 4.10: nobody wrote the rule. */
  readonly guard: boolean
  /** Nothing is there yet, so that the kernel cannot withhold it. */
  readonly missing?: true
}

/** `policy explain`: one subject and who holds each of its rules. */
export interface PolicyView {
  readonly subject: string
  readonly holdings: readonly Holding[]
  /** What no rule says and every command has; of one command only. */
  readonly always?: AlwaysThere
  /** What else the plan says: what is not a matter of one rule. */
  readonly notes: readonly string[]
  /** What this machine cannot hold, in words; of one command only. */
  readonly lost?: readonly string[]
}

/** SPEC 4.3 and 4.5, as this machine and this command have it. */
interface AlwaysThere {
  /** Directories of the system. */
  readonly system: readonly string[]
  /** Installations of the program and its interpreters that lie elsewhere. */
  readonly programs: readonly string[]
  /** The home and its like. None without namespaces. */
  readonly privatePlaces: readonly string[]
  readonly loopback: boolean
  /** Names of the variables that are set, also those that we set. */
  readonly variables: readonly string[]
}

export function explainPolicies(
  project: Project,
  { bySubject }: Policies,
  world: RunPlace,
  name?: string,
): PolicyView[] {
  const subjects = [...bySubject.keys()]
  const wanted = name === undefined ? subjects : [findSubject(project.loaded.config, subjects, name)]
  return wanted.map((subject) => ({
    subject: labelOf(subject),
    ...viewOf(project, subject, bySubject.get(subject)!, world),
  }))
}

/** From the very plan that a run would use, so that the table cannot say anything else than what happens. */
function viewOf(
  project: Project,
  subject: Subject,
  policy: AccessPolicy,
  place: RunPlace,
): Omit<PolicyView, 'subject'> {
  const { loaded } = project
  // What would be refused is shown as well.
  const sandbox = { ...loaded.config.sandbox, mode: 'warn' as const }
  const lenient = { ...project, loaded: { ...loaded, config: { ...loaded.config, sandbox } } }
  const { holders, notes } = planOf(lenient, subject, policy, { ...place, kernel: probeKernel() })
  if (onlyReads(loaded.config, subject)) {
    const reading = holders.filter(({ axis, capability }) => axis !== 'fs' || capability === 'read')
    return { holdings: describeHolders(reading, policy), notes }
  }
  if (!holdsItself(loaded.config, subject)) return { holdings: describeHolders(holders, policy), notes }
  const rest = holders.filter(({ axis }) => axis !== 'fs' && axis !== 'net')
  const own = ownHoldings(policy, holders)
  return { holdings: mergeAlike([...own, ...rest.map((holder) => describe(holder, policy))]), notes }
}

/** What one command would have, from the very plan that it would run under; nothing is started (SPEC 4.8). */
export function explainRun(request: Confinement, label: string): PolicyView {
  const sandbox = { ...request.sandbox, mode: 'warn' as const }
  const env = buildEnvironment(request.policy, request.env)
  const { plan, missing } = planShown({ ...request, sandbox }, env)
  const { holders, lost, notes } = plan
  const notHere = whyNotHere(request, plan)
  const files = (request.replaced ?? []).map(({ path, origin }): Holding => ({
    axis: 'fs',
    about: path,
    capabilities: ['read', 'create', 'update', 'delete'],
    granted: true,
    holder: 'kernel',
    detail: ['copy', 'it is copied in, and written back at the end if it changed'],
    origin,
    guard: false,
  }))
  return {
    subject: label,
    holdings: [...describeHolders(holders, request.policy), ...files],
    always: alwaysThere(plan, Object.keys(env), request.policy),
    notes: [...notes, missing, notHere].filter((note) => note !== undefined),
    lost: lost.map(({ loss }) => loss),
  }
}

/** Nothing is started, so a program that there is not is a note, and what it would have besides its installation is shown. */
function planShown(
  request: Confinement,
  env: Record<string, string>,
): { readonly plan: Plan; readonly missing?: string } {
  try {
    return { plan: planFor(probeKernel(), request, env) }
  } catch (error) {
    if (!(error instanceof ProgramNotFoundError) && !(error instanceof NotExecutableError)) throw error
    return { plan: planFor(probeKernel(), { ...request, argv: ['/bin/sh'] }, env), missing: error.message }
  }
}

function alwaysThere(
  { survey, isolation, network }: Plan,
  granted: readonly string[],
  { net }: AccessPolicy,
): AlwaysThere {
  const hasOwn = isolation === 'namespaces'
  const proxy = network?.sockets.find(({ serves }) => serves === 'proxy')
  return {
    system: survey.system.map(({ path }) => path),
    programs: survey.runtime.map(({ path }) => path),
    privatePlaces: hasOwn ? [survey.home.given, ...survey.scratch] : [],
    loopback: hasOwn,
    variables: [
      ...granted,
      ...(proxy ? Object.keys(proxyEnv(proxy, net)) : []),
      ...(network && needsAuthority(net, 'auto')
        ? Object.keys(trustEnv({ certificate: '', bundle: '' }))
        : []),
    ],
  }
}

const describeHolders = (holders: readonly Holder[], policy: AccessPolicy): Holding[] =>
  mergeAlike(holders.map((holder) => describe(holder, policy)))

/**
 * SPEC 4.12: the plan is of the boundary, and the rules are of the policy. Where the boundary can be written to, the tool
 * holds create, update and delete, and reading where the rule withholds it, and what the kernel cannot hold at a path that is not there;
 * all else the kernel holds as it says.
 */
function ownHoldings(policy: AccessPolicy, holders: readonly Holder[]): Holding[] {
  const outer = new Map(
    holders.flatMap((holder) =>
      holder.axis === 'fs' ? [[`${holder.rule.path}\0${holder.capability}`, holder] as const] : [],
    ),
  )
  const last = new Map(policy.fs.map((rule) => [rule.path, rule]))
  const files = [...last.values()].flatMap((rule) =>
    CAPABILITIES.map((capability): Holding => {
      const kernel = outer.get(`${rule.path}\0${capability}`)
      const granted = rule.grants.has(capability)
      const ours =
        kernel === undefined ||
        kernel.granted !== granted ||
        (granted && WRITING.has(capability)) ||
        kernel.held.by === 'cooperative'
      return {
        axis: 'fs',
        about: rule.path,
        capabilities: [capability],
        granted,
        holder: ours ? 'tool' : kernel.held.by,
        detail: ours ? [capability === 'execute' ? STARTS_NOTHING : HOLDS_ITSELF] : detailOf(kernel.held),
        origin: rule.origin,
        guard: rule.guard !== undefined,
        ...(kernel?.held.by === 'cooperative' ? MISSING : {}),
      }
    }),
  )
  return [...files, { ...NO_NETWORK, about: 'every host', origin: undefined }]
}

const HOLDS_ITSELF =
  'the tool is ours and holds it itself: it replaces files by a rename, for which the kernel must grant more'
const STARTS_NOTHING = 'the tool starts no file, and the kernel lets it start none'
const NO_NETWORK = {
  axis: 'net',
  capabilities: ['connect'],
  granted: false,
  holder: 'kernel',
  detail: ['empty network namespace'],
  guard: false,
} as const

function describe(holder: Holder, policy: AccessPolicy): Holding {
  const held = holder.axis === 'net' ? heldNet(holder, policy) : holder.held
  return {
    axis: holder.axis,
    about: aboutOf(holder),
    capabilities: [holder.axis === 'env' ? 'read' : holder.capability],
    granted: holder.granted,
    holder: held.by,
    detail: [...detailOf(held), ...holder.limits],
    origin: holder.rule.origin,
    guard: holder.axis === 'fs' && holder.rule.guard !== undefined,
    ...(holder.axis === 'fs' && held.by === 'cooperative' ? MISSING : {}),
  }
}

const MISSING = { missing: true } as const

const detailOf = (held: Held): readonly string[] => [
  ...('mechanism' in held ? [held.mechanism] : []),
  ...('why' in held && held.why ? [held.why] : []),
]

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
      return nameOf(holder.rule)
    case 'net': {
      if (DEFAULT_NET.includes(holder.rule)) return 'every host'
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
