import { type LoadedConfig } from '@cordon/config'
import { type AccessPolicy, CordonError, type Root } from '@cordon/policy'
import { type ApprovalStore } from '@cordon/workspace'
import { approvedBindings, askForBindings, type Person } from './approve/approve.ts'
import { type BindingKey, bindingsOf } from './compile/bindings.ts'
import { compile, type Notice } from './compile/compile.ts'
import { resolveThrough } from './compile/resolve.ts'
import { type Subject, subjectsOf } from './compile/subject.ts'
import { type Project } from './project.ts'

/** Every subject's policy, ready to be handed to a process. */
export interface Policies {
  readonly bySubject: ReadonlyMap<Subject, AccessPolicy>
  readonly approved: ReadonlySet<BindingKey>
  readonly warnings: readonly string[]
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
 * Compiles all policies of a project. With a person, new mounts are asked about (SPEC 3.2); without one
 * they grant nothing, and a warning says so.
 */
export async function compileProject(
  { root, loaded }: Pick<Project, 'root' | 'loaded'>,
  store: ApprovalStore,
  person?: Person,
): Promise<Policies> {
  const subjects = subjectsOf(loaded.config)
  const bindings = bindingsOf(subjects, resolveThrough(root))
  const approvals = await store.read()
  const approved = person
    ? await askForBindings(bindings, store, approvals, person)
    : approvedBindings(bindings, approvals)
  const policies = compileWith(root, loaded, approved)
  return { ...policies, warnings: [...approvals.warnings, ...policies.warnings] }
}

/** The same with the approvals already known: no prompt, no store. */
export function compileWith(root: Root, loaded: LoadedConfig, approved: ReadonlySet<BindingKey>): Policies {
  const undeclared = loaded.config.sandbox.mode === 'off' ? 'unrestricted' : 'defaults'
  const resolve = resolveThrough(root)
  const { policies, warnings, errors } = compile(subjectsOf(loaded.config), { resolve, approved, undeclared })
  if (errors.length > 0) throw new PolicyError(errors)
  return { bySubject: policies, approved, warnings: warnings.map(formatNotice) }
}

const formatNotice = ({ subject, origin, message }: Notice): string =>
  `${subject.kind} ${subject.name}: ${message}${origin === undefined ? '' : `\n  at ${origin}`}`
