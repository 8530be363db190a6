import { type BigIntStats, lstatSync } from 'node:fs'
import { WRITING } from './plan/hold.ts'
import { type Plan } from './plan/types.ts'
import { isGuard } from './plan/watched.ts'

/** A guarded file as it was before the start. */
export interface GuardedFile {
  readonly path: string
  readonly state: string | undefined
}

/**
 * SPEC 4.10: a mount holds the file that was there. When somebody outside replaces it (`git config` does), the new one
 * lies uncovered; so guarded files are compared at the end.
 */
export const guardedFiles = ({ regions }: Pick<Plan, 'regions'>): readonly GuardedFile[] =>
  regions.flatMap((region) => {
    const { kind, grants, path } = region
    if (kind !== 'file' || !isGuard(region) || WRITING.some((each) => grants.has(each))) return []
    return [{ path, state: stateOf(path) }]
  })

export const changedSince = (files: readonly GuardedFile[]): readonly string[] =>
  files.flatMap(({ path, state }) => ([state, undefined].includes(stateOf(path)) ? [] : [path]))

/** The time of the last change of anything, because no program can set it. Undefined where it cannot be seen (decision 0510). */
function stateOf(path: string): string | undefined {
  let stats: BigIntStats | undefined
  try {
    stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
  return stats ? [stats.dev, stats.ino, stats.size, stats.ctimeNs].join(' ') : 'gone'
}
