import { type BigIntStats, lstatSync } from 'node:fs'
import { WRITING } from './plan/hold.ts'
import { type Plan } from './plan/types.ts'
import { isGuard } from './plan/watched.ts'

/** What is guarded and there, as it was before the start. */
export interface GuardedFile {
  readonly path: string
  readonly kind: 'file' | 'dir'
  readonly state: string | undefined
}

/**
 * SPEC 4.10: a mount holds the file or directory that was there. When somebody outside replaces it (`git config` and
 * `git checkout` do), the new one lies uncovered; so they are compared at the end.
 */
export const guardedFiles = ({ regions }: Pick<Plan, 'regions'>): readonly GuardedFile[] =>
  regions.flatMap((region) => {
    const { kind, grants, path } = region
    if (kind !== 'file' && kind !== 'dir') return []
    if (!isGuard(region) || WRITING.some((each) => grants.has(each))) return []
    return [{ path, kind, state: stateOf(path, kind) }]
  })

export const changedSince = (files: readonly GuardedFile[]): readonly string[] =>
  files.flatMap(({ path, kind, state }) => {
    const now = stateOf(path, kind)
    return now === undefined || now === state || (kind === 'dir' && now === GONE) ? [] : [path]
  })

/**
 * Of a file the time of the last change of anything, because no program can set it. Of a directory which one it is (its number may be
 * given again, so when it was made as well): in the one that was there nothing confined writes. Undefined where it cannot be seen
 * (decision 0510).
 */
function stateOf(path: string, kind: 'file' | 'dir'): string | undefined {
  let stats: BigIntStats | undefined
  try {
    stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
  if (!stats) return GONE
  const own = kind === 'file' ? [stats.size, stats.ctimeNs] : [stats.birthtimeNs]
  return [stats.dev, stats.ino, ...own].join(' ')
}

const GONE = 'gone'
