import { type AccessPolicy, below, FsIndex, show } from '@cordon/policy'
import {
  assumeKernel,
  buildEnvironment,
  type Exit,
  isKernelRefusal,
  type KernelReport,
  type Loss,
  type Plan,
  probeKernel,
  type ProxyDecision,
  spawnConfined,
  type SpawnOptions,
} from '@cordon/sandbox'
import { runBare } from '../confine/bare.ts'
import type { Hint } from '../confine/hint.ts'
import { commandRules } from '../confine/command-rules.ts'
import type { Network } from '../confine/network.ts'
import { asTyped } from '../confine/as-typed.ts'
import { insideAnother } from '../confine/nested-run.ts'
import { networkFor, planFor } from '../confine/plan.ts'
import { type Confinement, withGitlinks } from '../confine/program.ts'
import { relativeToRoot } from '../outside/place.ts'
import { loginsIn, settleLogins } from '../outside/logins.ts'
import { contentsOf, writeBack } from '../outside/write-back.ts'
import { explain } from './explain.ts'
import { type LeftBehind, lostOutputs } from './left.ts'
import { withFlag } from './not-started.ts'
import { recordRun } from '../confine/unfinished.ts'
import { noteWritable } from '../confine/writable.ts'

export interface RunRequest extends Confinement {
  /** The end of the command's error output is looked at when it fails; it then passes through the launcher. */
  readonly keepErrors: boolean
  /** Its output as well, where test suites say what failed: in one stream with the errors, or where it goes by itself. */
  readonly keepOutput: SpawnOptions['keepOutput']
  /** Its input is a pipe and its output a terminal: it has no keys (docs/run.md). */
  readonly isPipedInto?: boolean
  /** SPEC 4.11: called when everything is planned, before anything is started. */
  readonly beforeStart: (told: Forewarning) => void
  /** SPEC 4.8: called when a host is refused for the first time, while the command runs. */
  readonly onRefused?: (decision: ProxyDecision) => void
  /** Called when the process is running, with how to pass a signal on to it; returns what to do when it has ended. */
  readonly onStart: (kill: (signal: NodeJS.Signals) => void) => () => void
}

export interface RunOutcome {
  readonly exit: Exit
  /** Exactly what the proxy refused. */
  readonly refused: readonly ProxyDecision[]
  /** What it allowed in vain, in words: else it would be taken for a refusal. */
  readonly unreached: readonly string[]
  /** What was written to the private home, and is gone. */
  readonly left: LeftBehind | undefined
  /** What became of files that were copied in, or written to a private place, where that is not what one would expect. */
  readonly notices: readonly string[]
  /** Only when the program failed; always a guess. */
  readonly hints: readonly Hint[]
}

/** SPEC 4.11: what a person is told before the command starts. */
export interface Forewarning {
  readonly lost: readonly Loss[]
  /** No losses, but not what one would expect either. */
  readonly notes: readonly string[]
}

/**
 * SPEC 4.8: one command, confined by one policy, from plan to explanation. This process stays until it has ended, and has
 * loaded before the start all that it needs afterwards: Cordon may be installed where the command can write.
 */
export async function runConfined(request: RunRequest): Promise<RunOutcome> {
  if (request.sandbox.mode === 'off')
    return {
      exit: await runBare(request),
      refused: [],
      unreached: [],
      left: undefined,
      notices: [],
      hints: [],
    }
  const sayingOnce = { ...request, beforeStart: once(request.beforeStart) }
  try {
    return await runOn(assumeKernel(), sayingOnce)
  } catch (error) {
    // Nothing was started. What this kernel can do is asked.
    if (!isKernelRefusal(error)) throw withFlag(error, request)
  }
  try {
    return await runOn(probeKernel(), sayingOnce)
  } catch (error) {
    throw withFlag(error, request)
  }
}

