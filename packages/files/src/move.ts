import { type BigIntStats, mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { carryEntry, movingOf, type Named } from './carry.ts'
import { type FileVersion, kindOf, sameFile, versionOf } from './entry.ts'
import { errnoOf, FileError, type Subject, WrongKind } from './errors.ts'
import { both, durably, lookAt, moveExclusive, orTakeBack, type Slot, removeEntry } from './publish.ts'

export interface MoveOptions {
  /** `file`: an existing regular file may be replaced. Default: nothing is. */
  readonly replace?: 'nothing' | 'file'
  /** The file that is replaced must be there, in this version. */
  readonly replaces?: FileVersion
  /** What is moved or copied must be this version. */
  readonly source?: FileVersion
  /** `refuse`: what would have to be copied is `FILE_CROSS_DEVICE`, for a caller that cannot stand still meanwhile. */
  readonly across?: 'carry' | 'refuse'
}

/** Moves the entry itself: a link is moved, never its target. Durable when it returns; an error means that nothing moved. */
export function moveEntry(from: Named, to: Named, options: MoveOptions): void {
  const source = lookAt(from)
  if (!source) throw new FileError('FILE_NOT_FOUND', movingOf(from), 'does not exist', 'ENOENT')
  requireVersion(source, options.source, movingOf(from))
  const replaced = options.replace === 'file' ? replaceable(source, to) : undefined
  requireVersion(replaced, options.replaces, movingOf(to))
  const places = [from.directory, to.directory]
  if (source.isDirectory())
    return durably(
      places,
      () => moveDirectory(from, to),
      () => moveDirectory(to, from),
    )
  if (replaced && sameFile(source, replaced)) return moveOntoItself(from, to, source)
  try {
    if (replaced) durably(places, () => renameOver(from, to))
    // The kernel itself refuses an existing name, so there is no moment between a check and the move.
    else
      durably(
        places,
        () => moveExclusive(from, to),
        () => moveExclusive(to, from),
      )
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV' || options.across === 'refuse') throw error
    carryEntry(from, to, source, replaced)
  }
}

function requireVersion(
  found: BigIntStats | undefined,
  wanted: FileVersion | undefined,
  subject: Subject,
): void {
  if (wanted === undefined || (found && versionOf(found) === wanted)) return
  throw new FileError('FILE_CHANGED', subject, 'is not the version that was looked at')
}

const renameOver = (from: Slot, to: Slot): void => both(from, to, renameSync)

/** The regular file that will be replaced; undefined when nothing is there. */
function replaceable(source: BigIntStats, to: Named): BigIntStats | undefined {
  const there = lookAt(to)
  if (there && !there.isFile()) throw new WrongKind(kindOf(there), 'file')
  if (there && source.isDirectory())
    throw new FileError('FILE_EXISTS', movingOf(to), 'already exists', 'EEXIST')
  return there
}

/**
 * rename(2) does nothing at all when both are names of one file; the old name must go nevertheless. The same entry, perhaps
 * by another mount of its directory, stays.
 */
function moveOntoItself(from: Named, to: Named, source: BigIntStats): void {
  if (sameEntry(from, to)) return
  // One name that is spelled in two ways, where letters' case is ignored: the spelling changes.
  if (source.nlink < 2n) durably([from.directory, to.directory], () => renameOver(from, to))
  else durably([from.directory], () => removeEntry(from))
}

/**
 * A directory cannot be linked, and rename(2) would replace an empty one. So the name is taken by an
 * empty directory of ours: `mkdir` refuses an existing name, and `rename` refuses one that was filled.
 */
function moveDirectory(from: Slot, to: Slot): void {
  to.directory.at((base) => mkdirSync(`${base}/${to.name}`, 0o700))
  orTakeBack(
    () => both(from, to, renameSync),
    () => to.directory.at((base) => rmdirSync(`${base}/${to.name}`)),
  )
}

const sameEntry = (a: Slot, b: Slot): boolean =>
  a.name === b.name && sameFile(lookAt({ ...a, name: '.' })!, lookAt({ ...b, name: '.' })!)
