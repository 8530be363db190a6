import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import {
  assumeKernel,
  buildEnvironment,
  type Confined,
  type Exit,
  type KernelReport,
  type LostGuarantee,
  type Plan,
  ProgramNotFoundError,
  type ProxyDecision,
  spawnConfined,
} from '@cordon/sandbox'
import { type Confinement, hintWorld, networkFor, planFor } from './planning.ts'
import { findHints, type Hint } from './run/hints.ts'
import { findLimits } from './run/limits.ts'
import { mentionedInErrors } from './run/mentions.ts'
import type { Network } from './run/network.ts'

/** One program and the policy it runs under, with its three streams in our hands. */
export interface ConfineRequest extends Confinement {
  /** Aborting kills it with everything it started. */
  readonly signal: AbortSignal
  /** What the kernel can do; it is assumed to be able, and who is told otherwise (`isKernelRefusal`) probes it. */
  readonly kernel?: KernelReport
}

export interface ConfinedProgram {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly ended: Promise<ProgramEnd>
}

export interface ProgramEnd {
  readonly exit: Exit
  /** Exactly what the proxy refused (SPEC 4.7). */
  readonly refused: readonly ProxyDecision[]
  readonly lost: readonly LostGuarantee[]
  /** Guesses why it failed, from what it wrote. */
  readonly hints: (said: string) => readonly Hint[]
}

/** SPEC 4.1 and 4.3: plan, network and process for one policy; with `sandbox.mode = "off"`, just the process. */
export async function startConfined(request: ConfineRequest): Promise<ConfinedProgram> {
  if (request.sandbox.mode === 'off') return startBare(request)
  const { argv, policy, signal } = request
  const env = buildEnvironment(policy, request.env)
  const plan = planFor(request.kernel ?? assumeKernel(), request, env)
  const network = await networkFor(policy, plan)
  try {
    const confined = spawnConfined(plan, {
      argv,
      env: { ...env, ...network?.env },
      signal,
      terminal: 'detach',
      ...(network ? { onProxySocket: network.attach, files: network.files } : {}),
    })
    return { ...piped(confined), ended: whenEnded(request, plan, confined, network) }
  } catch (error) {
    await network?.close()
    throw error
  }
}

async function whenEnded(
  request: ConfineRequest,
  plan: Plan,
  confined: Confined,
  network: Network | undefined,
): Promise<ProgramEnd> {
  try {
    const exit = await confined.exit
    const refused = ((await network?.close()) ?? []).filter((decision) => !decision.allowed)
    const world = hintWorld(request, plan, refused)
    const hints = (said: string): readonly Hint[] => [
      ...findLimits(said, plan.limits),
      ...findHints([mentionedInErrors(said)], world),
    ]
    return { exit, refused, lost: plan.lost, hints }
  } finally {
    await network?.close()
  }
}

/** Nothing holds it, as the person asked for. Its process group still dies with the call; who leaves it does not. */
function startBare({ argv, cwd, env, policy, signal }: ConfineRequest): ConfinedProgram {
  const child = spawn(argv[0], argv.slice(1), {
    cwd,
    // SPEC 4.2: with the sandbox off, an undeclared axis is unrestricted.
    env: policy.env.length === 0 ? { ...env } : buildEnvironment(policy, env),
    detached: true,
  })
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // the group is gone already
    }
  }
  signal.addEventListener('abort', kill, { once: true })
  const exit = new Promise<Exit>((resolve, reject) => {
    child.once('error', (error) => {
      reject(new ProgramNotFoundError(argv[0], 'code' in error ? String(error.code) : error.message))
    })
    // When it ends, so does what it left behind: a pipe that a daemon holds open would never close.
    child.once('exit', kill)
    child.once('close', (code, ended) => {
      signal.removeEventListener('abort', kill)
      resolve({ code, signal: ended, createdDenied: [], pressure: [] })
    })
  })
  const ended = exit.then((end) => ({ exit: end, refused: [], lost: [], hints: () => [] }))
  return { ...piped(child), ended }
}

/** All three were asked for as pipes, so they are there. */
function piped({ stdin, stdout, stderr }: Streams): Pick<ConfinedProgram, 'stdin' | 'stdout' | 'stderr'> {
  if (!stdin || !stdout || !stderr) throw new Error('a program was started without its pipes')
  stdin.on('error', () => undefined) // it need not read what it is told; its exit says what happened
  return { stdin, stdout, stderr }
}

interface Streams {
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
}
