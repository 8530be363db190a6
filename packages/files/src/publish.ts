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
import { errnoOf, FileError, type Subject, WrongKind } from './errors.ts'

export interface WriteOptions {
  /**
   * What must be there now: nothing (`missing`, held by the kernel), some file (`present`), or the very
   * version that was read. Without it, a file is made or replaced.
   */
  readonly expect?: 'missing' | 'present' | FileVersion
  /** Exactly this mode, whatever was there. Without it the old file's is kept, a new one gets the umask's. */
  readonly mode?: number
}

/** One directory entry, by the directory that holds it. */
export interface Place {
  readonly directory: Directory
  readonly name: string
}

/** What is there now, refused if it may not be replaced. Links are refused, not followed and not replaced. */
export function inspectTarget(
  place: Place,
  expect: WriteOptions['expect'],
  subject: Subject,
): BigIntStats | undefined {
  const there = lookAt(place)
  if (there?.isSymbolicLink() || (there && !there.isFile())) throw new WrongKind(kindOf(there), 'file')
  if (expect === undefined) return there
  if (expect === 'missing') {
    if (there) throw new FileError('FILE_EXISTS', subject, 'already exists', 'EEXIST')
  } else if (expect === 'present') {
    if (!there) throw new FileError('FILE_NOT_FOUND', subject, 'does not exist', 'ENOENT')
  } else if (!there || versionOf(there) !== expect) {
    throw new FileError('FILE_CHANGED', subject, 'is not the version that was read')
  }
  return there
}

/**
 * SPEC 6.4: the mode is kept. Setuid, setgid and sticky are not: they were given to other content. Where
 * the owner or group cannot be kept, the group gets no more than everybody had.
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

/** Gives the finished file its name in one step, and makes the name durable. */
export function publish(temp: Place, target: Place, expect: WriteOptions['expect']): void {
  const sync = openForSync(target.directory)
  try {
    if (expect === 'missing') moveExclusive(temp, target)
    else both(temp, target, renameSync)
    sync?.()
  } finally {
    sync?.close()
  }
}

/** Runs one system call on two entries. */
export const both = (from: Place, to: Place, call: (from: string, to: string) => void): void =>
  from.directory.at((a) => to.directory.at((b) => call(`${a}/${from.name}`, `${b}/${to.name}`)))

/**
 * A move that never replaces anything: `link` refuses an existing name, in the kernel. Not for
 * directories. Killed between the two calls, the file has both names, and nothing is lost.
 */
export function moveExclusive(from: Place, to: Place): void {
  try {
    both(from, to, linkSync)
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === undefined || !NO_HARD_LINK.has(errno)) throw error
    return moveIntoPlaceholder(from, to)
  }
  orTakeBack(
    () => from.directory.at((base) => unlinkSync(`${base}/${from.name}`)),
    () => to.directory.at((base) => unlinkSync(`${base}/${to.name}`)),
  )
}

/** A filesystem without hard links, or a file that `fs.protected_hardlinks` keeps us from linking. */
const NO_HARD_LINK: ReadonlySet<string> = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'])

/**
 * The name is taken exclusively by an empty file of ours, which the move replaces. Weaker in one point:
 * what another process writes *into our empty file* between the two calls is lost (decision 0013).
 */
function moveIntoPlaceholder(from: Place, to: Place): void {
  closeSync(to.directory.createRegular(to.name, constants.O_WRONLY, 0o600))
  orTakeBack(
    () => both(from, to, renameSync),
    () => to.directory.at((base) => unlinkSync(`${base}/${to.name}`)),
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

export const lookAt = ({ directory, name }: Place): BigIntStats | undefined =>
  directory.at((base) => lstatSync(`${base}/${name}`, { bigint: true, throwIfNoEntry: false }))

/** A new name is only safe from a power cut when its directory was written, too. */
export function syncDirectory(directory: Directory): void {
  const sync = openForSync(directory)
  try {
    sync?.()
  } finally {
    sync?.close()
  }
}

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
