import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import type { SandboxConfig } from '@cordon/config'
import { type AccessPolicy, below, type Root } from '@cordon/policy'
import {
  buildEnvironment,
  type Exit,
  type LostGuarantee,
  openAmbientSurvey,
  type Plan,
  planConfinement,
  probeKernel,
  ProgramNotFoundError,
  type ProxyDecision,
  spawnConfined,
} from '@cordon/sandbox'
import { findHints, type Hint, type HintWorld } from './run/hints.ts'
import { mentionedInErrors } from './run/mentions.ts'
import { openNetwork } from './run/network.ts'

/** One program and the policy it runs under, with its three streams in our hands. */
export interface ConfineRequest {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly root: Root
  readonly home: string
  /** The host's environment; what of it the program sees is the policy's business. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly policy: AccessPolicy
  readonly sandbox: SandboxConfig
  /** Paths outside the policy that the program cannot start without. */
  readonly runtime: readonly string[]
  /** Aborting kills it with everything it started. */
  readonly signal: AbortSignal
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
  const plan = planFor(request, env)
  const network = plan.proxyPort === undefined ? undefined : await openNetwork(policy.net, plan.proxyPort)
  const confined = spawnConfined(plan, {
    argv,
    env: { ...env, ...network?.env },
    signal,
    terminal: 'detach',
    ...(network ? { onProxySocket: network.attach, files: network.files } : {}),
  })
  return {
    ...piped(confined),
    ended: confined.exit.then(
      async (exit) => {
        const refused = ((await network?.close()) ?? []).filter((decision) => !decision.allowed)
        const world = hintWorld(request, plan, refused)
        return {
          exit,
          refused,
          lost: plan.lost,
          hints: (said) => findHints([mentionedInErrors(said)], world),
        }
      },
      async (error: unknown) => {
        await network?.close()
        throw error
      },
    ),
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

function planFor(request: ConfineRequest, env: Record<string, string>): Plan {
  const { policy, root, home, cwd, argv, sandbox, runtime } = request
  const survey = openAmbientSurvey({ policy, root: root.path, home, cwd, argv0: argv[0], env, runtime })
  const { memory_mb, processes, tmp_mb, open_files } = sandbox.limits
  return planConfinement({
    policy,
    kernel: probeKernel(),
    survey,
    mode: sandbox.mode === 'warn' ? 'warn' : 'enforce',
    limits: {
      ...(memory_mb === undefined ? {} : { memory: memory_mb * MIB }),
      ...(processes === undefined ? {} : { processes }),
      ...(tmp_mb === undefined ? {} : { tmp: tmp_mb * MIB }),
      ...(open_files === undefined ? {} : { files: open_files }),
    },
  })
}

const MIB = 1024 * 1024

const hintWorld = (
  { root, policy, cwd, home, env }: ConfineRequest,
  { survey }: Plan,
  refused: readonly ProxyDecision[],
): HintWorld => ({
  root,
  policy,
  cwd,
  home,
  exists: (path: string) => existsSync(path),
  // What the proxy knows exactly is not guessed at again.
  isKnown: (host: string) => refused.some((decision) => decision.host === host),
  hasVariable: (name: string) => env[name] !== undefined,
  isSecret: (path: string) => survey.secrets.some((secret) => below(secret, path) !== undefined),
  isVisible: (path: string) =>
    [...survey.system, ...survey.runtime].some((entry) => below(entry.path, path) !== undefined) &&
    !survey.secrets.some((secret) => below(secret, path) !== undefined),
})
