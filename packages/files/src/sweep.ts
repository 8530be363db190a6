import { lstatSync, readdirSync, unlinkSync } from 'node:fs'
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
