import { join } from 'node:path'
import type { LoadedConfig } from '@cordon/config'
import { type AccessPolicy, below, CordonError, type FsRule, type Root, show } from '@cordon/policy'
import { nameOf } from '@cordon/sandbox'
import { ApprovalStore, makePrivateDirectory } from '@cordon/workspace'
import { approvedBindings, askForBindings, type Person } from './approve/approve.ts'
import { refusedGrants, sessionMemoryOf } from './approve/session.ts'
import { type BindingKey, bindingsOf } from './compile/bindings.ts'
import { compile, type Notice } from './compile/compile.ts'
import { onlyReads } from './compile/boundary.ts'
import {
  guardOf,
  type GuardRequest,
  isGuarded,
  isGuardedOutside,
  ledToGuarded,
  withGuard,
  withMountPoints,
} from './compile/guard.ts'
import { writes } from './compile/names.ts'
import { withoutSecrets } from './compile/own-secrets.ts'
import { resolveThrough } from './compile/resolve.ts'
import {
  describeGrant,
  describeRefusedGrant,
  SENSITIVE,
  type SensitiveGrant,
  sensitiveGrants,
} from './compile/sensitive.ts'
import { programsHeldFor, serverCode } from './compile/server-code.ts'
import { labelOf, serverNameOf, type Subject, subjectsOf } from './compile/subject.ts'
import type { GuardSurvey } from './guard/survey.ts'
import { PlaceError, typedPath } from './outside/place.ts'
import type { Project } from './project.ts'

/** Every subject's policy, ready to be handed to a process. */
export interface Policies {
  readonly bySubject: ReadonlyMap<Subject, AccessPolicy>
  readonly approved: ReadonlySet<BindingKey>
  readonly warnings: readonly string[]
  /** Whether an answer of a person is in it, given now or before: that can be taken back at any time. */
  readonly answered?: boolean
}

/** Who compiles, and who can be asked while compiling. */
export interface Compiler {
  readonly pid: number
  readonly uid: number | undefined
  readonly home: string
  /** The same for every command typed in one terminal session. */
  readonly session: string
  /** Undefined: nobody can be asked, so nothing new is approved (SPEC 3.2). */
  readonly person: Person | undefined
}

/** SPEC 3.1: one policy that does not compile stops everything, and all that is wrong is said at once. */
class PolicyError extends CordonError {
  readonly code = 'POLICY'
  readonly notices: readonly Notice[]
  constructor(notices: readonly Notice[]) {
    super(notices.map((notice) => `error: ${formatNotice(notice)}`).join('\n\n'))
    this.notices = notices
  }
}

/**
 * Compiles all policies of a project. With a person, new mounts (SPEC 3.2) and grants of sensitive paths
 * (SPEC 4.9) are asked about; without one, mounts grant nothing, and warnings say so. What nobody is about to use
 * (`only`) needs no answers.
 */
export async function compileProject(
  project: Project,
  compiler: Compiler,
  { only = () => true, typed = [], guarding = 'everybody' }: CompileScope = {},
): Promise<Policies> {
  const { root, loaded, workspace, guard } = project
  const store = new ApprovalStore(workspace, {
    holder: { pid: compiler.pid, command: 'cordon' },
    uid: compiler.uid,
    now: () => new Date(),
  })
  const subjects = subjectsOf(loaded.config).filter(only)
  const bindings = bindingsOf(subjects, resolveThrough(root, guard))
  // Without an external rule nothing is asked of the store, and no file is opened.
  const approvals = bindings.length === 0 ? undefined : await store.read()
  const approved = !approvals
    ? new Set<BindingKey>()
    : compiler.person
      ? await askForBindings(bindings, store, approvals, compiler.person, (target) =>
          isGuardedOutside(target, guard),
        )
      : approvedBindings(bindings, approvals)
  const compiled = compileWith(project, loaded, approved, subjects, typed, guarding)
  makeOwnPlaces(
    project,
    [...compiled.bySubject.values()].flatMap(({ fs }) => fs),
  )
  const policies = await guardSecrets(project, compiled, compiler)
  // When a project was opened with files in it, what is wrong with the store was said then.
  const known = new Set(project.notices)
  const warnings = (approvals?.warnings ?? []).filter((warning) => !known.has(warning))
  return {
    ...policies,
    warnings: [...warnings, ...policies.warnings],
    answered: approvals !== undefined || policies !== compiled,
  }
}

