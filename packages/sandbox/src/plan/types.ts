import {
  type AccessPolicy,
  type Capability,
  type CommandRule,
  type EnvRule,
  type FsRule,
  type Guard,
  type NetRule,
} from '@cordon/policy'
import { type KernelReport, type LostGuarantee } from '../kernel.ts'
import { type Item } from '../linux/items.ts'
import { type OutsideRule } from './outside.ts'
import { type NetworkPlan } from './network.ts'
import { type HeldRegion } from './regions-held.ts'
import { type Survey } from './survey.ts'

/** SPEC 4.3: what to do when a declared guarantee cannot be had. `off` never reaches the sandbox. */
type SandboxMode = 'enforce' | 'warn'

/** Bounds on one confined call. Sizes in bytes. */
export interface Limits {
  /** Of each process (RLIMIT_DATA). */
  readonly memory: number
  /** Processor time of each process, in seconds (RLIMIT_CPU). Absent: as much as it takes. */
  readonly cpu?: number
  readonly processes: number
  /** Open files of each process. */
  readonly files: number
  /** Of everything private together: `$HOME`, `/tmp`, `/var/tmp`, `/dev/shm`. */
  readonly tmp: number
}

export interface PlanRequest {
  readonly policy: AccessPolicy
  /** What this process has besides, outside the workspace. */
  readonly outside?: readonly OutsideRule[]
  readonly kernel: KernelReport
  readonly survey: Survey
  readonly mode: SandboxMode
  readonly limits?: Partial<Limits>
  /** A cgroup in which we may make others, found by `findDelegatedCgroup`. Asked for only with a limit of memory. */
  readonly cgroup?: string | undefined
  /** SPEC 4.5: whether the process may make unix sockets with names. Default `pairs`: nothing can reach one of the host. */
  readonly unixSockets?: 'pairs' | 'private'
  /** Tests only: behave as on a kernel without user namespaces. */
  readonly simulate?: { readonly userns: false }
}

type Rule =
  | { readonly axis: 'fs'; readonly rule: FsRule }
  | { readonly axis: 'net'; readonly rule: NetRule }
  | { readonly axis: 'env'; readonly rule: EnvRule }
  | { readonly axis: 'commands'; readonly program: string; readonly rule: CommandRule }

/** SPEC 4.7: who holds one capability of one rule. */
export type Held =
  | { readonly by: 'kernel'; readonly mechanism: string }
  | { readonly by: 'proxy' }
  | { readonly by: 'cooperative'; readonly why: string }
  | { readonly by: 'not enforceable here'; readonly why: string }

export type Holder = Rule & {
  /** For net `connect`, for env `see`, for commands `start`. */
  readonly capability: Capability | 'connect' | 'see' | 'start'
  readonly granted: boolean
  readonly held: Held
  /** Where the kernel is stricter than the rule, or holds a part of it only. */
  readonly limits: readonly string[]
}

/**
 * A rule path that is not there yet: nothing can be mounted on it (SPEC 4.3), so it is looked at afterwards. With `no-links` it is a
 * directory that is there, in which new links are looked for.
 */
export interface WatchedPath {
  /** Below this directory the path is walked without following links. */
  readonly base: string
  readonly path: string
  readonly guard: Guard
  /** A person's rule denies it. Without it the path is guarded, for every run in the workspace alike. */
  readonly declared?: true
  /** Decision 0641: what was there all the same when this run began, made while another one went on that had found nothing. */
  readonly was?: string
  /** Of a git directory: all that could be written. A linked worktree elsewhere is none of the run's (decision 0661). */
  readonly writable?: readonly string[]
}

/** What a run does without. */
export interface Loss extends LostGuarantee {
  /** The policy or the limits ask for it by name, so it is said whatever is kept back (SPEC 4.11). */
  readonly declared: boolean
}

export interface Plan {
  readonly survey: Survey
  readonly limits: Limits
  readonly isolation: 'namespaces' | 'landlock-only'
  readonly items: readonly Item[]
  readonly regions: readonly HeldRegion[]
  readonly holders: readonly Holder[]
  /** What this run does without; always empty under `enforce` for what the policy declares. */
  readonly lost: readonly Loss[]
  readonly watched: readonly WatchedPath[]
  /** Things a person should know that are no loss: `$HOME is not writable because …`. */
  readonly notes: readonly string[]
  /** The limit of all processes together, where a cgroup is delegated to us. */
  readonly cgroup: { readonly parent: string; readonly memory: number } | undefined
  /** SPEC 4.5: what the host serves inside. Undefined where there is no network namespace. */
  readonly network: NetworkPlan | undefined
}
