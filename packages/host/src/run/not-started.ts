import { accessSync, constants } from 'node:fs'
import { isAbsolute, relative } from 'node:path'
import { below, CordonError, FsIndex, shellWord, show } from '@cordon/policy'
import { isInSystem, LaunchError, type Plan, whyNotOutside } from '@cordon/sandbox'
import { isDeniedOnPurpose } from '../confine/outside-hints.ts'
import type { Confinement } from '../confine/program.ts'
import { relativeToRoot, typedPath, whyNeverGranted } from '../outside/place.ts'
import { realName } from '../real-name.ts'

/** The command could not be started, with the flag that would let it be (SPEC 4.8). */
class NotStartedError extends CordonError {
  readonly code = 'LAUNCH_FAILED'
  readonly step: string
  readonly errno: string
  constructor({ message, step, errno }: LaunchError, flag: string) {
    super(`${message}\n  to allow it: ${flag}`)
    this.step = step
    this.errno = errno
  }
}

/** The same error, where no flag would help. */
export function withFlag(error: unknown, request: Confinement): unknown {
  if (!(error instanceof LaunchError)) return error
  const flag =
    error.step === 'cwd'
      ? flagForHere(request)
      : error.step === 'exec'
        ? flagForProgram(error, request)
        : undefined
  return flag === undefined ? error : new NotStartedError(error, flag)
}

/** `run --show`: the directory to start in is not there inside, because nothing in it or around it is granted. */
export function whyNotHere(request: Confinement, { survey, isolation }: Plan): string | undefined {
  const { cwd, root, policy } = request
  const here = below(root.path, cwd, root.foldCase)
  const isThere =
    here === undefined ||
    [survey.root, survey.home].some(({ canonical }) => below(cwd, canonical) !== undefined) ||
    (new FsIndex(policy.fs, root.foldCase).governing(here)?.grants.size ?? 0) > 0 ||
    policy.fs.some(({ path, grants }) => grants.size > 0 && below(here, path, root.foldCase) !== undefined)
  if (isolation !== 'namespaces' || isThere) return undefined
  const flag = flagForHere(request)
  return `no rule grants ${show(cwd)}, where the command would start: it would not${flag === undefined ? '' : `\n    to allow it: ${flag}`}`
}

/** A rule that denies it on purpose is not to be talked out of. */
function flagForHere({ cwd, root, policy }: Confinement): string | undefined {
  const here = below(root.path, cwd, root.foldCase)
  const rule = here === undefined ? undefined : new FsIndex(policy.fs, root.foldCase).governing(here)
  return here === undefined || (rule && (rule.external || isDeniedOnPurpose(rule))) ? undefined : '--read .'
}

function flagForProgram(
  { item, withheld, interpreter, errno }: LaunchError,
  request: Confinement,
): string | undefined {
  const program = item && 'path' in item ? item.path : undefined
  const isClosed = errno === 'ENOENT' || errno === 'EACCES'
  const out = isClosed && program !== undefined ? whereItLeadsOut(program, request) : undefined
  const path = out ?? (withheld.length > 0 ? program : isClosed ? interpreter : undefined)
  return path === undefined ? undefined : flagFor(path, request)
}

/** Of a link in the workspace, no flag takes the name: what it leads to outside is to be granted. */
function whereItLeadsOut(program: string, { root }: Confinement): string | undefined {
  const isInside = (path: string): boolean => below(root.path, path, root.foldCase) !== undefined
  const real = realName(program)
  return real !== undefined && isInside(program) && !isInside(real) ? real : undefined
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
  if (rule && (rule.external || isDeniedOnPurpose(rule))) return undefined
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
