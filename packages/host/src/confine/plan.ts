import { accessSync, constants, lstatSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { below, show } from '@cordon/policy'
import {
  DEFAULT_LIMITS,
  findDelegatedCgroup,
  type KernelReport,
  openAmbientSurvey,
  type Plan,
  planConfinement,
  type ProxyDecision,
  UnplannableError,
  whyNotOutside,
} from '@cordon/sandbox'
import { userDataDir } from '@cordon/workspace'
import { SENSITIVE, sensitivePattern } from '../compile/sensitive.ts'
import { relativeToRoot, wayOut, whyNeverGranted } from '../outside/place.ts'
import { realName } from '../real-name.ts'
import { whyPinned } from '../why/pinned.ts'
import type { HintFacts } from './hint.ts'
import { type Network, openNetwork } from './network.ts'
import { type Confinement, variablesOf } from './program.ts'
import { foundByOthers } from './unfinished.ts'
import { writableBefore } from './writable.ts'

export function planFor(kernel: KernelReport, request: Confinement, env: Record<string, string>): Plan {
  const {
    policy: exact,
    boundary: policy = exact,
    root,
    home,
    cwd,
    argv,
    sandbox,
    runtime = [],
    own = [],
    outside = [],
  } = request
  const survey = openAmbientSurvey({
    policy,
    outside,
    replaced: (request.replaced ?? []).map(({ path }) => path),
    root: root.path,
    home,
    cwd,
    argv0: argv[0],
    env,
    runtime,
    own,
    writableBefore: () => writableBefore(request),
    watchedByOthers: foundByOthers(request.unfinished).watched,
    secrets: 'at-start', // every call is planned anew
    namesKept: join(userDataDir({ env: request.env, home, platform: 'linux' }), 'names'), // no launcher is elsewhere
  })
  // Both were real when they were found. A link that is there now was put there since, by somebody else.
  if (survey.root.canonical !== root.path || survey.cwd !== cwd)
    throw new UnplannableError(`${show(cwd)} leads elsewhere by now, to ${show(survey.cwd)}: start again`)
  const { memory_mb, processes, tmp_mb, open_files, cpu_secs } = sandbox.limits
  // The built-in limit holds for each process, as everybody knows it; one that somebody chose is for all of them together.
  const memory = memory_mb === undefined ? DEFAULT_LIMITS.memory : memory_mb * MIB
  const isChosen = memory !== DEFAULT_LIMITS.memory
  return planConfinement({
    policy,
    outside,
    kernel,
    survey,
    mode: sandbox.mode === 'warn' ? 'warn' : 'enforce',
    unixSockets: sandbox.unix_sockets,
    limits: {
      ...(isChosen ? { memory } : {}),
      ...(processes === undefined ? {} : { processes }),
      ...(tmp_mb === undefined ? {} : { tmp: tmp_mb * MIB }),
      ...(open_files === undefined ? {} : { files: open_files }),
      ...(cpu_secs === undefined ? {} : { cpu: cpu_secs }),
    },
    ...(isChosen ? { cgroup: findDelegatedCgroup() } : {}),
  })
}

const MIB = 1024 * 1024

export async function networkFor(
  { policy, env }: Pick<Confinement, 'policy' | 'env'>,
  { network }: Plan,
  onRefused?: (decision: ProxyDecision) => void,
): Promise<Network | undefined> {
  return network && openNetwork({ rules: policy.net, plan: network, env, onRefused })
}

/** What hints are looked up in: the policy, and what this plan shows of the host. */
export function hintFacts(
  { argv, root, policy, outside = [], cwd, home, env, values, guard, sandbox }: Confinement,
  plan: Plan,
  decisions: readonly ProxyDecision[],
): HintFacts {
  const { survey, isolation } = plan
  const shown = [
    ...[...survey.system, ...survey.runtime, ...NODES].map((entry) => entry.path),
    ...survey.devices,
    // Without namespaces nothing is copied in.
    ...(isolation === 'namespaces' ? (survey.replaced ?? []).map(({ path }) => path) : []),
  ]
  const own = [survey.root, survey.home].flatMap(({ given, canonical }) => [given, canonical])
  const places = isolation === 'namespaces' ? [...survey.scratch, ...own] : own
  return {
    root,
    policy,
    outside,
    cwd,
    home,
    exists,
    wayOut: (path) => wayOut(path, root.path),
    realName: (path) => realName(path) ?? path,
    isSensitive: (path) =>
      sensitivePattern(
        { path: relativeToRoot(path) },
        { root: '/', home, patterns: [...SENSITIVE, ...sandbox.sensitive] },
      ) !== undefined,
    whyPinned: (path) => whyPinned(path, plan),
    isGuarded: (path) => guard?.workspace().some((entry) => !entry.open && entry.path === path) ?? false,
    isNamed: (path) => argv.some((word) => resolve(cwd, word) === path),
    isProgram,
    // A directory above something that is there is there as well; that the rest of it is not was no mistake.
    isVisible: (path) =>
      shown.some((each) => below(each, path) !== undefined) ||
      [...shown, ...places].some((each) => below(path, each) !== undefined),
    isTheWay: (path) =>
      isolation === 'namespaces' &&
      ![...survey.scratch, survey.home.given, survey.home.canonical].includes(path) &&
      !shown.some((each) => below(each, path) !== undefined) &&
      own.some((each) => each !== path && below(path, each) !== undefined),
    isSecret: (path) => survey.secrets.some((secret) => below(secret, path) !== undefined),
    hasVariable: (name) => variablesOf({ env, values })[name] !== undefined,
    whyNever: (path, wanted) =>
      guard === undefined
        ? whyNotOutside(path, { writes: wanted === 'write', home })
        : whyNeverGranted(path, { writes: wanted === 'write', guard }),
    mayUse,
    canHoldHosts: isolation === 'namespaces',
    hidesOutside: isolation === 'namespaces',
    // What the proxy knows exactly is not guessed at again: that it was refused, and that it was allowed in vain.
    isKnown: (host) => decisions.some((decision) => decision.host === host),
  }
}

/** What we cannot look at, or what is too long for a name, is nothing that we could say anything of. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** Of what is not there nobody is kept. */
function mayUse(path: string, wanted: 'read' | 'write'): boolean {
  try {
    accessSync(path, wanted === 'read' ? constants.R_OK : constants.W_OK)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EACCES'
  }
}

function isProgram(path: string): boolean {
  const stats = exists(path) ? statSync(path, { throwIfNoEntry: false }) : undefined
  return stats !== undefined && stats.isFile() && (stats.mode & 0o111) !== 0
}

/** There for every program, each of its own kind. */
const NODES = [{ path: '/proc' }, { path: '/dev/pts' }, { path: '/dev/ptmx' }, { path: '/dev/fd' }]
