import { resolve } from 'node:path'
import { CordonError, type FsRule, show } from '@cordon/policy'
import type { OutsideRule } from '@cordon/sandbox'
import { refusedGrants, sessionMemoryOf } from '../approve/session.ts'
import {
  describeGrant,
  describeRefusedGrant,
  SENSITIVE,
  type SensitiveGrant,
  sensitiveGrants,
} from '../compile/sensitive.ts'
import { PLAIN } from '../compile/subject.ts'
import type { Compiler } from '../policies.ts'
import type { Project } from '../project.ts'
import { profileCommand, relativeToRoot } from './place.ts'

export interface AskedLists {
  /** From flags. */
  readonly typed: readonly OutsideRule[]
  /** From profiles, one list each. */
  readonly configured: readonly (readonly OutsideRule[])[]
  /** The origins of places that come with Cordon: who names the profile of an agent means its login. */
  readonly shipped: ReadonlySet<string>
}

export interface Confirmed {
  readonly lists: readonly (readonly OutsideRule[])[]
  readonly warnings: readonly string[]
}

/** Nobody can be asked, and a flag in a script may be anybody's. */
class UnaskedSecretError extends CordonError {
  readonly code = 'FLAG'
  constructor({ rule, pattern }: SensitiveGrant, home: string) {
    super(
      `${show(rule.origin ?? `/${rule.path}`)}: secrets live there (${pattern}), and without a terminal nobody can be asked\n` +
        '  fix: run it at a terminal; or, for scripts, name it in a profile of your own, and use --profile mine:\n' +
        `    ${profileCommand(rule, home)}`,
    )
  }
}

/**
 * SPEC 4.9: a place where secrets live is asked about, once a session. What was typed is not granted where nobody can be
 * asked; what a person wrote into their configuration is, with a warning, as in every policy.
 */
export async function confirmOutside(
  { typed, configured, shipped }: AskedLists,
  { loaded, workspace }: Project,
  compiler: Compiler,
): Promise<Confirmed> {
  const { home } = compiler
  const patterns = [...SENSITIVE, ...loaded.config.sandbox.sensitive]
  const sensitiveIn = (rules: readonly FsRule[]): readonly SensitiveGrant[] =>
    sensitiveGrants(new Map([[SUBJECT, { fs: rules, net: [], env: [] }]]), { root: '/', home, patterns })
  // A shipped profile that names such a place is consent. One whose place a command made a link to it does not name it.
  const isNamed = ({ rule, pattern }: SensitiveGrant): boolean =>
    shipped.has(rule.origin ?? '') &&
    (rule.written === undefined ||
      sensitiveIn([{ ...rule, path: relativeToRoot(resolve('/', rule.written)) }]).some(
        (grant) => grant.pattern === pattern,
      ))
  const sensitive = (rules: readonly OutsideRule[]): readonly SensitiveGrant[] =>
    sensitiveIn(rules).filter((grant) => !isNamed(grant))
  const grants = [typed, ...configured].flatMap(sensitive)
  if (grants.length === 0) return { lists: [typed, ...configured], warnings: [] }
  const { person, session } = compiler // which session it is has to be looked up, so only now
  const memory = sessionMemoryOf(workspace, session)
  // What nobody wrote down is not granted where nobody can be asked.
  const isOfNobody = ({ rule }: SensitiveGrant): boolean =>
    typed.includes(rule as OutsideRule) || shipped.has(rule.origin ?? '')
  const unasked = person ? undefined : grants.find((grant) => isOfNobody(grant) && !memory.has(grant.key))
  if (unasked) throw new UnaskedSecretError(unasked, home)
  const known = new Set(grants.filter(({ key }) => memory.has(key)))
  const refused = new Set(person ? (await refusedGrants(grants, memory, person)).map(({ rule }) => rule) : [])
  return {
    // SPEC 1.1: a refused rule grants nothing, and stays, so that no wider one answers for its place.
    lists: [typed, ...configured].map((rules) =>
      rules.map((rule) => (refused.has(rule) ? { ...rule, grants: new Set() } : rule)),
    ),
    warnings: grants
      .filter((grant) => !known.has(grant))
      .map((grant) => (refused.has(grant.rule) ? describeRefusedGrant(grant) : describeGrant(grant))),
  }
}

const SUBJECT = { kind: 'profile', name: PLAIN, access: undefined, variables: [], key: [] } as const
