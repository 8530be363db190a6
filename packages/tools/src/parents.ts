import { type Anchor, FileError } from '@cordon/files'
import { type RelPath, splitEntry } from '@cordon/policy'

/**
 * Makes an entry and, before it, the missing directories above it; if it is not made, they go again (SPEC 4.12). They need
 * no grant of their own: between a rule and what it grants the rule itself covers them, and above a rule they are
 * the only way to what it grants (decision 0170).
 */
export function withParents<T>(anchor: Anchor, entry: RelPath, make: () => T): T {
  const parent = splitEntry(entry)?.parent
  const made = parent === undefined ? [] : anchor.mkdirp(parent)
  try {
    return make()
  } catch (error) {
    anchor.removeEmpty(made)
    throw error
  }
}

/** Anything of that name, a dangling link, too. */
export function exists(anchor: Anchor, inside: RelPath): boolean {
  try {
    anchor.stat(inside)
    return true
  } catch (error) {
    if (error instanceof FileError && error.code === 'FILE_NOT_FOUND') return false
    throw error
  }
}