/**
 * SPEC 4.10: Cordon's own places are never writable, and what is not there cannot be held. So where one lies in what a
 * policy grants, it is made before anything confined could make it.
 */
export function makeOwnPlaces({ root, guard }: Project, rules: readonly FsRule[]): void {
  const targets = rules.flatMap((rule) => ('outside' in rule ? nameOf(rule) : (rule.approvedTarget ?? [])))
  for (const place of guard.ownDirectories())
    if ([root.path, ...targets].some((dir) => below(dir, place) !== undefined)) makeIfPossible(place)
}

function makeIfPossible(place: string): void {
  try {
    makePrivateDirectory(place)
  } catch {
    // nobody can make it, then
  }
}

export interface CompileScope {
  readonly only?: (subject: Subject) => boolean
  /** What flags say of paths: the last rules of every subject. */
  readonly typed?: readonly FsRule[]
  /** For whom the guard (SPEC 4.10) is looked for. Default: everybody. */
  readonly guarding?: Guarding
}

/** Of these servers, and of the tools of those that are stateless: what any other needs is not asked about, nor said. */
export const ofServers = (names: readonly string[], { loaded }: Project): CompileScope => ({
  only: (subject) => {
    const server = serverNameOf(subject, loaded.config)
    return server !== undefined && names.includes(server)
  },
})

/**
 * `writers`: to call a tool. The guard takes writing back, and the shipped tools that only read have none, by the kernel
 * (`readingBoundary`). So nothing is looked for that it could take from them (decision 0436). To explain a policy, `everybody`.
 */
type Guarding = 'everybody' | 'writers'

/** The same with the approvals already known: no prompt, no store. */
export function compileWith(
  project: Pick<Project, 'root' | 'guard'>,
  loaded: LoadedConfig,
  approved: ReadonlySet<BindingKey>,
  subjects: readonly Subject[] = subjectsOf(loaded.config),
  typed: readonly FsRule[] = [],
  guarding: Guarding = 'everybody',
): Policies {
  const { root, guard } = project
  const { mode } = loaded.config.sandbox
  // SPEC 4.8: a flag that names a guarded path adds to what there is; any other one declares the axis.
  const guarded = guardOf(project, loaded, 'granted')
  for (const rule of typed) refuseLed(rule, guarded)
  const { lifting = [], declaring = [] } = Object.groupBy(typed, ({ path }) =>
    isGuarded(path, guarded) ? 'lifting' : 'declaring',
  )
  const { policies, warnings, errors } = compile(
    subjects.map((subject) => withRules(subject, declaring)),
    {
      resolve: resolveThrough(root, guard),
      approved,
      undeclared: mode === 'off' ? 'unrestricted' : 'defaults',
    },
  )
  if (errors.length > 0) throw new PolicyError(errors)
  let strict: GuardRequest | undefined
  const guardFor = (subject: Subject): GuardRequest => {
    const isOpen = programsHeldFor(subject) === 'granted'
    const common = isOpen ? guarded : (strict ??= guardOf(project, loaded, 'all'))
    const held = withMountPoints(common, subject, loaded.config)
    return { ...held, code: [...held.code, ...serverCode(subject, loaded.config, root)] }
  }
  const held = [...policies].filter(
    ([subject]) => guarding === 'everybody' || !onlyReads(loaded.config, subject),
  )
  const bySubject = new Map([
    ...[...policies].map(
      ([subject, policy]) =>
        [subject, { ...policy, fs: withoutSecrets(policy.fs, { survey: guard, root }) }] as const,
    ),
    ...held.map(
      ([subject, policy]) =>
        [
          subject,
          { ...policy, fs: withGuard(policy.fs, guardFor(subject), lifting.map(whereItLeads(root))) },
        ] as const,
    ),
  ])
  const unseen = held.length === 0 ? [] : unseenBy(guard)
  const led = held.flatMap(([subject, { fs }]) =>
    ledToGuarded(fs, guardFor(subject)).map(({ path, written, origin }) =>
      formatNotice({
        subject,
        origin,
        message: `the rule for ${show(written ?? path)} leads by a link to ${show(path)}, which is guarded, and does not let it be written; who means that names ${show(path)}`,
      }),
    ),
  )
  return { bySubject, approved, warnings: [...droppedMounts(warnings), ...unseen, ...led] }
}

