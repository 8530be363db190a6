import { CAPABILITIES, type CanonicalPath, type Capability, type RelPath } from '@cordon/policy'
import { type ResolveRule } from './resolve.ts'
import { type Subject } from './subject.ts'

/** SPEC 3.2: what a person approves: that this name in the workspace leads to that place outside it. */
export interface Binding {
  readonly key: BindingKey
  readonly rulePath: RelPath
  readonly target: CanonicalPath
  /** What each subject would get under it, for the prompt. */
  readonly grants: readonly { readonly subject: string; readonly capabilities: readonly Capability[] }[]
}

declare const brand: unique symbol
export type BindingKey = string & { readonly [brand]: 'BindingKey' }

/** NUL cannot occur in a path, so the key is unambiguous. */
export const bindingKey = (rulePath: RelPath, target: string): BindingKey =>
  `${rulePath}\0${target}` as BindingKey

/** Every external rule that leads somewhere, once across subjects, in the order they were written. */
export function bindingsOf(subjects: readonly Subject[], resolve: ResolveRule): Binding[] {
  const found = new Map<
    BindingKey,
    Omit<Binding, 'grants'> & { grants: Map<string, ReadonlySet<Capability>> }
  >()
  for (const subject of subjects) {
    for (const rule of subject.access?.fs ?? []) {
      const resolved = rule.external ? resolve(rule) : undefined
      if (resolved?.kind !== 'outside') continue
      const key = bindingKey(rule.path, resolved.target)
      const binding = found.get(key) ?? {
        key,
        rulePath: rule.path,
        target: resolved.target,
        grants: new Map(),
      }
      // SPEC 1.1: on equal specificity the last rule wins, so the last one is what the subject gets.
      binding.grants.set(subject.name, rule.grants)
      found.set(key, binding)
    }
  }
  return [...found.values()].map(({ grants, ...binding }) => ({
    ...binding,
    grants: [...grants].map(([subject, granted]) => ({
      subject,
      capabilities: CAPABILITIES.filter((capability) => granted.has(capability)),
    })),
  }))
}
