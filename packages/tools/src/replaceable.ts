import type { EntryKind } from '@cordon/files'
import { show } from '@cordon/policy'
import { ToolError } from './report.ts'

/** Said before anybody is asked, and before any rule is: no yes and no rule would help. */
export function requireFile(kind: EntryKind, name: string): void {
  if (kind !== 'file') throw new ToolError(`${show(name)} is a ${kind}, and only a file is replaced`)
}
