import type { Readable, Writable } from 'node:stream'
import {
  assumeKernel,
  buildEnvironment,
  type End,
  endFrom,
  type Exit,
  isKernelRefusal,
  type KernelReport,
  type LostGuarantee,
  type Plan,
  probeKernel,
  type ProxyDecision,
  spawnConfined,
  type Succession,
  takeOver,
} from '@cordon/sandbox'
import { type Confinement, hintWorld, networkFor, planFor } from '../planning.ts'
import { findHints, type Hint } from './hints.ts'
import { findLimits } from './limits.ts'
import { mentionedInCommand, mentionedInErrors } from './mentions.ts'
import type { Network } from './network.ts'
import { runUnconfined } from './unconfined.ts'

export interface RunRequest extends Confinement {
  /** Where error output goes when it passes through us, so that a failure can be explained better. */
  readonly stderr: () => 'inherit' | Writable
  readonly signal?: AbortSignal
  /** Called when the process is running, with how to pass a signal on to it; returns what to do when it has ended. */
  readonly onStart: (kill: (signal: NodeJS.Signals) => void) => () => void
  /** Absent: whoever calls waits for the end, whatever it costs. */
  readonly successor?: Successor
}

/** How this process lets the launcher take its place, and is started again when there is something to explain. */
interface Successor {
  readonly commandLine: readonly [string, ...string[]]
  readonly wanted: Succession['wanted']
  readonly beforeLeaving: () => void
  /** We are the one who was started again, and this is what the launcher had to say. */
  readonly report: string | undefined
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
  const { successor, ...waiting } = request
  try {
    // First of all: whatever the configuration says by now, a command that has ended is not run again.
    if (successor?.report !== undefined) return explainReport(request, successor.report)
    return await start(assumeKernel(), request)
  } catch (error) {
    if (!isKernelRefusal(error)) throw error
    // Nothing was started. What this kernel can do is asked, and the end is waited for.
    return start(probeKernel(), waiting)
  }
}

function explainReport(request: RunRequest, report: string): RunOutcome {
  const env = buildEnvironment(request.policy, request.env)
  const plan = planFor(assumeKernel(), request, env)
  return explain(request, plan, endFrom(report, plan, { argv: request.argv, env }), [])
}

async function start(kernel: KernelReport, request: RunRequest): Promise<RunOutcome> {
  const { argv, policy, successor } = request
  if (request.sandbox.mode === 'off')
    return { exit: await runUnconfined(request), refused: [], lost: [], notes: [], hints: [] }
  const env = buildEnvironment(policy, request.env)
  const plan = planFor(kernel, request, env)
  // What is lost is said at the end, by who is still there then.
  if (successor && plan.lost.length === 0) takeOver(plan, { ...successor, argv, env, hostEnv: request.env })
  const network = await networkFor(policy, plan)
  try {
    const end = await launch(request, plan, network, env)
    const decisions = (await network?.close()) ?? []
    return explain(
      request,
      plan,
      end,
      decisions.filter((decision) => !decision.allowed),
    )
  } finally {
    await network?.close()
  }
}

function explain(
  request: RunRequest,
  plan: Plan,
  { exit, said }: End,
  refused: readonly ProxyDecision[],
): RunOutcome {
  const failed = exit.code !== 0
  const mentions = failed ? [mentionedInErrors(said), mentionedInCommand(request.argv)] : []
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
}

async function launch(
  request: RunRequest,
  plan: Plan,
  network: Network | undefined,
  env: Readonly<Record<string, string>>,
): Promise<End> {
  const stderr = request.stderr()
  const confined = spawnConfined(plan, {
    argv: request.argv,
    env: { ...env, ...network?.env },
    stdio: ['inherit', 'inherit', stderr === 'inherit' ? 'inherit' : 'pipe'],
    ...(request.signal ? { signal: request.signal } : {}),
    ...(network ? { onProxySocket: network.attach, files: network.files } : {}),
  })
  const ended = request.onStart(confined.kill)
  const said = stderr === 'inherit' || !confined.stderr ? () => '' : tee(confined.stderr, stderr)
  try {
    return { exit: await confined.exit, said: said() }
  } finally {
    ended()
  }
}

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
