import { isTable, type Source, uncheckedValues } from '@cordon/config'
import { below, CordonError, parseRelPath, type RelPath } from '@cordon/policy'
import type { Workspace } from '@cordon/workspace'
import type { GuardSurvey } from '../guard/survey.ts'
import type { TrustItem } from './items.ts'

/**
 * SPEC 4.10: what is guarded in this workspace, as rules name it: also by git's configuration (`core.hooksPath`), and by
 * `sandbox.guard` of any of these sources. Unchecked: what is wrong with one is found when it counts.
 */
export function withGuarded<T extends TrustItem>(
  items: readonly T[],
  survey: GuardSurvey,
  { root }: Pick<Workspace, 'root'>,
  counting: readonly Source[],
): readonly T[] {
  if (items.length === 0) return items
  const more = [...counting, ...items.flatMap(({ sources }) => sources)].flatMap(addedBy)
  const guarded = [...survey.workspace(), ...survey.more(more)].flatMap(({ path, open }) =>
    open ? [] : (below(root, path) ?? []),
  )
  return items.map((item) => ({ ...item, guarded }))
}

function addedBy(source: Source): readonly RelPath[] {
  const read = uncheckedValues(source)
  const sandbox = read.kind === 'values' ? read.values['sandbox'] : undefined
  const list = isTable(sandbox) ? sandbox['guard'] : undefined
  const paths = isTable(list) ? list['value'] : list
  return Array.isArray(paths) ? paths.flatMap(relPathOf) : []
}

function relPathOf(path: unknown): readonly RelPath[] {
  try {
    return typeof path === 'string' ? [parseRelPath(path)] : []
  } catch (error) {
    if (error instanceof CordonError) return []
    throw error
  }
}
