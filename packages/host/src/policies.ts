import { join } from 'node:path'
import type { LoadedConfig } from '@cordon/config'
import { type AccessPolicy, CordonError, type Root } from '@cordon/policy'
import { ApprovalStore } from '@cordon/workspace'
import { approvedBindings, askForBindings, type Person } from './approve/approve.ts'
import { openSessionMemory, refusedGrants } from './approve/session.ts'
import { type BindingKey, bindingsOf } from './compile/bindings.ts'
import { compile, type Notice } from './compile/compile.ts'
import { resolveThrough } from './compile/resolve.ts'
import { describeGrant, SENSITIVE, type SensitiveGrant, sensitiveGrants } from './compile/sensitive.ts'
import { labelOf, type Subject, subjectsOf } from './compile/subject.ts'
import type { Project } from './project.ts'

/** Every subject's policy, ready to be handed to a process. */
export interface Policies {
  readonly bySubject: ReadonlyMap<Subject, AccessPolicy>
  readonly approved: ReadonlySet<BindingKey>
  readonly warnings: readonly string[]
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
export class PolicyError extends CordonError {
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
  only: (subject: Subject) => boolean = () => true,
): Promise<Policies> {
  const { root, loaded, workspace } = project
  const store = new ApprovalStore(workspace, {
    holder: { pid: compiler.pid, command: 'cordon' },
    uid: compiler.uid,
    now: () => new Date(),
  })
  const subjects = subjectsOf(loaded.config).filter(only)
  const bindings = bindingsOf(subjects, resolveThrough(root))
  // Without an external rule nothing is asked of the store, and no file is opened.
  const approvals = bindings.length === 0 ? undefined : await store.read()
  const approved = !approvals
    ? new Set<BindingKey>()
    : compiler.person
      ? await askForBindings(bindings, store, approvals, compiler.person)
      : approvedBindings(bindings, approvals)
  const policies = await guardSecrets(project, compileWith(root, loaded, approved, subjects), compiler)
  return { ...policies, warnings: [...(approvals?.warnings ?? []), ...policies.warnings] }
}

/** The same with the approvals already known: no prompt, no store. */
export function compileWith(
  root: Root,
  loaded: LoadedConfig,
  approved: ReadonlySet<BindingKey>,
  subjects: readonly Subject[] = subjectsOf(loaded.config),
): Policies {
  const undeclared = loaded.config.sandbox.mode === 'off' ? 'unrestricted' : 'defaults'
  const resolve = resolveThrough(root)
  const { policies, warnings, errors } = compile(subjects, { resolve, approved, undeclared })
  if (errors.length > 0) throw new PolicyError(errors)
  return { bySubject: policies, approved, warnings: warnings.map(formatNotice) }
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
  const memory = openSessionMemory(join(workspace.local, 'sessions', `${session}.json`))
  const refused = person ? await refusedGrants(grants, memory, person) : []
  const warnings = grants
    .filter((grant) => !memory.has(grant.key))
    .map((grant) => describeGrant(grant) + (refused.includes(grant) ? '; refused, so it grants nothing' : ''))
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

const formatNotice = ({ subject, origin, message }: Notice): string =>
  `${labelOf(subject)}: ${message}${origin === undefined ? '' : `\n  at ${origin}`}`
