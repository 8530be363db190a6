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
} from '@cordon/sandbox'
import { runBare } from '../confine/bare.ts'
import { findGuardHints, findHints, type Hint, type HintFacts } from '../confine/hints.ts'
import { fromItsDirectory } from '../confine/directory.ts'
import { commandRules } from '../confine/command-rules.ts'
import { withWritten } from '../confine/written.ts'
import { findProgramHints } from '../confine/program-hints.ts'
import { findLimits } from '../confine/limits.ts'
import { afterLostWorktree, repositoriesMissed, whyOutside } from '../confine/git-words.ts'
import { mentionedInCommand, mentionedInErrors, type Mentions, UNREACHABLE } from '../confine/mentions.ts'
import type { Network } from '../confine/network.ts'
import { asTyped } from '../confine/as-typed.ts'
import { forBothRuns, insideAnother, isCordonRun, nestedRunHints } from '../confine/nested-run.ts'
import { networkHints } from '../confine/network-hints.ts'
import { hintFacts, networkFor, planFor } from '../confine/plan.ts'
import type { Confinement } from '../confine/program.ts'
import { relativeToRoot } from '../outside/place.ts'
import { contentsOf, writeBack } from '../outside/write-back.ts'
import { type LeftBehind, leftBehind, lostOutputs } from './left.ts'
import { withFlag } from './not-started.ts'
import { recordRun } from '../confine/unfinished.ts'

export interface RunRequest extends Confinement {
  /** The end of the command's error output is looked at when it fails; it then passes through the launcher. */
  readonly keepErrors: boolean
  /** Its output as well: both streams go to the same place, and test suites say on stdout what failed. */
  readonly keepOutput: boolean
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
  const record = recordRun(request.unfinished, plan.watched)
  const { lost, notes } = kernel.nested
    ? forewarnNested(plan, request.policy)
    : forewarn(plan, request.policy)
  request.beforeStart({ lost: [...lost, ...record.lost], notes })
  const network = await networkFor(request, plan, (decision) =>
    request.onRefused?.(asTyped(decision, request.argv, '')),
  )
  const contents = contentsOf(request.replaced ?? [])
  try {
    const exit = await launch(request, plan, network, env, contents)
    record.done(exit)
    const notices = [...writeBack(exit.replaced, contents), ...lostTexts(request, plan)]
    const outcome = explain(request, plan, exit, (await network?.close()) ?? [])
    return { ...outcome, hints: kernel.nested ? insideAnother(outcome.hints) : outcome.hints, notices }
  } finally {
    record.done()
    await network?.close()
  }
}

