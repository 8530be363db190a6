import { below, FsIndex, type FsRule, type RelPath, type Root } from '@cordon/policy'
import type { GuardSurvey } from '../guard/survey.ts'
import { namesOf, withoutWriting } from './names.ts'

/** The rule for a place where Cordon keeps approvals and keys. A policy on the wire has it as any rule that grants nothing. */
interface SecretRule extends FsRule {
  readonly secret: true
}

export const isSecretRule = (rule: FsRule | undefined): boolean => rule !== undefined && 'secret' in rule

/** Why it is refused, for people and tools alike. */
export const WHY_SECRET = 'Cordon keeps its approvals and keys there, and no command may read them'

/**
 * SPEC 4.10: Cordon's approvals and keys are nobody's, whatever lies around them: the workspace, a mount, a place outside. No
 * rule overrides that (decision 0452). The programs that Cordon installed lie there as well, and whoever has what lies around
 * can start them as before.
 */
export function withoutSecrets(
  rules: readonly FsRule[],
  { survey, root }: { readonly survey: GuardSurvey; readonly root: Root },
): readonly FsRule[] {
  if (rules.length === 0) return rules // unrestricted: there is nothing to take back from
  const places = survey.secret()
  const index = new FsIndex(rules, root.foldCase)
  const names = places.flatMap((place) => namesOf(place, index, root))
  const programs = survey.installed().flatMap((place) => namesOf(place, index, root))
  const isSecret = (path: string): boolean => places.some((place) => below(place, path) !== undefined)
  const led = rules.flatMap(({ path, approvedTarget: target }) =>
    target !== undefined && isSecret(target) ? [path] : [],
  )
  const isAt = (paths: readonly RelPath[], { path }: FsRule): boolean =>
    paths.some((name) => below(name, path, root.foldCase) !== undefined)
  const isWithin = (rule: FsRule): boolean =>
    isSecret(root.path) || (isAt([...names, ...led], rule) && !isAt(programs, rule))
  if (names.length === 0 && !rules.some(isWithin)) return rules
  // What the guard says there is said below; it would be left out for tools that only read (decision 0436).
  const written = rules.filter((rule) => rule.guard === undefined || !isWithin(rule))
  const named = new FsIndex(written, root.foldCase)
  const around = new FsIndex(
    written.filter((rule) => !isWithin(rule)),
    root.foldCase,
  )
  const hidden = names
    .filter((path) => around.governing(path)?.grants.size && !named.at(path))
    .map((path): SecretRule => ({ path, external: false, ...NOTHING, origin: BUILT_IN }))
  const shown = programs.flatMap((path): FsRule[] => {
    const cover = around.governing(path)
    if (!cover?.grants.size || around.at(path)) return []
    const { grants } = withoutWriting(cover)
    return [{ path, external: false, grants, guard: 'moved-aside', origin: BUILT_IN }]
  })
  return [...written.map((rule) => (isWithin(rule) ? { ...rule, ...NOTHING } : rule)), ...hidden, ...shown]
}

const NOTHING = { grants: new Set<never>(), secret: true } as const

const BUILT_IN = "built-in, Cordon's own"
