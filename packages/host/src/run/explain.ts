import { join, resolve } from 'node:path'
import { below, FsIndex } from '@cordon/policy'
import { buildEnvironment, type Exit, type Plan, type ProxyDecision } from '@cordon/sandbox'
import { asTyped } from '../confine/as-typed.ts'
import { fromItsDirectory } from '../confine/directory.ts'
import {
  afterLostWorktree,
  repositoriesMissed,
  submoduleConfig,
  unseenRepository,
  whyOutside,
} from '../confine/git-words.ts'
import type { Hint, HintFacts } from '../confine/hint.ts'
import { findGuardHints, findHints } from '../confine/hints.ts'
import { findLimits } from '../confine/limits.ts'
import {
  mentionedInCommand,
  mentionedInErrors,
  type Mentions,
  replacedUnsaid,
  UNREACHABLE,
} from '../confine/mentions.ts'
import { forBothRuns, isCordonRun, nestedRunHints } from '../confine/nested-run.ts'
import { packagesMissed } from '../confine/node-words.ts'
import { networkHints } from '../confine/network-hints.ts'
import { hintFacts } from '../confine/plan.ts'
import { findProgramHints } from '../confine/program-hints.ts'
import { withWritten, writtenInScripts } from '../confine/written.ts'
import { relativeToRoot } from '../outside/place.ts'
import { type LeftBehind, leftBehind } from './left.ts'
import type { RunOutcome, RunRequest } from './run.ts'

/** SPEC 4.7: what a person is told after a command has ended: exactly where it is known, and where it is guessed, as a hint. */
export function explain(
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
    // What succeeded and complained about nothing, where we would have heard it, needs no guess.
    hints: failed || exit.said !== '' || !request.keepErrors ? hintsOf(request, plan, exit, decisions) : [],
  }
}

function firstOf({ first }: LeftBehind, argv: readonly string[]): string | undefined {
  const commands = [...afterLostWorktree(argv, 'gone'), ...(first === undefined ? [] : [first])]
  return commands.length === 0 ? undefined : commands.join(' && ')
}

function hintsOf(
  request: RunRequest,
  plan: Plan,
  exit: Exit,
  decisions: readonly ProxyDecision[],
): readonly Hint[] {
  const { code, said } = exit
  const facts = hintFacts(request, plan, decisions)
  const inContext = (mentions: Mentions): Mentions =>
    withWritten(fromItsDirectory(mentions, request.argv, facts), request.argv, facts)
  const complained = mentionedInErrors(said)
  const complaints = inContext({
    ...complained,
    paths: [...repositoriesMissed(said, request.argv), ...packagesMissed(said, facts), ...complained.paths],
  })
  const never = whyOutside(request.argv, { code, said }, facts)
  if (never !== undefined) return [{ about: 'git', text: never, fix: undefined, audience: 'anyone' }]
  if (code === 0)
    return findGuardHints(request.keepErrors ? complaints : inContext(replacedUnsaid(request.argv)), facts)
  const typedNames = mentionedInCommand(request.argv, (path) => facts.exists(resolve(request.cwd, path)))
  const named = inContext({
    ...typedNames,
    paths: [
      ...writtenInScripts(request.argv),
      ...typedNames.paths,
      ...(said === '' ? submoduleConfig(request.argv, request.policy) : []),
    ],
  })
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
    ...findLimits(said, plan.limits, exit),
    ...networkHints(said, request.argv, plan, request.sandbox.unix_sockets),
    ...programHints(request, said, facts),
    ...unseenRepository(said, request.argv, facts),
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
  // Where git was not heard, the branch may be one that was there before.
  const before = said === '' ? [] : afterLostWorktree(argv, 'refused')
  // Whoever knows most about a thing comes first. SPEC 4.10: what was made there was not refused.
  const kept = hints.filter(({ about }) => !exit.appeared.includes(join(request.root.path, about)))
  const meant = isCordonRun(argv) ? forBothRuns(kept) : kept
  return meant
    .filter(
      ({ about, fix }, at) =>
        meant.findIndex((other) => other.about === about || (fix !== undefined && other.fix === fix)) === at,
    )
    .map((hint) =>
      hint.first === undefined ? hint : { ...hint, first: [...before, hint.first].join(' && ') },
    )
}

const programHints = (
  { argv, env, policy, home, isPipedInto = false }: RunRequest,
  said: string,
  facts: HintFacts,
): readonly Hint[] =>
  findProgramHints({
    said,
    argv,
    isPipedInto,
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

const UNKNOWN: Hint = {
  about: 'network',
  text: 'an address was asked for that no rule allows, without the proxy, and the command does not say which: --allow-net ADDRESS:PORT would allow it',
  fix: undefined,
  audience: 'anyone',
}

/** What nobody but root may do fails whatever is granted: `mount: /mnt: must be superuser to use mount`. */
const WANTS_ROOT =
  /\b(?:must be|only|are you|need to be|requires?) (?:the )?(?:super ?user|root)\b|root privileges/i
