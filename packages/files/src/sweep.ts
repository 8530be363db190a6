import { lstatSync, readdirSync, unlinkSync } from 'node:fs'
import { type RelPath } from '@cordon/policy'
import { type Directory } from './directory.ts'
import { errnoOf } from './errors.ts'
import { isAbandoned, isTempName } from './temp-name.ts'

/** SPEC 6.4: removes what crashed writers, and calls that ended, left in this directory. Returns how many it removed. */
export function sweepDirectory(directory: Directory, ended?: ReadonlySet<string>): number {
  const names = directory.at((base) => readdirSync(base)).filter(isTempName)
  let removed = 0
  for (const name of names) if (removeAbandoned(directory, name, ended)) removed++
  return removed
}

/** SPEC 6.4: the next write cleans up. Listing costs, so not more than once a minute in one directory. */
export class Sweeper {
  readonly #swept = new Map<RelPath, number>()

  sweepSometimes(path: RelPath, directory: Directory): void {
    const now = performance.now()
    const last = this.#swept.get(path)
    if (last !== undefined && now - last < SWEEP_EVERY_MS) return
    if (this.#swept.size >= MOST_SWEPT) this.#swept.clear()
    this.#swept.set(path, now)
    try {
      sweepDirectory(directory)
    } catch (error) {
      // A directory we may write but not list is no reason to fail the write.
      if (errnoOf(error) === undefined) throw error
    }
  }
}

const SWEEP_EVERY_MS = 60_000
const MOST_SWEPT = 1024

function removeAbandoned(directory: Directory, name: string, ended?: ReadonlySet<string>): boolean {
  return directory.at((base) => {
    const stats = lstatSync(`${base}/${name}`, { bigint: true, throwIfNoEntry: false })
    if (!stats?.isFile() || !isAbandoned(name, stats, Date.now(), ended)) return false
    try {
      unlinkSync(`${base}/${name}`)
      return true
    } catch (error) {
      // Another sweeper was faster, or it is not ours to remove: neither is the caller's problem.
      if (errnoOf(error) === undefined) throw error
      return false
    }
  })
}
