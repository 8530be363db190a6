import { type CanonicalPath, type RelPath, show } from '@cordon/policy'
import { asApproval, type MountApproval, type ReadResult } from './document.ts'

/** SPEC 3.2: exact match, nothing known, or known with another target. */
export type MountLookup = 'approved' | 'unknown' | { readonly was: string }

/** What the store held when it was read. Lookup does no I/O, so that compiling a policy stays pure. */
export class Approvals {
  readonly mounts: readonly MountApproval[]
  /** What a person must be told: the file is broken, or an entry in it is. */
  readonly warnings: readonly string[]

  constructor(mounts: readonly MountApproval[], warnings: readonly string[]) {
    this.mounts = mounts
    this.warnings = warnings
  }

  lookup(rulePath: RelPath, target: CanonicalPath): MountLookup {
    const known = this.mounts.filter((mount) => mount.rule_path === rulePath)
    if (known.some((mount) => mount.canonical_target === target)) return 'approved'
    const last = known.at(-1)
    return last ? { was: last.canonical_target } : 'unknown'
  }
}

/** Whatever cannot be understood approves nothing (SPEC 3.2). */
export function interpret(file: string, read: ReadResult): Approvals {
  if (read.kind !== 'usable')
    return new Approvals(
      [],
      [`approvals are ignored: ${show(file)}: ${read.problem}; nothing counts as approved`],
    )
  const entries = read.document.mounts.map(asApproval)
  const warnings = entries.flatMap((entry, i) =>
    entry
      ? []
      : [`an approval is ignored: ${show(file)}: mounts[${i}] is not a rule path with an absolute target`],
  )
  return new Approvals(
    entries.filter((entry) => entry !== undefined),
    warnings,
  )
}
