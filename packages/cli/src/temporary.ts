import { lstatSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Removes what this person's commands left in the temporary directory: directories under the prefix that are theirs, that nobody
 * else can look into, and that are over. Anybody may have made a name there, so what is not known to be ours stays.
 */
export function sweepOwn(prefix: string, uid: number | undefined, isOver: (dir: string) => boolean): void {
  for (const name of namesIn(tmpdir()).filter((each) => each.startsWith(prefix))) {
    const dir = join(tmpdir(), name)
    try {
      const stats = lstatSync(dir)
      const isOwn = stats.isDirectory() && stats.uid === uid && (stats.mode & 0o077) === 0
      if (isOwn && isOver(dir)) rmSync(dir, { recursive: true, force: true })
    } catch {
      // gone already, or not to be removed: nothing that the command is about
    }
  }
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}
