import {
  type AccessPolicy,
  CAPABILITIES,
  type Capability,
  type FsRule,
  type RelPath,
  ROOT,
} from '@cordon/policy'
import { type OutsideRule } from './outside.ts'
import { WRITING } from './hold.ts'
import { encloses, join, sortByPath } from './paths.ts'
import { type PathKind, type Survey } from './survey.ts'

/** One stretch of the tree with one answer: a rule's path, absolute, down to the next deeper rule. */
export interface Region {
  readonly path: string
  readonly kind: PathKind
  readonly grants: ReadonlySet<Capability>
  /** More than one when mounts share a target. None for a root that no rule names. */
  readonly rules: readonly FsRule[]
}

export const NOTHING: ReadonlySet<Capability> = new Set()
export const EVERYTHING: ReadonlySet<Capability> = new Set(CAPABILITIES)

/**
 * The policy's fs rules where the kernel sees them: by absolute path, parents first. The workspace root is
 * always there; without any rule it is wholly granted (SPEC 4.2), with rules that leave it out, not at all. What lies
 * outside adds to it (SPEC 4.8); in the workspace the policy alone speaks.
 */
export function regionsOf(
  policy: AccessPolicy,
  outside: readonly OutsideRule[],
  survey: Survey,
): readonly Region[] {
  const root = survey.root.canonical
  const places = placeRules(policy.fs, root)
  if (!places.has(root)) places.set(root, [])
  const kindOf = (path: string): PathKind => (path === root ? 'dir' : (survey.kinds.get(path) ?? 'missing'))
  const found = new Map(
    [...places].map(([path, rules]): [string, Region] => [
      path,
      {
        path,
        kind: kindOf(path),
        grants: rules.length > 0 ? common(rules) : policy.fs.length === 0 ? EVERYTHING : NOTHING,
        rules,
      },
    ]),
  )
  for (const [path, rules] of placeRules(outside, '/')) {
    if (encloses(root, path)) continue
    const there = found.get(path)
    found.set(path, {
      path,
      kind: kindOf(path),
      grants: new Set([...(there?.grants ?? []), ...common(rules)]),
      rules: [...(there?.rules ?? []), ...rules],
    })
  }
  return sortByPath([...found.values()])
}

/** Every absolute path that a rule speaks of, with the rules that do. What the survey looks at. */
export function placeRules(rules: readonly FsRule[], root: string): Map<string, FsRule[]> {
  const last = new Map<RelPath, FsRule>()
  for (const rule of rules) last.set(rule.path, rule) // SPEC 1.1: on equal specificity the last rule wins
  const places = new Map<string, FsRule[]>()
  for (const rule of last.values()) {
    const path = placeOf(rule, last, root)
    const there = places.get(path)
    if (there) there.push(rule)
    else places.set(path, [rule])
  }
  return places
}

/** The workspace, and where else these rules let something be written. */
export const writablePlaces = ({
  fs,
  outside,
  root,
}: {
  readonly fs: readonly FsRule[]
  readonly outside: readonly OutsideRule[]
  readonly root: string
}): readonly string[] => [
  root,
  ...[...placeRules(fs, root), ...placeRules(outside, '/')].flatMap(([path, rules]) =>
    !encloses(root, path) && rules.some(({ grants }) => WRITING.some((each) => grants.has(each)))
      ? [path]
      : [],
  ),
]

/** External rules lie at their target; what lies below a mount by name lies below its target in fact. */
function placeOf(rule: FsRule, all: ReadonlyMap<RelPath, FsRule>, root: string): string {
  if (rule.approvedTarget !== undefined) return rule.approvedTarget
  for (let end = rule.path.lastIndexOf('/'); end > 0; end = rule.path.lastIndexOf('/', end - 1)) {
    const mount = all.get(rule.path.slice(0, end) as RelPath)
    if (mount?.approvedTarget !== undefined) return join(mount.approvedTarget, rule.path.slice(end + 1))
  }
  return rule.path === ROOT ? root : join(root, rule.path)
}

/** Two names for one place: the kernel sees the place, so it gets what every name grants. */
function common(rules: readonly FsRule[]): ReadonlySet<Capability> {
  const [first] = rules
  if (first && rules.length === 1) return first.grants
  return new Set(CAPABILITIES.filter((capability) => rules.every((rule) => rule.grants.has(capability))))
}
