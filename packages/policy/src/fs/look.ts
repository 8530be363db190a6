import { lstatSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { CordonError } from '../errors.ts'
import { shellWord, show } from '../text.ts'

/**
 * Something that its owner, who is this user, may not look into. What was started before may have closed it, and what is
 * started now could open it again: so it is not known what is there, which is not the same as nothing (decision 0510).
 */
export class ClosedError extends CordonError {
  readonly code = 'PATH_CLOSED'
  readonly path: string
  /** The path itself, or a directory on the way to it. */
  readonly closed: string
  constructor(path: string, closed: string) {
    super(
      `cannot look at ${show(path)}: ${show(closed)} is closed to its owner, who is you\n  fix: chmod u+rwx ${shellWord(closed)}`,
    )
    this.path = path
    this.closed = closed
  }
}

/**
 * What is at a path, without following a link at its end. Undefined where nothing is, and where another user keeps us out: what
 * we start is kept out as well. Throws `ClosedError` where only the owner's own permissions do.
 */
export function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    refuseClosed(path, error)
    return undefined
  }
}

/** For who asked the system something else of a path, and was refused. Returns where that says nothing. */
export function refuseClosed(path: string, error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EACCES') return
  const { stats, at } = nearest(path)
  if (stats.uid === process.geteuid?.()) throw new ClosedError(path, at)
}

/** The path itself if it can be seen, or the directory that keeps us from it. */
function nearest(path: string): { readonly stats: Stats; readonly at: string } {
  try {
    return { stats: lstatSync(path), at: path }
  } catch {
    return nearest(dirname(path))
  }
}
