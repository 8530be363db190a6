import {
  assumeKernel,
  buildEnvironment,
  isKernelRefusal,
  type KernelReport,
  probeKernel,
  takeOver,
} from '@cordon/sandbox'
import { planFor } from '../planning.ts'
import type { RunOutcome, RunRequest } from './request.ts'

/** SPEC 4.1: one command, confined by one policy, from plan to explanation. */
export async function runConfined(request: RunRequest): Promise<RunOutcome> {
  const { successor, ...waiting } = request
  try {
    // First of all: whatever the configuration says by now, a command that has ended is not run again.
    if (successor?.report !== undefined) return (await loadWaiting()).explainReport(request, successor.report)
    return await start(assumeKernel(), request)
  } catch (error) {
    if (!isKernelRefusal(error)) throw error
    // Nothing was started. What this kernel can do is asked, and the end is waited for.
    return start(probeKernel(), waiting)
  }
}

/** Does not return when the launcher can take our place; all that comes after the plan is then not even loaded. */
async function start(kernel: KernelReport, request: RunRequest): Promise<RunOutcome> {
  const { argv, policy, successor } = request
  if (request.sandbox.mode === 'off') return (await loadWaiting()).runBare(request)
  const env = buildEnvironment(policy, request.env)
  const plan = planFor(kernel, request, env)
  // What is lost is said at the end, by who is still there then.
  if (successor && plan.lost.length === 0) takeOver(plan, { ...successor, argv, env, hostEnv: request.env })
  return (await loadWaiting()).runWaiting(request, plan, env)
}

const loadWaiting = () => import('./waiting.ts')
