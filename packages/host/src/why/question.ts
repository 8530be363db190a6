import { CAPABILITIES, type Capability, CordonError, quote } from '@cordon/policy'

/** What `cordon why` is asked (SPEC 4.7). */
export type Question =
  | { readonly axis: 'fs'; readonly capability: Capability; readonly target: string }
  | { readonly axis: 'net'; readonly capability: 'net'; readonly target: string }
  | { readonly axis: 'env'; readonly capability: 'env'; readonly target: string }

/** The question itself is wrong: an unknown tool or capability. */
export class QuestionError extends CordonError {
  readonly code = 'QUESTION'
}

export function parseQuestion(capability: string, target: string): Question {
  if (target === '') throw new QuestionError('there is nothing to ask about: the path, URL or name is empty')
  if (capability === 'net') return { axis: 'net', capability, target }
  if (capability === 'env') return { axis: 'env', capability, target }
  if (isCapability(capability)) return { axis: 'fs', capability, target }
  // As the flag of `cordon run` is called: it grants create, update and delete together.
  if (capability === 'write') return { axis: 'fs', capability: 'update', target }
  throw new QuestionError(
    `unknown capability ${quote(capability)}; ask about one of ${[...CAPABILITIES, 'net', 'env'].join(', ')}`,
  )
}

const isCapability = (text: string): text is Capability => (CAPABILITIES as readonly string[]).includes(text)
