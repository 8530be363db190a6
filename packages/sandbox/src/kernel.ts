/** A promise of SPEC 4 that a kernel may be unable to keep. `explain` and `doctor` print these names. */
export type Guarantee =
  | 'workspace-boundary'
  | 'private-home-and-tmp'
  | 'narrower-rules'
  | 'guard'
  | 'capability-rules'
  | 'host-rules'
  | 'file-metadata'
  | 'process-isolation'
  | 'process-cleanup'
  | 'system-call-filter'
  | 'total-memory'
  | 'host-sockets'
  | 'command-rules'

export interface LostGuarantee {
  readonly guarantee: Guarantee
  /** What can happen without it, in one sentence. */
  readonly loss: string
  readonly why: string
  readonly fix: string
}

export type LauncherState =
  | { readonly state: 'ready'; readonly path: string }
  | { readonly state: 'missing'; readonly why: string; readonly fix: string }

export type NamespaceName = 'user' | 'mount' | 'pid' | 'ipc' | 'uts' | 'net' | 'cgroup'

/** What this machine can hold (SPEC 4.7 `doctor`). Data only: `probeKernel` makes it, the plan reads it. */
export interface KernelReport {
  readonly platform: 'linux' | 'darwin' | 'other'
  readonly release: string
  readonly launcher: LauncherState
  /** 0: the kernel has no Landlock, or it is switched off. */
  readonly landlockAbi: number
  readonly seccomp: boolean
  /** Absent: it works. Otherwise the error's name, such as `EPERM`. */
  readonly namespaces: Readonly<Record<NamespaceName, string | undefined>>
  /** Whether a whole new root could be built and entered: namespaces may be granted and still be useless. */
  readonly newRoot: 'works' | { readonly step: string; readonly errno: string }
  /** We run inside a sandbox of our own, which lets nobody make namespaces. Landlock stacks. */
  readonly nested?: true
  readonly lost: readonly LostGuarantee[]
}
