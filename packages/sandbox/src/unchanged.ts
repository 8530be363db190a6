import { lstatSync, type Stats, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Plan } from './plan/types.ts'

/** Directories as they were before a start; those that are not in it are looked at afterwards. */
export type DirectoriesBefore = ReadonlyMap<string, State>

/** Which one it was, and when it last changed; or `MISSING`. */
type State = string
const MISSING = 'missing'

/**
 * Decision 0581: nothing comes to be in a directory, or leaves it, but its time of change becomes another, which no program can set.
 * So of a directory that is the same after a command as when the plan found that names in it are missing, none of them has to be
 * looked for. That of one which changed a moment before could stay the same in its next change; such a one is not remembered.
 */
export function directoriesBefore({ watched, survey }: Pick<Plan, 'watched' | 'survey'>): DirectoriesBefore {
  const before = new Map<string, State>()
  const isKept = onceForEach(keepsTimes)
  const record = (dir: string, base: string): void => {
    if (before.has(dir)) return
    const stats = lookAt(dir)
    if (stats === MISSING) {
      before.set(dir, MISSING)
      if (dir !== base) record(dirname(dir), base)
    } else if (stats?.isDirectory() && survey.at - stats.ctimeMs > SETTLED_MS && isKept(stats.dev, dir))
      before.set(dir, stateOf(stats))
  }
  for (const { base, path, guard } of watched) if (guard !== 'no-links') record(dirname(path), base)
  return before
}

/** Whether no name in it is new. Where it was missing: whether it still is. */
export function isUnchanged(dir: string, before: DirectoriesBefore): boolean {
  const state = before.get(dir)
  if (state === undefined) return false
  if (state === MISSING) return isUnchanged(dirname(dir), before)
  const stats = lookAt(dir)
  return stats !== undefined && stats !== MISSING && stateOf(stats) === state
}

const stateOf = ({ dev, ino, ctimeMs }: Stats): State => `${dev} ${ino} ${ctimeMs}`

/** Undefined where it cannot be seen. */
function lookAt(dir: string): Stats | typeof MISSING | undefined {
  try {
    return lstatSync(dir, { throwIfNoEntry: false }) ?? MISSING
  } catch {
    return undefined
  }
}

/** Longer than any clock's tick, and than the coarsest time of change. */
const SETTLED_MS = 4000

/**
 * Whether a filesystem keeps its times of change itself, and counts the directories in one as its links. A file server's clock is
 * not ours, and what a program serves (FUSE) has the times that it likes. The same are in launcher/src/names.c.
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

function onceForEach(ask: (dir: string) => boolean): (dev: number, dir: string) => boolean {
  const known = new Map<number, boolean>()
  return (dev, dir) => {
    const answer = known.get(dev) ?? ask(dir)
    known.set(dev, answer)
    return answer
  }
}
