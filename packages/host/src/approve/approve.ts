import type { Approvals, ApprovalStore } from '@cordon/workspace'
import type { Binding, BindingKey } from '../compile/bindings.ts'
import { WRITING } from '../compile/names.ts'
import { newBindingPrompt, retargetedPrompt } from './prompt.ts'

/** Somebody who can be asked. Absent when there is no terminal, and then nothing new is ever granted. */
export interface Person {
  /** True only for an explicit yes; end of input, Ctrl-C and anything else is a no. */
  confirms(question: string): Promise<boolean>
}

/** SPEC 3.2: the bindings that were approved before, and still lead to the same target. */
export const approvedBindings = (bindings: readonly Binding[], approvals: Approvals): Set<BindingKey> =>
  new Set(
    bindings
      .filter(({ rulePath, target }) => approvals.lookup(rulePath, target) === 'approved')
      .map(({ key }) => key),
  )

const isWritten = ({ grants }: Binding): boolean =>
  grants.some(({ capabilities }) => capabilities.some((each) => WRITING.has(each)))

/**
 * SPEC 3.2, trust on first use: asks about each binding that is new or has changed, once across tools. A yes
 * is durable before it counts; the target never leaves the user's own store.
 */
export async function askForBindings(
  bindings: readonly Binding[],
  store: Pick<ApprovalStore, 'approve'>,
  approvals: Approvals,
  person: Person,
  /** SPEC 4.10: what the host obeys, or runs by itself later. */
  isGuarded: (target: string) => boolean,
): Promise<Set<BindingKey>> {
  const approved = approvedBindings(bindings, approvals)
  for (const binding of bindings) {
    const known = approvals.lookup(binding.rulePath, binding.target)
    if (known === 'approved') continue
    const use = isWritten(binding) && isGuarded(binding.target) ? 'obeyed by the host' : 'plain'
    const question =
      known === 'unknown' ? newBindingPrompt(binding, use) : retargetedPrompt(binding, known.was, use)
    if (!(await person.confirms(question))) continue
    await store.approve(binding.rulePath, binding.target)
    approved.add(binding.key)
  }
  return approved
}
