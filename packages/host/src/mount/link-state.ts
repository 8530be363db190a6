import { type Anchor, FileError } from '@cordon/files'
import { type CanonicalPath, canonicalize, FsAccessError, type RelPath, type Root } from '@cordon/policy'
import { statSync } from 'node:fs'

/** What stands at a mount's name. */
export type ExistingLink =
  | { readonly kind: 'missing' }
  /** Undefined target: it leads to nothing that exists. */
  | { readonly kind: 'link'; readonly target: CanonicalPath | undefined }
  | { readonly kind: 'other' }
  /** The name cannot be looked at, or something on the way to it is no directory. */
  | { readonly kind: 'blocked'; readonly reason: string }

export function existingLink(anchor: Pick<Anchor, 'stat'>, root: Root, name: RelPath): ExistingLink {
  try {
    if (anchor.stat(name).kind !== 'link') return { kind: 'other' }
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    if (error.code === 'FILE_NOT_FOUND') return { kind: 'missing' }
    return { kind: 'blocked', reason: error.message }
  }
  return { kind: 'link', target: leadsTo(root, name) }
}

function leadsTo(root: Root, name: RelPath): CanonicalPath | undefined {
  try {
    const target = canonicalize(root.path, name)
    return statSync(target, { throwIfNoEntry: false }) && target
  } catch (error) {
    if (error instanceof FsAccessError) return undefined
    throw error
  }
}
