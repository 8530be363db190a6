import {
  below,
  type Capability,
  type FsIndex,
  type FsRule,
  joinRel,
  type RelPath,
  type Root,
} from '@cordon/policy'

/** What changes files. */
export const WRITING: ReadonlySet<Capability> = new Set(['create', 'update', 'delete'])

export function writes({ grants }: Pick<FsRule, 'grants'>): boolean {
  for (const capability of grants) if (WRITING.has(capability)) return true
  return false
}

/** The same rule, less what changes files. */
export const withoutWriting = (rule: FsRule): FsRule => ({
  ...rule,
  grants: new Set([...rule.grants].filter((each) => !WRITING.has(each))),
})

/** The rules that lead out of the workspace, as far as no later one replaced them. */
const mountsOf = (written: FsIndex): readonly FsRule[] =>
  written.rules.filter((rule) => rule.approvedTarget !== undefined && written.at(rule.path) === rule)

/** What rules call a place: its path in the workspace, or in each mount that shows it. */
export function namesOf(path: string, written: FsIndex, root: Root): readonly RelPath[] {
  const inside = below(root.path, path)
  if (inside !== undefined) return [inside]
  return mountsOf(written).flatMap((mount) => {
    const rest = below(mount.approvedTarget!, path)
    return rest === undefined ? [] : [joinRel(mount.path, rest)]
  })
}
