import type { AccessConfig } from '@cordon/config'
import { type AccessPolicy, type EnvRule, type FsRule, type RelPath, show } from '@cordon/policy'
import { bindingKey, type BindingKey } from './bindings.ts'
import { DEFAULT_ENV, DEFAULT_FS, DEFAULT_NET } from './defaults.ts'
import type { ResolveRule } from './resolve.ts'
import type { Subject } from './subject.ts'

/** Something compilation has to say about one rule. */
export interface Notice {
  readonly subject: Subject
  readonly origin: string | undefined
  readonly message: string
}

export interface Compiled {
  readonly policies: ReadonlyMap<Subject, AccessPolicy>
  readonly warnings: readonly Notice[]
  readonly errors: readonly Notice[]
}

export interface CompileOptions {
  readonly resolve: ResolveRule
  /** SPEC 3.2: the bindings a person has approved, and no others. */
  readonly approved: ReadonlySet<BindingKey>
  /** SPEC 4.2: with the sandbox off, an undeclared axis is unrestricted. */
  readonly undeclared: 'defaults' | 'unrestricted'
}

/** Merged config to one policy per subject. Pure but for the links that `resolve` reads. */
export function compile(subjects: readonly Subject[], options: CompileOptions): Compiled {
  const warnings: Notice[] = []
  const errors: Notice[] = []
  const policies = new Map<Subject, AccessPolicy>()
  for (const subject of subjects) {
    const fs: FsRule[] = []
    for (const rule of subject.access?.fs ?? []) {
      const outcome = compileRule(rule, options)
      if (outcome.rule) fs.push(outcome.rule)
      const notice = { subject, origin: rule.origin, message: outcome.message ?? '' }
      if (outcome.kind === 'dropped') warnings.push(notice)
      if (outcome.kind === 'error') errors.push(notice)
    }
    policies.set(subject, withDefaults(subject, fs, options))
  }
  return { policies, warnings, errors }
}

type Outcome =
  | { readonly kind: 'kept'; readonly rule: FsRule; readonly message?: undefined }
  | { readonly kind: 'dropped'; readonly rule: FsRule; readonly message: string }
  | { readonly kind: 'error'; readonly rule?: undefined; readonly message: string }

/** SPEC 3.1: each `return` is one row of its table. */
function compileRule(rule: FsRule, { resolve, approved }: CompileOptions): Outcome {
  const resolved = resolve(rule)
  const named = `the rule for ${show(rule.path)}`
  switch (resolved.kind) {
    case 'inside':
      if (!rule.external) return { kind: 'kept', rule: { ...rule, ...leadingTo(rule.path, resolved.path) } }
      return {
        kind: 'error',
        message:
          `${named} has external = true, but it leads to ${show(resolved.path)} inside the workspace; ` +
          'point the rule at the symlink itself, or remove external',
      }
    case 'outside':
      if (!rule.external)
        return {
          kind: 'error',
          message: `${named} leads out of the workspace; if that is meant, add external = true`,
        }
      if (approved.has(bindingKey(rule.path, resolved.target)))
        return { kind: 'kept', rule: { ...rule, approvedTarget: resolved.target } }
      return {
        kind: 'dropped',
        rule: tombstone(rule),
        message: `${named} leads to a target that is not approved; it grants nothing until it is`,
      }
    case 'broken':
      if (!rule.external) return { kind: 'error', message: `${named} cannot be resolved: ${resolved.reason}` }
      return {
        kind: 'dropped',
        rule: tombstone(rule),
        message: `${named} is a broken mount (${resolved.reason}); it grants nothing`,
      }
  }
}

const leadingTo = (written: RelPath, path: RelPath): Pick<FsRule, 'path' | 'written'> =>
  written === path ? { path } : { path, written }

/** SPEC 1.1: a dropped rule still answers for its path, with nothing, so that no wider rule answers for it. */
const tombstone = ({ path, origin }: FsRule): FsRule => ({
  path,
  grants: new Set(),
  external: true,
  ...(origin === undefined ? {} : { origin }),
})

/** SPEC 4.2: declared axes replace their default, undeclared ones keep it, written out as rules. */
function withDefaults(
  { access, variables }: Subject,
  fs: readonly FsRule[],
  { undeclared }: CompileOptions,
): AccessPolicy {
  const commands = access?.commands
  const shared = commands && Object.keys(commands).length > 0 ? { commands } : {}
  const net = access?.net ?? []
  if (undeclared === 'unrestricted') return { fs, net, env: declaredEnv(access, variables), ...shared }
  return {
    fs: access && access.fs.length > 0 ? fs : DEFAULT_FS,
    net: net.length > 0 ? net : DEFAULT_NET,
    // SPEC 4.6: the minimal set comes first, so that an explicit `read = false` takes even those away.
    env: [...DEFAULT_ENV, ...declaredEnv(access, variables)],
    ...shared,
  }
}

/** SPEC 5.2: `variables` come first, so that an explicit `read = false` wins over them. */
const declaredEnv = (access: AccessConfig | undefined, variables: readonly EnvRule[]): readonly EnvRule[] => [
  ...variables,
  ...(access?.env ?? []),
]
