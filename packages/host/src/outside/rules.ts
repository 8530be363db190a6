import { type Capability, type Root } from '@cordon/policy'
import { nameOf, type OutsideRule } from '@cordon/sandbox'
import { type GuardRequest, withGuard } from '../compile/guard.ts'

/**
 * SPEC 4.8 and 4.10: places outside under the guard, as one list that answers like a policy whose root is `/`. Cordon's
 * own files are not written there, and its approvals and keys not even read, whatever lies around them is granted.
 */
export function guardOutside(
  places: readonly OutsideRule[],
  { survey, code }: Pick<GuardRequest, 'survey' | 'code'>,
): readonly OutsideRule[] {
  if (places.length === 0) return []
  const guarded = withGuard(byPath(places), { root: EVERYTHING, survey, more: [], code })
  return guarded.map((rule) => ({ ...rule, outside: true }))
}

/** Of two rules for one place only the later one would answer. So what was asked for in several flags or profiles is joined into one rule. */
const byPath = (places: readonly OutsideRule[]): readonly OutsideRule[] =>
  [...Map.groupBy(places, ({ path }) => path).values()].map((same) => ({
    ...same[0]!,
    grants: new Set<Capability>(same.flatMap(({ grants }) => [...grants])),
    origin: [...new Set(same.map((rule) => rule.origin ?? nameOf(rule)))].join(' '),
  }))

/** What the rules of places outside are relative to. */
export const EVERYTHING: Root = { path: '/' as Root['path'], foldCase: 'exact' }
