import { lstatSync, statfsSync } from 'node:fs'
import { isNowhere } from './held-directory.ts'
import { directoryOf, enclosesStrictly } from './plan/paths.ts'
import { type WatchedPath } from './plan/types.ts'

/**
 * Decision 0581: nothing comes to be in a directory, or leaves it, but its time of change becomes the present one, and no program
 * can set that. So in a directory that last changed before names in it were found to be missing, none of them has to be looked for.
 * `seenAt` is when that was, in milliseconds. What changed a moment before is looked through: clocks have ticks. Below `base` each
 * directory on the way counts, because any of them may be a link by now, to where nothing changed.
 */
export function mayHoldNew(seenAt: number): (dir: string, base: string) => boolean {
  const states = new Map<string, State>()
  const kept = new Map<number, boolean>()
  const stateOf = (dir: string): State => {
    const known = states.get(dir) ?? look(dir, seenAt, kept)
    states.set(dir, known)
    return known
  }
  const isChanged = (dir: string, base: string): boolean =>
    stateOf(dir) === 'changed' || (enclosesStrictly(base, dir) && isChanged(directoryOf(dir), base))
  return (dir, base) => stateOf(dir) !== 'missing' && isChanged(dir, base)
}

type State = 'missing' | 'same' | 'changed'

/** `kept`: of each filesystem, whether it keeps times. */
function look(dir: string, seenAt: number, kept: Map<number, boolean>): State {
  try {
    const stats = lstatSync(dir, { throwIfNoEntry: false })
    if (!stats) return 'missing'
    if (!stats.isDirectory() || stats.ctimeMs > seenAt - SETTLED_MS) return 'changed'
    const isKept = kept.get(stats.dev) ?? keepsTimes(dir)
    kept.set(stats.dev, isKept)
    return isKept ? 'same' : 'changed'
  } catch (error) {
    return isNowhere(dir, error) ? 'missing' : 'changed'
  }
}

/**
 * Decision 0641: which files and directories a path leads through below its base, and when each last changed; undefined where one is
 * missing or nothing keeps times. What is moved, linked or made anew has another time of change, and no program can set that.
 */
export function stateOnTheWay({ base, path }: Pick<WatchedPath, 'base' | 'path'>): string | undefined {
  const states: string[] = []
  try {
    for (let at = path; enclosesStrictly(base, at); at = directoryOf(at)) {
      const stats = lstatSync(at, { throwIfNoEntry: false, bigint: true })
      if (!stats) return undefined
      states.push(`${stats.dev} ${stats.ino} ${stats.ctimeNs}`)
    }
    return keepsTimes(directoryOf(path)) ? states.join(', ') : undefined
  } catch {
    return undefined // closed, or gone meanwhile
  }
}

/** Longer than any clock's tick, and than the coarsest time of change. */
const SETTLED_MS = 4000

/**
 * Whether a filesystem keeps its times of change by this machine's clock, and counts the directories in one as its links. A file
 * server has a clock of its own, and what a program serves (FUSE) has the times that it likes. The same are in launcher/src/names.c.
 */
export const keepsTimes = (dir: string): boolean => KEEP_TIMES.has(statfsSync(dir).type)

/** statfs(2). */
const KEEP_TIMES: ReadonlySet<number> = new Set([
  0xef53, // ext4
  0x58465342, // XFS
  0x9123683e, // btrfs
  0xf2f52010, // F2FS
  0x01021994, // tmpfs
])
