import { spawn } from 'node:child_process'
import { CordonError, show } from '@cordon/policy'
import { buildEnvironment, type Exit } from '@cordon/sandbox'
import type { RunRequest } from './request.ts'

/** The command did not start, and no sandbox was involved. */
class StartError extends CordonError {
  readonly code = 'START'
  constructor(program: string, why: string) {
    super(`cannot start ${show(program)}: ${why}`)
  }
}

/** A directory of PATH that may not be entered has the same effect as one without the program. */
const MISSING: ReadonlyMap<string | undefined, string> = new Map(
  ['ENOENT', 'EACCES', 'ENOTDIR'].map((code) => [code, 'it does not exist or is not executable']),
)

/**
 * SPEC 4.2 with `sandbox.mode = "off"`: the command as the person's shell would start it. Only the environment is
 * still what the rules say, when they say something: withholding a variable needs no sandbox.
 */
export async function runUnconfined(request: RunRequest): Promise<Exit> {
  const { argv, cwd, policy } = request
  const [program, ...args] = argv
  const env = policy.env.length === 0 ? request.env : buildEnvironment(policy, request.env)
  const child = spawn(program, args, { cwd, env, stdio: 'inherit' })
  const ended = request.onStart((signal) => void child.kill(signal))
  try {
    return await new Promise<Exit>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) =>
        reject(new StartError(program, MISSING.get(error.code) ?? error.message)),
      )
      child.once('close', (code, signal) => resolve({ code, signal, createdDenied: [], pressure: [] }))
    })
  } finally {
    ended()
  }
}
