export { type KernelReport, type LauncherState, type LostGuarantee } from './kernel.ts'
export { findLauncher, LauncherMissingError } from './launcher.ts'
export { findDelegatedCgroup } from './cgroup.ts'
export { assumeKernel, parseProbe, probeKernel } from './probe.ts'
export { buildEnvironment } from './environment.ts'
export {
  isInSystem,
  isOwnNode,
  isSharedDevice,
  linksOnTheWay,
  openAmbientSurvey,
  scratchAround,
  type SurveyRequest,
} from './plan/ambient-survey.ts'
export { type LinkOnTheWay, type PathKind, type Survey } from './plan/survey.ts'
export { findProgram, NotExecutableError, ProgramNotFoundError } from './plan/program.ts'
export { DEFAULT_LIMITS, planConfinement } from './plan/plan.ts'
export { type InsideSocket, type NetworkPlan } from './plan/network.ts'
export { LIMITS } from './plan/limits.ts'
export { placeRules, writablePlaces } from './plan/regions.ts'
export { whyNoWorkspace } from './plan/no-workspace.ts'
export { type Replaced } from './replaced.ts'
export { nameOf, type OutsideRule, whyNotOutside } from './plan/outside.ts'
export { UnenforceableError, UnplannableError } from './plan/errors.ts'
export {
  type Held,
  type Holder,
  type Limits,
  type Loss,
  type Plan,
  type PlanRequest,
  type WatchedPath,
} from './plan/types.ts'
export { FILES, type SpawnOptions } from './call.ts'
export { type Exchange, exchangeByStreams } from './exchange.ts'
export { type Exit } from './exit.ts'
export { orphansEnded } from './inside.ts'
export { Stopper, type StopSignal } from './stop-signal.ts'
export { type Confined, spawnConfined } from './spawn.ts'
export { changedSince, guardedFiles } from './guarded-files.ts'
export { type DeniedPath, isStillThere, lookForNew } from './denied-paths.ts'
export { heldPath, holdAmbientDirectory } from './held-directory.ts'
export { type IdLength, readGitlinks } from './git-index.ts'
export { isKernelRefusal, LaunchError } from './status.ts'
export { sandboxProfile } from './darwin/profile.ts'
export { openProxy, type ProxyHandle } from './proxy/serve.ts'
export { classifyAddress } from './proxy/address.ts'
export { inHostsFile } from './proxy/hosts-file.ts'
export { needsAuthority } from './proxy/gate.ts'
export { proxyEnv, trustEnv } from './proxy/environment.ts'
export { parseUpstream } from './proxy/upstream.ts'
export { type NetWish, type ProxyDecision, type ProxyOptions } from './proxy/options.ts'
export { getUnderRules, type GetOptions } from './proxy/get.ts'
export { netHolders } from './proxy/holders.ts'
export { isTerminal } from './spawn.ts'
