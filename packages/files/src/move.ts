import { mkdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs'
import { kindOf, sameFile } from './entry.ts'
import { FileError, type Subject, WrongKind } from './errors.ts'
import { both, lookAt, moveExclusive, orTakeBack, type Place } from './publish.ts'

export interface MoveOptions {
  /** `file`: an existing regular file may be replaced. Default: nothing is. */
  readonly replace?: 'nothing' | 'file'
}

/** An entry with the path to name it by. */
type Named = Place & { readonly path: string }

const subjectOf = ({ path }: Named): Subject => ({ operation: 'move', path })

/** Moves the entry itself: a link is moved, never its target. */
export function moveEntry(from: Named, to: Named, options: MoveOptions): void {
  const source = lookAt(from)
  if (!source) throw new FileError('FILE_NOT_FOUND', subjectOf(from), 'does not exist', 'ENOENT')
  // The kernel itself refuses an existing name in both, so there is no moment between a check and the move.
  if (options.replace !== 'file')
    return source.isDirectory() ? moveDirectory(from, to) : moveExclusive(from, to)
  const there = lookAt(to)
  if (there && !there.isFile()) throw new WrongKind(kindOf(there), 'file')
  if (!there) return source.isDirectory() ? moveDirectory(from, to) : both(from, to, renameSync)
  if (source.isDirectory()) throw new FileError('FILE_EXISTS', subjectOf(to), 'already exists', 'EEXIST')
  // rename(2) does nothing at all when both are names of one file; the source must go nevertheless.
  if (sameFile(source, there) && source.nlink > 1n && !sameEntry(from, to))
    from.directory.at((base) => unlinkSync(`${base}/${from.name}`))
  else both(from, to, renameSync)
}

/**
 * A directory cannot be linked, and rename(2) would replace an empty one. So the name is taken by an
 * empty directory of ours: `mkdir` refuses an existing name, and `rename` refuses one that was filled.
 */
function moveDirectory(from: Place, to: Place): void {
  to.directory.at((base) => mkdirSync(`${base}/${to.name}`, 0o700))
  orTakeBack(
    () => both(from, to, renameSync),
    () => to.directory.at((base) => rmdirSync(`${base}/${to.name}`)),
  )
}

const sameEntry = (a: Place, b: Place): boolean =>
  a.name === b.name && sameFile(lookAt({ ...a, name: '.' })!, lookAt({ ...b, name: '.' })!)
