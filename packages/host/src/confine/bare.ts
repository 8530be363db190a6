import { type ChildProcess, spawn } from 'node:child_process'
import {
  buildEnvironment,
  type Exit,
  findProgram,
  NotExecutableError,
  ProgramNotFoundError,
} from '@cordon/sandbox'
import { type ConfinedProgram, type Confinement, NOTHING_NOTICED, piped, variablesOf } from './program.ts'

/** `sandbox.mode = "off"` (SPEC 4.2): nothing holds the program, as the person asked for. */

/** `cordon run`: the command as the person's shell would start it, with the person's own streams. */
export async function runBare(
  request: Confinement & { readonly onStart: (kill: (signal: NodeJS.Signals) => void) => () => void },
): Promise<Exit> {
  const { argv, cwd } = request
  const child = spawn(argv[0], argv.slice(1), { cwd, env: environmentOf(request), stdio: 'inherit' })
  const ended = request.onStart((signal) => void child.kill(signal))
  try {
    return await exitOf(child, ({ message }) => whyNotStarted(request, message))
  } finally {
    ended()
  }
}

/** A tool: we hold its streams. Its process group is killed when the call ends; a process that left the group is not. */
export function startBare(request: Confinement): ConfinedProgram {
  const { argv, cwd, signal } = request
  const child = spawn(argv[0], argv.slice(1), { cwd, env: environmentOf(request), detached: true })
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // the group is gone already
    }
  }
  signal?.addEventListener('abort', kill, { once: true })
  // When the tool ends, the rest of its group is killed: a daemon that holds the pipe open would keep it from closing.
  child.once('exit', kill)
  child.once('close', () => signal?.removeEventListener('abort', kill))
  const exit = exitOf(child, (error) => new ProgramNotFoundError(argv[0], error.code ?? error.message))
  return {
    ...piped(child),
    soFar: () => ({ refused: [], unreached: [], hints: () => [] }),
    ended: exit.then((end) => ({ exit: end, refused: [], unreached: [], lost: [], hints: () => [] })),
  }
}

/** An undeclared axis is unrestricted. Rules for variables hold all the same: withholding one needs no sandbox. */
function environmentOf(request: Confinement): Readonly<Record<string, string | undefined>> {
  const variables = variablesOf(request)
  return request.policy.env.length === 0 ? variables : buildEnvironment(request.policy, variables)
}

const exitOf = (child: ChildProcess, why: (error: NodeJS.ErrnoException) => unknown): Promise<Exit> =>
  new Promise((resolve, reject) => {
    child.once('error', (error) => reject(why(error)))
    child.once('close', (code, signal) => resolve({ ...NOTHING_NOTICED, code, signal }))
  })

/** The kernel's reason alone does not tell: a directory of PATH that may not be entered is EACCES, too. */
function whyNotStarted({ argv, cwd, env }: Confinement, message: string): unknown {
  try {
    findProgram(argv[0], cwd, env['PATH'] ?? '')
    return new NotExecutableError(argv[0], message)
  } catch (reason) {
    return reason
  }
}
