import type { Readable, Writable } from 'node:stream'
import {
  assumeKernel,
  buildEnvironment,
  type Exit,
  isKernelRefusal,
  type KernelReport,
  type LostGuarantee,
  type Plan,
  probeKernel,
  type ProxyDecision,
  spawnConfined,
} from '@cordon/sandbox'
import { type Confinement, hintWorld, networkFor, planFor } from '../planning.ts'
import { findHints, type Hint } from './hints.ts'
import { findLimits } from './limits.ts'
import { mentionedInCommand, mentionedInErrors } from './mentions.ts'
import type { Network } from './network.ts'
import { runUnconfined } from './unconfined.ts'

export interface RunRequest extends Confinement {
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
  const network = await networkFor(policy, plan)
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