/** As a rule of the configuration is compiled: nothing is mounted by a name that leads over a link. */
const whereItLeads =
  (root: Root) =>
  (rule: FsRule): FsRule => {
    const led = resolveThrough(root)(rule)
    return led.kind !== 'inside' || led.path === rule.path
      ? rule
      : { ...rule, path: led.path, written: rule.path }
  }

/** A link may be a command's work, for the next one to follow: who lifts the guard of what it leads to names that. */
function refuseLed(rule: FsRule, guarded: GuardRequest): void {
  const led = writes(rule) ? resolveThrough(guarded.root)(rule) : undefined
  if (led?.kind !== 'inside' || led.path === rule.path || !isGuarded(led.path, guarded)) return
  throw new PlaceError(
    rule.origin ?? rule.path,
    `it leads by a link to ${show(led.path)}, which is guarded\n  fix: --write ${typedPath(join(guarded.root.path, led.path), guarded.survey.home)}, if you mean that`,
  )
}

/** SPEC 4.10: what the guard did not look at, in words. */
export const unseenBy = ({ blindSpots }: GuardSurvey): readonly string[] =>
  blindSpots.map(({ path, why }) => `the guard does not see everything: ${show(path)} ${why}`)

const withRules = (subject: Subject, rules: readonly FsRule[]): Subject => {
  if (rules.length === 0) return subject
  const { fs, net, env, commands } = subject.access ?? { fs: [], net: [], env: [] }
  const access = { fs: [...fs, ...rules], net, env, ...(commands ? { commands } : {}) }
  return { ...subject, access }
}

/** SPEC 4.9: granting a sensitive path warns, and at a terminal asks; what is refused grants nothing. */
async function guardSecrets(
  { root, loaded, workspace }: Project,
  policies: Policies,
  compiler: Compiler,
): Promise<Policies> {
  const patterns = [...SENSITIVE, ...loaded.config.sandbox.sensitive]
  const grants = sensitiveGrants(policies.bySubject, { root: root.path, home: compiler.home, patterns })
  if (grants.length === 0) return policies
  const { person, session } = compiler
  const memory = sessionMemoryOf(workspace, session)
  const refused = person ? await refusedGrants(grants, memory, person) : []
  const warnings = grants
    .filter((grant) => !memory.has(grant.key))
    .map((grant) => (refused.includes(grant) ? describeRefusedGrant(grant) : describeGrant(grant)))
  return {
    ...policies,
    bySubject: withhold(policies.bySubject, refused),
    warnings: [...policies.warnings, ...warnings],
  }
}

/** SPEC 1.1: the refused rule stays at its path and grants nothing, so that no wider rule answers for it. */
const withhold = (
  policies: ReadonlyMap<Subject, AccessPolicy>,
  refused: readonly SensitiveGrant[],
): ReadonlyMap<Subject, AccessPolicy> =>
  new Map(
    [...policies].map(([subject, policy]) => {
      const rules = new Set(refused.filter((grant) => grant.subject === subject).map((grant) => grant.rule))
      const fs = policy.fs.map((rule) => (rules.has(rule) ? { ...rule, grants: new Set<never>() } : rule))
      return [subject, { ...policy, fs }]
    }),
  )

/**
 * A mount is one, however many tools have a rule for it: it is said once, in the same words whoever compiles, so that who calls
 * one tool after the other does not read it again.
 */
const droppedMounts = (notices: readonly Notice[]): readonly string[] => [
  ...new Set(
    notices.map((notice) => (notice.subject.kind === 'tool' ? notice.message : formatNotice(notice))),
  ),
]

const formatNotice = ({ subject, origin, message }: Notice): string =>
  `${labelOf(subject)}: ${message}${origin === undefined ? '' : `\n  at ${origin}`}`
