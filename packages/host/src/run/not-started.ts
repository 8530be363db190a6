import { accessSync, constants } from 'node:fs'
import { isAbsolute, relative } from 'node:path'
import { below, CordonError, FsIndex, shellWord } from '@cordon/policy'
import { isInSystem, LaunchError, whyNotOutside } from '@cordon/sandbox'
import type { Confinement } from '../confine/program.ts'
import { relativeToRoot, typedPath, whyNeverGranted } from '../outside/place.ts'

/** The command's program could not be started, with the flag that would let it be (SPEC 4.8). */
class NotStartedError extends CordonError {
  readonly code = 'LAUNCH_FAILED'
  readonly step = 'exec'
  readonly errno: string
  constructor({ message, errno }: LaunchError, flag: string) {
    super(`${message}\n  to allow it: ${flag}`)
    this.errno = errno
  }
}

/** The same error, where no flag would help. */
export function withFlag(error: unknown, request: Confinement): unknown {
  if (!(error instanceof LaunchError) || error.step !== 'exec') return error
  const { item, withheld, interpreter, errno } = error
  const program = item && 'path' in item ? item.path : undefined
  const path =
    withheld.length > 0 ? program : errno === 'ENOENT' || errno === 'EACCES' ? interpreter : undefined
  const flag = path === undefined ? undefined : flagFor(path, request)
  return flag === undefined ? error : new NotStartedError(error, flag)
}

function flagFor(path: string, request: Confinement): string | undefined {
  const { root, cwd, home, policy, outside = [], guard } = request
  if (!isAbsolute(path) || !isExecutable(path) || isInSystem(path)) return undefined
  const inside = below(root.path, path, root.foldCase)
  const rule =
    inside === undefined
      ? new FsIndex(outside).governing(relativeToRoot(path))
      : new FsIndex(policy.fs, root.foldCase).governing(inside)
  // A mount has no flag, and what a rule denies on purpose has none either.
  if (rule && (rule.external || (rule.grants.size === 0 && rule.origin !== undefined))) return undefined
  if (inside === undefined) {
    const never = guard
      ? whyNeverGranted(path, { writes: false, guard })
      : whyNotOutside(path, { writes: false, home })
    return never === undefined ? `--execute ${typedPath(path, home)}` : undefined
  }
  const typed = relative(cwd, path)
  return `--execute ${shellWord(typed.startsWith('-') ? `./${typed}` : typed)}`
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
