import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { below, type CanonicalPath, show } from '@cordon/policy'
import { hasMark, upwards, WorkspaceError } from './find-root.ts'
import { type Surroundings } from './surroundings.ts'
import { trailOf } from './trail.ts'

/**
 * SPEC 2.1, docs/decisions/0128. Something confined may have put a link in the place of a directory, and the person's
 * `cd` has followed it: then the place it leads to would be the next workspace. Only the shell knows by which way one
 * came, and says it in PWD; one that does not name the current directory says nothing. Who is told another directory (`--workspace`)
 * puts the way to that into PWD.
 */
export function refuseLedOut(
  from: CanonicalPath,
  around: Surroundings,
  isKnown: (dir: CanonicalPath) => boolean,
): void {
  const came = around.env['PWD']
  if (came === undefined || came === from || !isAbsolute(came) || realOf(came) !== from) return
  for (const { path, is } of trailOf('/', came)) {
    const target = is === 'link' ? realOf(path) : undefined
    if (target === undefined) continue
    const left = upwards(dirname(path) as CanonicalPath).find(
      (dir) => below(dir, target) === undefined && (isProject(dir, around) || isKnown(dir)),
    )
    if (left !== undefined)
      throw new WorkspaceError(
        from,
        `the way there is by the link ${show(path)}, which leads out of ${show(left)} to ${show(target)}; ` +
          `a command that ran there may have made it\n  fix: \`cd -P .\`, or name that place itself, if you mean it; else remove the link`,
      )
  }
}

/** Where people run commands, also if nobody marked it. A home that is a repository holds links to everywhere. */
const isProject = (dir: CanonicalPath, around: Surroundings): boolean =>
  hasMark(dir, around) || (below(dir, around.home) === undefined && existsSync(join(dir, '.git')))

function realOf(path: string): CanonicalPath | undefined {
  try {
    return realpathSync.native(path) as CanonicalPath
  } catch {
    return undefined
  }
}
