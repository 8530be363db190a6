import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import {
  below,
  type CanonicalPath,
  canonicalize,
  FsAccessError,
  type FsRule,
  type RelPath,
  type Root,
} from '@cordon/policy'
import type { GuardSurvey } from '../guard/survey.ts'

/** Where a rule's path leads, as far as links can tell. Compilation sees the filesystem only through this. */
export type Resolved =
  | { readonly kind: 'inside'; readonly path: RelPath }
  | { readonly kind: 'outside'; readonly target: CanonicalPath }
  | { readonly kind: 'broken'; readonly reason: string }

export type ResolveRule = (rule: Pick<FsRule, 'path' | 'external'>) => Resolved

/** Why no tool and no server has a place, whoever grants or approves it. */
export const CORDONS_OWN = 'is where Cordon keeps approvals and configuration; no tool may have that'

/** Reads the real links below the root. With a guard, a mount of what is Cordon's own is broken (SPEC 4.10, decision 0470). */
export const resolveThrough =
  (root: Root, guard?: Pick<GuardSurvey, 'own'>): ResolveRule =>
  ({ path, external }) => {
    try {
      const target = canonicalize(root.path, path)
      // An ordinary rule may speak of what does not exist yet; a mount that leads nowhere is broken (SPEC 3.1).
      if (external && !lstatSync(target, { throwIfNoEntry: false }))
        return { kind: 'broken', reason: whyBroken(root, path) }
      const inside = below(root.path, target, root.foldCase)
      if (inside !== undefined) return { kind: 'inside', path: inside }
      if (external && guard?.own().some((place) => below(place, target) !== undefined))
        return { kind: 'broken', reason: `its target ${CORDONS_OWN}` }
      return { kind: 'outside', target }
    } catch (error) {
      if (error instanceof FsAccessError) return { kind: 'broken', reason: error.message }
      throw error
    }
  }

/** Two states that are mended differently: the link is gone, or what it leads to is. */
const whyBroken = ({ path: root }: Root, path: RelPath): string =>
  lstatSync(join(root, path), { throwIfNoEntry: false })
    ? `${path} leads to nothing that exists`
    : `there is no link ${path}`
