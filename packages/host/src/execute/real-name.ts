import { realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Where a path really leads. Of what is not there yet: the directory that is, and the rest as it was written. */
export function realName(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realName(parent), path.slice(parent.length + 1))
  }
}
