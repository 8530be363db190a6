import type { EntryKind } from '@cordon/files'
import { show } from '@cordon/policy'
import { ToolError } from './report.ts'

/** Said before anybody is asked, and before any rule is: no yes and no rule would help. */
export function requireFile(kind: EntryKind, name: string): void {
  const why = whyNotReplaced(kind, name)
  if (why !== undefined) throw new ToolError(why)
}

/** Why nothing is moved to a name that is taken by this; undefined: it can be. */
export const whyNotReplaced = (kind: EntryKind, name: string): string | undefined =>
  kind === 'file' ? undefined : `${show(name)} is a ${kind}, and only a file is replaced`
