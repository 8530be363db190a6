import { CordonError, type ErrorCode, show } from '@cordon/policy'
import { type EntryKind } from './entry.ts'

/** Stable, and complete: a caller can switch over it exhaustively. docs/errors.md says what each means. */
export type FileErrorCode = Extract<ErrorCode, `FILE_${string}`>

export type Operation =
  | 'open'
  | 'read'
  | 'write'
  | 'append to'
  | 'create'
  | 'make directory'
  | 'link'
  | 'remove'
  | 'move'
  | 'copy'
  | 'look at'
  | 'list'
  | 'sweep'
  | 'sync'

/** What was being done to which path, for the message. `at` is the component that failed, if another. */
export interface Subject {
  readonly operation: Operation
  readonly path: string
  readonly at?: string
}

/** Everything anchored I/O refuses or fails at. Its message names paths as the caller knows them, never handles. */
export class FileError extends CordonError {
  readonly code: FileErrorCode
  readonly operation: Operation
  /** As the caller knows it (`shownAs` of the anchor); absolute only when the anchor itself could not be opened. */
  readonly path: string
  /** The component that failed: `path` itself or a directory on the way to it. */
  readonly at: string
  /** The kernel's name for it, where the kernel said no: `EACCES`. */
  readonly errno: string | undefined
  /** What is wrong, as the end of a sentence: `does not exist`. */
  readonly reason: string
  constructor(code: FileErrorCode, subject: Subject, reason: string, errno?: string) {
    const { operation, path, at = path } = subject
    super(messageFor({ operation, path, at }, reason))
    this.code = code
    this.operation = operation
    this.path = path
    this.at = at
    this.errno = errno
    this.reason = reason
  }

  /** The message for who called the path by another name, over links. */
  messageFor(name: string): string {
    const { operation, path, at, reason } = this
    const told = messageFor({ operation, path: name, at: at === path ? name : at }, reason)
    return `${told} (${show(name)} leads to ${show(path)})`
  }
}

const messageFor = ({ operation, path, at }: Required<Subject>, reason: string): string =>
  `cannot ${operation} ${show(path)}: ${at === path ? 'it' : show(at)} ${reason}`

/** Thrown inside the package when an entry is of the wrong kind; `fileError` gives it its path. */
export class WrongKind extends Error {
  readonly kind: EntryKind
  readonly wanted: 'file' | 'directory'
  constructor(kind: EntryKind, wanted: 'file' | 'directory') {
    super(`${kind} instead of ${wanted}`)
    this.kind = kind
    this.wanted = wanted
  }
}

/** Thrown inside the package when a directory is no longer where it was found. */
export class Moved extends Error {}

/** Thrown inside the package when a directory belongs to a filesystem of the kernel. */
export class NotOnDisk extends Error {}

/** Thrown inside the package for the directory that whoever made the anchor keeps for itself. */
export class Closed extends Error {}

/**
 * The typed error for what a system call threw. Node's own message and `path` are dropped, because they
 * name handles (`/proc/self/fd/23/…`), which say nothing to a reader. A bug stays what it is.
 */
export function fileError(thrown: unknown, subject: Subject): unknown {
  if (thrown instanceof WrongKind) return wrongKind(thrown, subject)
  if (thrown instanceof Moved)
    return new FileError('FILE_CHANGED', subject, 'was moved or replaced meanwhile')
  if (thrown instanceof NotOnDisk)
    return new FileError('FILE_NOT_ON_DISK', subject, 'is of the kernel, not of a disk')
  if (thrown instanceof Closed) return new FileError('FILE_NO_PERMISSION', subject, 'is not for anybody here')
  const errno = errnoOf(thrown)
  if (errno === undefined || thrown instanceof FileError) return thrown
  const [code, reason] = REASONS[errno] ?? (['FILE_IO', `failed with ${errno}`] as const)
  return new FileError(code, subject, reason, errno)
}

function wrongKind({ kind, wanted }: WrongKind, subject: Subject): FileError {
  if (kind === 'link')
    return new FileError('FILE_IS_LINK', subject, 'is a symbolic link, and links are not followed')
  // It was refused as something else a moment ago: somebody is swapping it.
  if (kind === wanted) return new FileError('FILE_CHANGED', subject, 'was moved or replaced meanwhile')
  return wanted === 'directory'
    ? new FileError('FILE_NOT_DIRECTORY', subject, 'is not a directory')
    : new FileError('FILE_NOT_REGULAR', subject, `is not a regular file (${kind})`)
}

const REASONS: Readonly<Record<string, readonly [FileErrorCode, string]>> = {
  ENOENT: ['FILE_NOT_FOUND', 'does not exist'],
  EEXIST: ['FILE_EXISTS', 'already exists'],
  ENOTDIR: ['FILE_NOT_DIRECTORY', 'is not a directory'],
  EISDIR: ['FILE_NOT_REGULAR', 'is not a regular file (directory)'],
  ENOTEMPTY: ['FILE_NOT_EMPTY', 'is not empty'],
  ELOOP: ['FILE_IS_LINK', 'is a symbolic link, and links are not followed'],
  ENOSPC: ['FILE_NO_SPACE', 'does not fit: the disk is full'],
  EDQUOT: ['FILE_NO_SPACE', 'does not fit: the disk quota is used up'],
  EFBIG: ['FILE_TOO_LARGE', 'is larger than this filesystem or process allows'],
  EACCES: ['FILE_NO_PERMISSION', 'is not permitted to this user'],
  EPERM: ['FILE_NO_PERMISSION', 'is not permitted to this user'],
  EROFS: ['FILE_NO_PERMISSION', 'is on a read-only filesystem'],
  ENAMETOOLONG: ['FILE_INVALID', 'has a component that is too long'],
  EINVAL: ['FILE_INVALID', 'cannot be used for this'],
  EBUSY: ['FILE_BUSY', 'is a mount point or in use by the system, and was left as it is'],
  EXDEV: ['FILE_CROSS_DEVICE', 'is on another filesystem'],
  ESTALE: ['FILE_CHANGED', 'was moved or replaced meanwhile'],
}

export const errnoOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'errno' in thrown && 'code' in thrown && typeof thrown.code === 'string'
    ? thrown.code
    : undefined

/** What takes long can be stopped between two steps; what it had begun is taken back or reported. */
export interface Stoppable {
  readonly signal?: AbortSignal
}

export function refuseIfStopped({ signal }: Stoppable, subject: Subject): void {
  if (signal?.aborted) throw new FileError('FILE_STOPPED', subject, 'was not finished: it was stopped')
}
