import { join } from 'node:path'
import { type AccessPolicy, FsIndex, type Root, show } from '@cordon/policy'
import { nameOf } from '@cordon/sandbox'
import { isThere } from '../outside/place.ts'
import type { Answer } from './answer.ts'

/**
 * SPEC 4.10: of a guarded path that is not there nothing can be held. A program may make it, and at the end that is told;
 * so the answer is what the rules around the guard say.
 */
export function toldNotHeld(found: Answer, policy: Pick<AccessPolicy, 'fs'>, root: Root): Answer {
  const rule = found.rule?.axis === 'fs' ? found.rule.rule : undefined
  const { question, canonical, others } = found
  if (found.allowed || question.axis !== 'fs' || rule?.guard !== 'told' || canonical === undefined)
    return found
  if (isThere(join(root.path, rule.path))) return found
  const written = new FsIndex(
    policy.fs.filter(({ guard }) => guard === undefined),
    root.foldCase,
  )
  if (!written.governing(rule.path)?.grants.has(question.capability)) return found
  // Without its place: there is nothing for the kernel to add, because it holds nothing there.
  return {
    question,
    allowed: true,
    canonical,
    rule: found.rule,
    because: `${show(nameOf(rule))} is guarded, but not there yet: it is not held, and when somebody makes it you are told`,
    others,
  }
}
