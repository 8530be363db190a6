import { isDeepStrictEqual } from 'node:util'
import { isPrefix, type PathPrefix } from './prefix.ts'
import { TokenError } from './refusal.ts'

/** SPEC 7.3: the form of a constraint, carried in a delegation's `meta`. */
export interface ResourceConstraint {
  readonly provider: 'filesystem'
  readonly path_prefix: PathPrefix
}

export const metaFor = (prefix: PathPrefix): { resource_constraint: ResourceConstraint } => ({
  resource_constraint: { provider: 'filesystem', path_prefix: prefix },
})

/**
 * The same as UCAN policy, so that any verifier of UCAN holds it: `path`, and `destination` where there is
 * one, are the prefix or below it. (A selector that finds nothing makes its statement false.)
 */
export function policyFor(prefix: PathPrefix): unknown[] {
  const below = prefix === '/' ? '/*' : `${prefix.replaceAll('*', '\\*')}/*`
  const inside = (selector: string): unknown[] => [
    ['==', selector, prefix],
    ['like', selector, below],
  ]
  return [
    ['or', inside('.path')],
    ['or', [['not', ['like', '.destination', '*']], ...inside('.destination')]],
  ]
}

/** SPEC 7.3: both forms must be there and agree; anything else in them is refused, because nobody would hold it (decision 0161). */
export function readConstraint(meta: unknown, policy: unknown): PathPrefix {
  const prefix = prefixIn(meta)
  if (!isPrefix(prefix) || !isDeepStrictEqual(meta, metaFor(prefix)))
    throw new TokenError(
      'token_constraint',
      'a delegation has no resource_constraint {provider: "filesystem", path_prefix}',
    )
  if (!isDeepStrictEqual(policy, policyFor(prefix)))
    throw new TokenError(
      'token_constraint',
      'the policy of a delegation does not agree with its resource_constraint',
    )
  return prefix
}

function prefixIn(meta: unknown): unknown {
  const { resource_constraint: constraint } = (meta ?? {}) as {
    resource_constraint?: { path_prefix?: unknown }
  }
  return constraint?.path_prefix
}
