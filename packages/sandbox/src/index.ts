export {
  type Guarantee,
  type KernelReport,
  type LauncherState,
  type LostGuarantee,
  type NamespaceName,
} from './kernel.ts'
export { findLauncher, LauncherMissingError } from './launcher.ts'
export { assumeKernel, parseProbe, probeKernel } from './probe.ts'
export { buildEnvironment } from './environment.ts'
export { openAmbientSurvey, type SurveyRequest } from './plan/ambient-survey.ts'
export { type PathKind, type Place, type RuntimeEntry, type Survey, type SystemEntry } from './plan/survey.ts'
export { ProgramNotFoundError } from './plan/program.ts'
export { DEFAULT_LIMITS, planConfinement, PROXY_PORT } from './plan/plan.ts'
export { UnenforceableError, UnplannableError } from './plan/errors.ts'
export {
  type ConfinementRequest,
  type Held,
  type Holder,
  type Limits,
  type Plan,
  type Rule,
  type SandboxMode,
  type WatchedPath,
} from './plan/types.ts'
export { FILES } from './call.ts'
export { type Exit } from './exit.ts'
export { type Confined, spawnConfined, type SpawnOptions } from './spawn.ts'
export { type End, endFrom } from './ended.ts'
export { seenIn, type Succession, takeAmbientReport, takeOver } from './take-over.ts'
export { type DeniedPath } from './denied-paths.ts'
export { isKernelRefusal, LaunchError } from './status.ts'
export { sandboxProfile } from './darwin/profile.ts'
export { serveProxy, type ProxyHandle, type ProxyTrust } from './proxy/serve.ts'
export {
  type DecisionKind,
  type ProxyDecision,
  type ProxyLimits,
  type ProxyOptions,
  type Resolve,
} from './proxy/options.ts'
export { getUnderRules, type GetOptions, type Got } from './proxy/get.ts'
export { netHolders, type NetHolder } from './proxy/holders.ts'
export { type ProxyAddress, type TrustFiles } from './proxy/environment.ts'