function lostTexts({ argv, root, outside = [] }: RunRequest, { survey, isolation }: Plan): readonly string[] {
  if (isolation !== 'namespaces') return []
  const granted = new FsIndex(outside)
  const scratchOf = (path: string): string | undefined =>
    survey.scratch.find((place) => below(place, path) !== undefined)
  const isLost = (path: string): boolean =>
    scratchOf(path) !== undefined &&
    below(root.path, path) === undefined &&
    !granted.governing(relativeToRoot(path))
  return lostOutputs(argv, isLost).map(
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

const programHints = (
  { argv, env, policy, home }: RunRequest,
  said: string,
  facts: HintFacts,
): readonly Hint[] =>
  findProgramHints({
    said,
    argv,
    home,
    exists: facts.exists,
    isInside: (path) => isInside(path, facts),
    canHoldHosts: facts.canHoldHosts,
    path: env['PATH'] ?? '',
    valueOf: (name) => env[name],
    isWithheld: (name) => !(name in buildEnvironment(policy, { [name]: '' })),
    isAllowed: (host) => policy.net.some((rule) => rule.allow && rule.host === host),
  })

/** Granted outside and the workspace itself count, besides what is there for every program. */
const isInside = (path: string, { root, outside, isVisible }: HintFacts): boolean =>
  isVisible(path) ||
  below(root.path, path) !== undefined ||
  (new FsIndex(outside).governing(relativeToRoot(path))?.grants.size ?? 0) > 0

function explain(
  request: RunRequest,
  plan: Plan,
  exit: Exit,
  decisions: readonly ProxyDecision[],
): Omit<RunOutcome, 'notices'> {
  const failed = exit.code !== 0
  const refused = decisions
    .filter((decision) => !decision.allowed)
    .map((decision) => asTyped(decision, request.argv, exit.said))
  const unreached = decisions.filter((decision) => failed && decision.failed)
  const left = leftBehind(exit.left, plan.survey.home.canonical, request.sandbox.sensitive)
  return {
    exit,
    refused,
    left: left?.keep === undefined ? left : { ...left, first: firstOf(left, request.argv) },
    unreached: [...new Set(unreached.map(({ reason }) => reason))],
    // What succeeded and complained about nothing needs no guess.
    hints: failed || exit.said !== '' ? hintsOf(request, plan, exit, decisions) : [],
  }
}

function firstOf({ first }: LeftBehind, argv: readonly string[]): string | undefined {
  const commands = [...afterLostWorktree(argv, 'gone'), ...(first === undefined ? [] : [first])]
  return commands.length === 0 ? undefined : commands.join(' && ')
}

function hintsOf(
  request: RunRequest,
  plan: Plan,
  { code, said }: Exit,
  decisions: readonly ProxyDecision[],
): readonly Hint[] {
  const facts = hintFacts(request, plan, decisions)
  const inContext = (mentions: Mentions): Mentions =>
    withWritten(fromItsDirectory(mentions, request.argv, facts), request.argv, facts)
  const complained = mentionedInErrors(said)
  const complaints = inContext({
    ...complained,
    paths: [...repositoriesMissed(said, request.argv), ...complained.paths],
  })
  const never = whyOutside(request.argv, { code, said }, facts)
  if (never !== undefined) return [{ about: 'git', text: never, fix: undefined, audience: 'anyone' }]
  if (code === 0) return findGuardHints(complaints, facts)
  const named = inContext(mentionedInCommand(request.argv))
  // What a command usually writes is a guess for where it said nothing of why it failed.
  const typed =
    said === ''
      ? named
      : {
          ...named,
          paths: WANTS_ROOT.test(said) ? [] : named.paths.filter(({ trouble }) => trouble === 'unsaid'),
        }
  // A program that complained, and not about the network, did not fail for a URL on its command line.
  const isOffline = said === '' || complaints.hosts.length > 0 || UNREACHABLE.test(said)
  const wanted = isOffline ? typed : { ...typed, hosts: [] }
  const hints = [
    ...findLimits(said, plan.limits),
    ...networkHints(said, request.argv, plan, request.sandbox.unix_sockets),
    ...programHints(request, said, facts),
    ...findHints([complaints, wanted], facts),
    ...(UNREACHABLE.test(said) && complaints.hosts.length + wanted.hosts.length === 0 ? [UNKNOWN] : []),
  ]
  const { argv, home, env } = request
  const nested = nestedRunHints({
    ...facts,
    argv,
    home,
    path: env['PATH'] ?? '',
    isInside: (path) => isInside(path, facts),
  })
  if (nested.length > 0) return nested
  const before = afterLostWorktree(argv, 'refused')
  // Whoever knows most about a thing comes first.
  const meant = isCordonRun(argv) ? forBothRuns(hints) : hints
  return meant
    .filter(({ about }, at) => meant.findIndex((other) => other.about === about) === at)
    .map((hint) =>
      hint.first === undefined ? hint : { ...hint, first: [...before, hint.first].join(' && ') },
    )
}

const UNKNOWN: Hint = {
  about: 'network',
  text: 'an address was asked for that no rule allows, without the proxy, and the command does not say which: --allow-net ADDRESS:PORT would allow it',
  fix: undefined,
  audience: 'anyone',
}

/** What nobody but root may do fails whatever is granted: `mount: /mnt: must be superuser to use mount`. */
const WANTS_ROOT =
  /\b(?:must be|only|are you|need to be|requires?) (?:the )?(?:super ?user|root)\b|root privileges/i
