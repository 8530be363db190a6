import { lstatSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import type { SandboxConfig } from '@cordon/config'
import { type AccessPolicy, below, type Root } from '@cordon/policy'
import {
  assumeKernel,
  buildEnvironment,
  type Exit,
  isKernelRefusal,
  type KernelReport,
  type LostGuarantee,
  openAmbientSurvey,
  type Plan,
  planConfinement,
  probeKernel,
  type ProxyDecision,
  spawnConfined,
} from '@cordon/sandbox'
import { findHints, type Hint, type HintWorld } from './hints.ts'
import { findLimits } from './limits.ts'
import { mentionedInCommand, mentionedInErrors } from './mentions.ts'
import type { Network } from './network.ts'
import { runUnconfined } from './unconfined.ts'

export interface RunRequest {
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly root: Root
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly policy: AccessPolicy
  readonly sandbox: SandboxConfig
  /** Where error output goes when it passes through us, so that a failure can be explained better. */
  readonly stderr: 'inherit' | Writable
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
  if (request.sandbox.mode === 'off')
    return { exit: await runUnconfined(request), refused: [], lost: [], notes: [], hints: [] }
  try {
    return await runOn(assumeKernel(), request)
  } catch (error) {
    if (!isKernelRefusal(error)) throw error
    return runOn(probeKernel(), request)
  }
}

async function runOn(kernel: KernelReport, request: RunRequest): Promise<RunOutcome> {
  const { argv, policy } = request
  const env = buildEnvironment(policy, request.env)
  const plan = planFor(kernel, request, env)
  const network = plan.proxyPort === undefined ? undefined : await serve(policy, plan.proxyPort)
  try {
    const { exit, said } = await launch(request, plan, network, env)
    const decisions = (await network?.close()) ?? []
    const refused = decisions.filter((decision) => !decision.allowed)
    const failed = exit.code !== 0
    const mentions = failed ? [mentionedInErrors(said), mentionedInCommand(argv)] : []
    return {
      exit,
      refused,
      lost: plan.lost,
      notes: plan.notes,
      hints: [
        ...(failed ? findLimits(said, plan.limits) : []),
        ...findHints(mentions, hintWorld(request, plan, refused)),
      ],
    }
  } finally {
    await network?.close()
  }
}

/** Loaded when it is needed: most runs have no network, and should not pay for an HTTP stack. */
async function serve(policy: AccessPolicy, port: number): Promise<Network> {
  const { openNetwork } = await import('./network.ts')
  return openNetwork(policy.net, port)
}

async function launch(
  request: RunRequest,
  plan: Plan,
  network: Network | undefined,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly exit: Exit; readonly said: string }> {
  const confined = spawnConfined(plan, {
    argv: request.argv,
    env: { ...env, ...network?.env },
    stdio: ['inherit', 'inherit', request.stderr === 'inherit' ? 'inherit' : 'pipe'],
    ...(request.signal ? { signal: request.signal } : {}),
    ...(network ? { onProxySocket: network.attach, files: network.files } : {}),
  })
  const ended = request.onStart(confined.kill)
  const said =
    request.stderr === 'inherit' || !confined.stderr ? () => '' : tee(confined.stderr, request.stderr)
  try {
    return { exit: await confined.exit, said: said() }
  } finally {
    ended()
  }
}

function planFor(
  kernel: KernelReport,
  { policy, root, home, cwd, argv, sandbox }: RunRequest,
  env: Record<string, string>,
): Plan {
  const survey = openAmbientSurvey({ policy, root: root.path, home, cwd, argv0: argv[0], env })
  const { memory_mb, processes, tmp_mb, open_files } = sandbox.limits
  return planConfinement({
    policy,
    kernel,
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

/** Passes everything on, no faster than it is taken, and keeps the end of it for the hints. */
function tee(from: Readable, to: Writable): () => string {
  const kept: Buffer[] = []
  let size = 0
  from.on('data', (chunk: Buffer) => {
    kept.push(chunk)
    size += chunk.length
    while (kept[0] && size - kept[0].length >= TAIL) size -= kept.shift()!.length
  })
  from.pipe(to, { end: false })
  // Nobody reads it any more: the program learns that as it would without us.
  to.once('error', () => from.destroy())
  return () => Buffer.concat(kept).toString('utf8')
}

const TAIL = 64 * 1024

function hintWorld(
  { root, policy, cwd, home, env }: RunRequest,
  { survey, isolation }: Plan,
  refused: readonly ProxyDecision[],
): HintWorld {
  const shown = [
    ...[...survey.system, ...survey.runtime, ...NODES].map((entry) => entry.path),
    ...survey.devices,
  ]
  const own = [survey.root, survey.home].flatMap(({ given, canonical }) => [given, canonical])
  const places = isolation === 'namespaces' ? [...survey.scratch, ...own] : own
  return {
    root,
    policy,
    cwd,
    home,
    exists: (path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined,
    // A directory above something that is there is there as well; that the rest of it is not was no mistake.
    isVisible: (path) =>
      shown.some((each) => below(each, path) !== undefined) ||
      [...shown, ...places].some((each) => below(path, each) !== undefined),
    isSecret: (path) => survey.secrets.some((secret) => below(secret, path) !== undefined),
    hasVariable: (name) => env[name] !== undefined,
    // What the proxy knows exactly is not guessed at again.
    isKnown: (host) => refused.some((decision) => decision.host === host),
  }
}

/** There for every program, each of its own kind. */
const NODES = [{ path: '/proc' }, { path: '/dev/pts' }, { path: '/dev/ptmx' }, { path: '/dev/fd' }]
