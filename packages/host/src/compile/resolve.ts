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

/** Where a rule's path leads, as far as links can tell. Compilation sees the filesystem only through this. */
export type Resolved =
  | { readonly kind: 'inside'; readonly path: RelPath }
  | { readonly kind: 'outside'; readonly target: CanonicalPath }
  | { readonly kind: 'broken'; readonly reason: string }

export type ResolveRule = (rule: Pick<FsRule, 'path' | 'external'>) => Resolved

/** Reads the real links below the root. */
export const resolveThrough =
  (root: Root): ResolveRule =>
  ({ path, external }) => {
    try {
      const target = canonicalize(root.path, path)
      // An ordinary rule may speak of what does not exist yet; a mount that leads nowhere is broken (SPEC 3.1).
      if (external && !lstatSync(target, { throwIfNoEntry: false }))
        return { kind: 'broken', reason: whyBroken(root, path) }
      const inside = below(root.path, target, root.foldCase)
      return inside === undefined ? { kind: 'outside', target } : { kind: 'inside', path: inside }
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
