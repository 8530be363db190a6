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

/** As a person types it. */
export function parseTyped(capability: string, target: string): Question {
  if (target === '') throw new QuestionError('there is nothing to ask about: the path, URL or name is empty')
  return parseQuestion(capability, capability === 'net' ? withGitPort(target) : target)
}

export function parseQuestion(capability: string, target: string): Question {
  if (capability === 'net') return { axis: 'net', capability, target }
  if (capability === 'env') return { axis: 'env', capability, target }
  if (isCapability(capability)) return { axis: 'fs', capability, target }
  // As the flag of `cordon run` is called: it grants create, update and delete together.
  if (capability === 'write') return { axis: 'fs', capability: 'update', target }
  throw new QuestionError(
    `unknown capability ${quote(capability)}; ask about one of ${[...CAPABILITIES, 'net', 'env'].join(', ')}`,
  )
}

/** SPEC 1.5 has no default port for git, and who connects has one: a rule without it would never match. */
const withGitPort = (target: string): string =>
  target.replace(/^(git:\/\/[^/?#]*?)(?=[/?#]|$)/i, (all: string) =>
    /:\d+$/.test(all) ? all : `${all}:${GIT_PORT}`,
  )

const GIT_PORT = 9418

const isCapability = (text: string): text is Capability => (CAPABILITIES as readonly string[]).includes(text)
