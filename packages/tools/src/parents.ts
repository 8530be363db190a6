import { type Anchor, FileError } from '@cordon/files'
import { type Location, type RelPath, ROOT, splitEntry } from '@cordon/policy'
import { type Access, Names } from './access.ts'

/**
 * Makes the missing directories above an entry, each with its own `create` (SPEC 1.2). Returns what takes
 * them back if the entry is not made after all.
 */
export function makeParents(access: Access, anchor: Anchor, location: Location): () => void {
  const names = new Names(location)
  const missing: RelPath[] = []
  for (
    let at = splitEntry(location.inside)?.parent;
    at !== undefined && at !== ROOT;
    at = splitEntry(at)?.parent
  ) {
    if (exists(anchor, at)) break
    missing.unshift(at)
  }
  for (const directory of missing) access.require(names.relative(directory), 'create')
  const deepest = missing.at(-1)
  if (deepest !== undefined) anchor.mkdirp(deepest)
  return () => {
    for (const directory of missing.toReversed()) removeIfEmpty(anchor, directory)
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

function removeIfEmpty(anchor: Anchor, directory: RelPath): void {
  try {
    anchor.rmdir(directory)
  } catch (error) {
    // Somebody uses it by now: it stays.
    if (!(error instanceof FileError)) throw error
  }
}
