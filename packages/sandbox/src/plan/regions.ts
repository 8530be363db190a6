import { type Capability, type FsRule } from '@cordon/policy'
import { type PathKind } from './survey.ts'

/** One stretch of the tree with one answer: a rule's path, absolute, down to the next deeper rule. */
export interface Region {
  readonly path: string
  readonly kind: PathKind
  readonly grants: ReadonlySet<Capability>
  readonly rule: FsRule | undefined
}
