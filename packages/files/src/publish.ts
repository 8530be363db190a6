import {
  type BigIntStats,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
} from 'node:fs'
import { type Directory } from './directory.ts'
import { type FileVersion, kindOf, modeOf, versionOf } from './entry.ts'
import { errnoOf, FileError, fileError, type Subject, WrongKind } from './errors.ts'

export interface WriteOptions {
  /**
   * What must be there now: nothing (`missing`, held by the kernel), some file (`present`), the very
   * version that was read, or whatever version has this content. Without it, a file is made or replaced.
   */
  readonly expect?: 'missing' | 'present' | FileVersion | ExpectedContent
  /** Exactly this mode, whatever was there. Without it the old file's is kept, a new one gets the umask's. */
  readonly mode?: number
}

/** Lower-case hexadecimal: the content hash of an `If-Match` (SPEC 7.2). */
interface ExpectedContent {
  readonly sha256: string
}

/** One directory entry, by the directory that holds it. */
export interface Slot {
  readonly directory: Directory
  readonly name: string
}

/** What is there now, refused if it may not be replaced. Links are refused, not followed and not replaced. */
export function inspectTarget(
  slot: Slot,
  expect: WriteOptions['expect'],
  subject: Subject,
): BigIntStats | undefined {
  const there = lookAt(slot)
  if (there?.isSymbolicLink() || (there && !there.isFile())) throw new WrongKind(kindOf(there), 'file')
  if (expect === undefined) return there
  if (expect === 'missing') {
    if (there) throw new FileError('FILE_EXISTS', subject, 'already exists', 'EEXIST')
  } else if (expect === 'present' || typeof expect === 'object') {
    if (!there) throw new FileError('FILE_NOT_FOUND', subject, 'does not exist', 'ENOENT')
  } else if (!there || versionOf(there) !== expect) {
    throw new FileError('FILE_CHANGED', subject, 'is not the version that was read')
  }
  return there
}

/**
 * SPEC 6.4: the mode is kept. Setuid, setgid and sticky are not: they were given to other content. Where
 * the owner or group cannot be kept, the group gets no more than everybody had (decision 0014).
 */
export function setMode(fd: number, old: BigIntStats | undefined, mode: number | undefined): void {
  const kept = old && keepOwner(fd, old)
  fchmodSync(fd, (mode ?? kept ?? 0o666 & ~umask()) & 0o777)
}

function keepOwner(fd: number, old: BigIntStats): number {
  const mode = modeOf(old)
  const mine = fstatSync(fd, { bigint: true })
  if (mine.uid === old.uid && mine.gid === old.gid) return mode
  try {
    fchownSync(fd, Number(old.uid), Number(old.gid))
    return mode
  } catch {
    return mine.gid === old.gid ? mode : (mode & 0o707) | ((mode & 0o007) << 3)
  }
}

/** `process.umask()` would set it to 0 for a moment, for every thread. */
function umask(): number {
  try {
    const line = /^Umask:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))
    if (line?.[1] !== undefined) return Number.parseInt(line[1], 8)
  } catch {
    // Not Linux: there is no other way to ask.
  }
  return process.umask()
}

/**
 * Gives the finished file its name in one step, and makes the name durable. When the disk does not confirm a new name, it
 * is taken back; a replaced file cannot be (decision 0170).
 */
export function publish(temp: Slot, target: Slot, expect: WriteOptions['expect']): void {
  const { directory } = target
  if (expect === 'missing')
    durably(
      [directory],
      () => moveExclusive(temp, target),
      () => removeEntry(target),
    )
  else durably([directory], () => both(temp, target, renameSync))
}

/** Changes names in these directories; they are on the disk when it returns. If they cannot be, the change is taken back. */
export function durably(
  directories: readonly Directory[],
  change: () => void,
  takeBack: () => void = () => undefined,
): void {
  const syncs: (((() => void) & { close(): void }) | undefined)[] = []
  try {
    for (const directory of directories) syncs.push(openForSync(directory))
    change()
    orTakeBack(() => {
      for (const sync of syncs) sync?.()
    }, takeBack)
  } finally {
    for (const sync of syncs) sync?.close()
  }
}

/** Of an entry that the caller knows by a path, the error names that path: of two entries it was this one. */
export function removeEntry({ directory, name, path }: Slot & { readonly path?: string }): void {
  try {
    directory.at((base) => unlinkSync(`${base}/${name}`))
  } catch (error) {
    throw path === undefined ? error : fileError(error, { operation: 'move', path })
  }
}

/** Runs one system call on two entries. */
export const both = (from: Slot, to: Slot, call: (from: string, to: string) => void): void =>
  from.directory.at((a) => to.directory.at((b) => call(`${a}/${from.name}`, `${b}/${to.name}`)))

/**
 * A move that never replaces anything: `link` refuses an existing name, in the kernel. Not for
 * directories. Killed between the two calls, the file has both names, and nothing is lost.
 */
export function moveExclusive(from: Slot, to: Slot): void {
  try {
    both(from, to, linkSync)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined || !NO_HARD_LINK.has(errno)) throw error
    return moveIntoPlaceholder(from, to)
  }
  orTakeBack(
    () => removeEntry(from),
    () => removeEntry(to),
  )
}

/** A filesystem without hard links, or a file that `fs.protected_hardlinks` keeps us from linking. */
const NO_HARD_LINK: ReadonlySet<string> = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'])

/**
 * The name is taken exclusively by an empty file of ours, which the move replaces. Weaker in one point:
 * what another process writes *into our empty file* between the two calls is lost (decision 0013).
 */
function moveIntoPlaceholder(from: Slot, to: Slot): void {
  closeSync(to.directory.createRegular(to.name, constants.O_WRONLY, 0o600))
  orTakeBack(
    () => both(from, to, renameSync),
    () => removeEntry(to),
  )
}

/** A half-done move is undone; if that fails too, the first error is the one to report. */
export function orTakeBack(act: () => void, takeBack: () => void): void {
  try {
    act()
  } catch (error) {
    try {
      takeBack()
    } catch {
      // Both names remain, or an empty one: nothing was lost.
    }
    throw error
  }
}

export const lookAt = ({ directory, name }: Slot): BigIntStats | undefined =>
  directory.at((base) => lstatSync(`${base}/${name}`, { bigint: true, throwIfNoEntry: false }))

/** A new name is only safe from a power cut when its directory was written, too. */
export const syncDirectory = (directory: Directory): void => durably([directory], () => undefined)

/** Opened before the change, so that a failure to open fails it; undefined for a directory we may not read. */
function openForSync(directory: Directory): ((() => void) & { close(): void }) | undefined {
  try {
    const fd = directory.at((base) => openSync(`${base}/.`, constants.O_RDONLY))
    return Object.assign(() => fsyncIfPossible(fd), { close: () => closeSync(fd) })
  } catch (error) {
    if (errnoOf(error) === 'EACCES') return undefined
    throw error
  }
}

function fsyncIfPossible(fd: number): void {
  try {
    fsyncSync(fd)
  } catch (error) {
    if (errnoOf(error) !== 'EINVAL') throw error // EINVAL: this filesystem has no such thing
  }
}
