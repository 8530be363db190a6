import { lstatSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { CordonError } from '../errors.ts'
import { shellWord, show } from '../text.ts'
import { MOST_HOPS } from './canonical.ts'

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
  const { stats, at } = whatKeepsUsFrom(path)
  if (stats.uid === process.geteuid?.()) throw new ClosedError(path, at)
}

/** What the path leads to if that can be seen, or the directory that keeps us from it. */
function whatKeepsUsFrom(path: string, hops = 0): { readonly stats: Stats; readonly at: string } {
  let stats: Stats
  try {
    stats = lstatSync(path)
  } catch {
    return whatKeepsUsFrom(dirname(path), hops)
  }
  return stats.isSymbolicLink() && hops < MOST_HOPS
    ? whatKeepsUsFrom(resolve(dirname(path), readlinkSync(path)), hops + 1)
    : { stats, at: path }
}
