import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** The repository. */
export const ROOT = join(import.meta.dirname, '../..')

/** Files that git knows, by name below the repository. */
export const trackedFiles = (matching: RegExp): string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((name) => matching.test(name))
