import { join } from 'node:path'
import { type AccessPolicy, FsIndex, type FsRule, type Root, show } from '@cordon/policy'
import { type KernelReport, nameOf } from '@cordon/sandbox'
import { isSecretRule } from '../compile/own-secrets.ts'
import { isThere } from '../outside/place.ts'
import type { Answer } from './answer.ts'

/**
 * SPEC 4.10: what of the guard is not held here. A program may do it, so the answer is what the rules around the guard say, and
 * why the guard does not count.
 */
export function toldNotHeld(
  found: Answer,
  policy: Pick<AccessPolicy, 'fs'>,
  root: Root,
  kernel: () => KernelReport,
): Answer {
  const rule = found.rule?.axis === 'fs' ? found.rule.rule : undefined
  const { question, canonical, others } = found
  if (found.allowed || question.axis !== 'fs' || rule?.guard === undefined || canonical === undefined)
    return found
  const because = whyNotHeld(rule, root, kernel)
  if (because === undefined) return found
  const written = new FsIndex(
    policy.fs.filter(({ guard }) => guard === undefined),
    root.foldCase,
  )
  if (!written.governing(rule.path)?.grants.has(question.capability)) return found
  // Without its place: there is nothing for the kernel to add, because it holds nothing there.
  return { question, allowed: true, canonical, rule: found.rule, because, others }
}

/** Nothing is mounted on what is not there, nor where nothing can be mounted. */
function whyNotHeld(rule: FsRule, root: Root, kernel: () => KernelReport): string | undefined {
  if (rule.guard === 'told' && !isThere(join(root.path, rule.path)))
    return `${show(nameOf(rule))} is guarded, but not there yet: it is not held, and when somebody makes it you are told`
  if (isSecretRule(rule) || kernel().newRoot === 'works') return undefined
  return `${show(nameOf(rule))} is guarded, but without user namespaces the kernel cannot take back what a wider rule grants; \`cordon doctor\` says how to get them`
}
