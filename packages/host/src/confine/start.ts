import {
  assumeKernel,
  buildEnvironment,
  type Confined,
  type Exchange,
  type Exit,
  exchangeByStreams,
  type Plan,
  type ProxyDecision,
  spawnConfined,
} from '@cordon/sandbox'
import { startBare } from './bare.ts'
import { fromItsDirectory } from './directory.ts'
import { findHints } from './hints.ts'
import { findLimits } from './limits.ts'
import { mentionedInErrors } from './mentions.ts'
import type { Network } from './network.ts'
import { networkHints } from './network-hints.ts'
import { hintFacts, networkFor, planFor } from './plan.ts'
import {
  type ConfinedProgram,
  type Confinement,
  piped,
  type ProgramEnd,
  variablesOf,
  withGitlinks,
} from './program.ts'
import { recordRun, type RunRecord } from './unfinished.ts'
import { noteWritable } from './writable.ts'

/** SPEC 4.1 and 4.3: plan, network and process for one policy; with `sandbox.mode = "off"`, just the process (decision 0105). */
export async function startConfined(request: Confinement): Promise<ConfinedProgram> {
  if (request.sandbox.mode === 'off') return startBare(request)
  const { confined, ...program } = await start(request)
  return { ...piped(confined), ...program }
}

/** The same for a program that is told everything at once. Resolves when it has ended, and all that it said was heard. */
export async function askConfined(request: Confinement, exchange: Exchange): Promise<ProgramEnd> {
  if (request.sandbox.mode !== 'off') return (await start(request, exchange)).ended
  const program = startBare(request)
  exchangeByStreams(program, exchange)
  return program.ended
}

interface Started extends Pick<ConfinedProgram, 'soFar' | 'ended'> {
  readonly confined: Confined
}

async function start(request: Confinement, exchange?: Exchange): Promise<Started> {
  const { argv, policy, signal } = request
  const env = buildEnvironment(policy, variablesOf(request))
  const plan = planFor(request.kernel ?? assumeKernel(), request, env)
  const network = request.network === 'none' ? undefined : await networkFor(request, plan)
  const record = recordRun(request.unfinished, plan.watched, request.guard?.gitlinks())
  try {
    const confined = spawnConfined(plan, {
      argv,
      env: { ...env, ...network?.env },
      ...(signal ? { signal } : {}),
      exchange,
      terminal: 'detach',
      ...(network ? { onSocket: network.attach, files: network.files } : {}),
    })
    noteWritable(request, plan)
    return {
      confined,
      soFar: () => insightOf(request, plan, network?.decisions() ?? []),
      ended: whenEnded(request, plan, confined, network, record),
    }
  } catch (error) {
    record.done()
    await network?.close()
    throw error
  }
}

async function whenEnded(
  request: Confinement,
  plan: Plan,
  confined: Confined,
  network: Network | undefined,
  record: RunRecord,
): Promise<ProgramEnd> {
  try {
    const exit = withGitlinks(await confined.exit, request.guard)
    record.done(exit)
    const insight = insightOf(request, plan, (await network?.close()) ?? [], exit)
    return { exit, ...insight, lost: [...plan.lost, ...record.lost] }
  } finally {
    record.done()
    await network?.close()
  }
}

/** SPEC 4.7: guesses why a program failed, from what it wrote, and from how it ended, where that is known. */
export function hintsFor(
  request: Confinement,
  plan: Plan,
  decisions: readonly ProxyDecision[] = [],
  exit?: Exit,
): ProgramEnd['hints'] {
  return (said) => {
    const facts = hintFacts(request, plan, decisions)
    return [
      // Of one that ended it, the end tells.
      ...findLimits(said, plan.limits, exit).filter(({ known }) => !known || exit?.signal === null),
      ...networkHints(said, request.argv, plan, request.sandbox.unix_sockets),
      ...findHints([fromItsDirectory(mentionedInErrors(said), request.argv, facts)], facts),
    ]
  }
}

/** What was refused exactly, and how to look for guesses. */
function insightOf(
  request: Confinement,
  plan: Plan,
  decisions: readonly ProxyDecision[],
  exit?: Exit,
): Pick<ProgramEnd, 'refused' | 'unreached' | 'hints'> {
  const refused = decisions.filter((decision) => !decision.allowed)
  const unreached = decisions.filter(({ failed }) => failed)
  return { refused, unreached, hints: hintsFor(request, plan, decisions, exit) }
}
