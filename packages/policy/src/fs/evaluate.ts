import { type Capability, type FsRule, type RelPath } from '../rules.ts'
import { type FsIndex } from './fs-index.ts'

export type FsDecision =
  | { readonly kind: 'granted'; readonly rule: FsRule }
  | { readonly kind: 'withheld'; readonly rule: FsRule }
  | { readonly kind: 'unmatched' }

/** SPEC 1.1: the most specific rule answers alone; what it leaves out, no wider rule fills in. Does no I/O. */
export function evaluateFs(index: FsIndex, target: RelPath, want: Capability): FsDecision {
  const rule = index.governing(target)
  if (!rule) return { kind: 'unmatched' }
  return { kind: rule.grants.has(want) ? 'granted' : 'withheld', rule }
}