async function runOn(kernel: KernelReport, request: RunRequest): Promise<RunOutcome> {
  const env = buildEnvironment(request.policy, request.env)
  const plan = planFor(kernel, request, env)
  const record = recordRun(request.unfinished, plan.watched, request.guard?.gitlinks())
  const { lost, notes } = kernel.nested
    ? forewarnNested(plan, request.policy)
    : forewarn(plan, request.policy)
  request.beforeStart({ lost: [...lost, ...record.lost], notes })
  const network = await networkFor(request, plan, (decision) =>
    request.onRefused?.(asTyped(decision, request.argv, '')),
  )
  const contents = contentsOf(request.replaced ?? [])
  const logins = loginsIn(request.outside ?? [], request.home)
  try {
    const running = launch(request, plan, network, env, contents)
    // While the launcher is at work.
    noteWritable(request, plan)
    const lostFiles = lostTexts(request, plan)
    const exit = withGitlinks(await running, request.guard)
    record.done(exit)
    const notices = [...writeBack(exit.replaced, contents), ...settleLogins(logins), ...lostFiles]
    const outcome = explain(request, plan, exit, (await network?.close()) ?? [])
    return { ...outcome, hints: kernel.nested ? insideAnother(outcome.hints) : outcome.hints, notices }
  } finally {
    record.done()
    await network?.close()
  }
}

function lostTexts(
  { argv, root, cwd, home, outside = [] }: RunRequest,
  { survey, isolation }: Plan,
): readonly string[] {
  if (isolation !== 'namespaces') return []
  const granted = new FsIndex(outside)
  const scratchOf = (path: string): string | undefined =>
    survey.scratch.find((place) => below(place, path) !== undefined)
  const isLost = (path: string): boolean =>
    scratchOf(path) !== undefined &&
    below(root.path, path) === undefined &&
    !granted.governing(relativeToRoot(path))
  return lostOutputs(argv, isLost, { cwd, home }).map(
    (path) =>
      `${show(path)}: ${scratchOf(path)} inside is private and gone now; what is to stay goes to the workspace, or to a directory with --write`,
  )
}

/** What this plan does without, and what no plan can hold for a command that checks nothing itself. */
export const forewarn = (
  { lost, notes }: Pick<Plan, 'lost' | 'notes'>,
  policy: AccessPolicy,
): Forewarning => ({
  lost: [...lost, ...commandRules(policy)],
  notes,
})

/** SPEC 4.11: of what the sandbox around holds nothing is lost; what somebody declared here is still said. */
function forewarnNested(plan: Pick<Plan, 'lost' | 'notes'>, policy: AccessPolicy): Forewarning {
  const { lost, notes } = forewarn(plan, policy)
  return {
    lost: lost.filter(({ declared, guarantee }) => declared && guarantee !== 'capability-rules'),
    notes: [
      'this is inside another `cordon run`: it can take away from what that one grants, and has no home, /tmp or network of its own',
      ...notes,
    ],
  }
}

/** Of a command that is planned twice nothing is said twice. */
function once(tell: RunRequest['beforeStart']): RunRequest['beforeStart'] {
  const said = new Set<string>()
  const isNew = (text: string): boolean => !said.has(text) && said.add(text).size > 0
  return ({ lost, notes }) =>
    tell({ lost: lost.filter(({ loss }) => isNew(loss)), notes: notes.filter(isNew) })
}

async function launch(
  { argv, keepErrors, keepOutput, signal, onStart }: RunRequest,
  plan: Plan,
  network: Network | undefined,
  env: Readonly<Record<string, string>>,
  replaced: ReadonlyMap<string, Buffer | undefined>,
): Promise<Exit> {
  const confined = spawnConfined(plan, {
    argv,
    env: { ...env, ...network?.env },
    stdio: ['inherit', 'inherit', 'inherit'],
    keepErrors,
    keepOutput,
    replaced,
    ...(signal ? { signal } : {}),
    ...(network ? { onSocket: network.attach, files: network.files } : {}),
  })
  const ended = onStart(confined.kill)
  try {
    return await confined.exit
  } finally {
    ended()
  }
}
