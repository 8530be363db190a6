import type { Readable, Writable } from 'node:stream'
import {
  assumeKernel,
  buildEnvironment,
  type End,
  endFrom,
  type Plan,
  type ProxyDecision,
  spawnConfined,
} from '@cordon/sandbox'
import { hintWorld, networkFor, planFor } from '../planning.ts'
import { findHints } from './hints.ts'
import { findLimits } from './limits.ts'
import { mentionedInCommand, mentionedInErrors } from './mentions.ts'
import type { Network } from './network.ts'
import type { RunOutcome, RunRequest } from './request.ts'
import { runUnconfined } from './unconfined.ts'

/** The command as a child of ours, and what there is to say when it has ended. */
export async function runWaiting(
  request: RunRequest,
  plan: Plan,
  env: Readonly<Record<string, string>>,
): Promise<RunOutcome> {
  const network = await networkFor(request.policy, plan)
  try {
    const end = await launch(request, plan, network, env)
    const decisions = (await network?.close()) ?? []
    return explain(request, plan, end, decisions)
  } finally {
    await network?.close()
  }
}

/** `sandbox.mode = "off"`. */
export const runBare = async (request: RunRequest): Promise<RunOutcome> => ({
  exit: await runUnconfined(request),
  refused: [],
  unreached: [],
  lost: [],
  notes: [],
  hints: [],
})

/** The command has ended, and we were started again: the same plan, from the same command line. */
export function explainReport(request: RunRequest, report: string): RunOutcome {
  const env = buildEnvironment(request.policy, request.env)
  const plan = planFor(assumeKernel(), request, env)
  return explain(request, plan, endFrom(report, plan, { argv: request.argv, env }), [])
}

function explain(
  request: RunRequest,
  plan: Plan,
  { exit, said }: End,
  decisions: readonly ProxyDecision[],
): RunOutcome {
  const failed = exit.code !== 0
  const refused = decisions.filter((decision) => !decision.allowed)
  const unreached = decisions.filter((decision) => failed && decision.failed)
  const mentions = failed ? [mentionedInErrors(said), mentionedInCommand(request.argv)] : []
  return {
    exit,
    refused,
    unreached: [...new Set(unreached.map(({ reason }) => reason))],
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
  // Nobody reads it any more: the program learns that as it would without us. A full disk is no reason to end it.
  to.once('error', ({ code }: NodeJS.ErrnoException) =>
    code === 'EPIPE' || code === 'ECONNRESET' ? from.destroy() : from.resume(),
  )
  return () => Buffer.concat(kept).toString('utf8')
}

const TAIL = 64 * 1024
