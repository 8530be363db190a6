import { existsSync } from 'node:fs'
import type { Readable } from 'node:stream'
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
  type ProxyDecision,
  spawnConfined,
} from '@cordon/sandbox'
import { findHints, type Hint, type HintWorld } from './hints.ts'
import { openNetwork } from './network.ts'

export interface RunRequest {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly root: Root
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly policy: AccessPolicy
  readonly sandbox: SandboxConfig
  /** `tee`: error output passes through us, so that a failure can be explained better. */
  readonly stderr: 'inherit' | 'tee'
  readonly onStderr: (chunk: Buffer) => void
  readonly signal?: AbortSignal
  /** Called when the process is running, with how to pass a signal on to it; returns what to do when it has ended. */
  readonly onStart: (kill: (signal: NodeJS.Signals) => void) => () => void
}

export interface RunOutcome {
  readonly exit: Exit
  /** Exactly what the proxy refused. */
  readonly refused: readonly ProxyDecision[]
  readonly lost: readonly LostGuarantee[]
  readonly notes: readonly string[]
  /** Only when the program failed; always a guess. */
  readonly hints: readonly Hint[]
}

/** SPEC 4.1: one command, confined by one policy, from plan to explanation. */
export async function runConfined(request: RunRequest): Promise<RunOutcome> {
  const { argv, policy } = request
  const env = buildEnvironment(policy, request.env)
  const plan = planFor(request, env)
  const network = plan.proxyPort === undefined ? undefined : await openNetwork(policy.net, plan.proxyPort)
  const confined = spawnConfined(plan, {
    argv,
    env: { ...env, ...network?.env },
    stdio: ['inherit', 'inherit', request.stderr === 'tee' ? 'pipe' : 'inherit'],
    ...(request.signal ? { signal: request.signal } : {}),
    ...(network ? { onProxySocket: network.attach } : {}),
  })
  const ended = request.onStart(confined.kill)
  const said = collectTail(confined.stderr, request.onStderr)
  try {
    const exit = await confined.exit
    const decisions = (await network?.close()) ?? []
    const refused = decisions.filter((decision) => !decision.allowed)
    const text = `${argv.join('\n')}\n${said()}`
    return {
      exit,
      refused,
      lost: plan.lost,
      notes: plan.notes,
      hints: exit.code === 0 ? [] : findHints(text, hintWorld(request, plan, refused)),
    }
  } finally {
    ended()
    await network?.close()
  }
}

function planFor({ policy, root, home, cwd, argv, sandbox }: RunRequest, env: Record<string, string>): Plan {
  const survey = openAmbientSurvey({ policy, root: root.path, home, cwd, argv0: argv[0], env })
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

/** Passes everything on, and keeps the end of it for the hints. */
function collectTail(stream: Readable | null, pass: (chunk: Buffer) => void): () => string {
  let tail = Buffer.alloc(0)
  stream?.on('data', (chunk: Buffer) => {
    pass(chunk)
    tail = Buffer.concat([tail, chunk]).subarray(-64 * 1024)
  })
  return () => tail.toString('utf8')
}

const hintWorld = (
  { root, policy, cwd, home, env }: RunRequest,
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
  isVisible: (path: string) =>
    [...survey.system, ...survey.runtime].some((entry) => below(entry.path, path) !== undefined) &&
    !survey.secrets.some((secret) => below(secret, path) !== undefined),
})
