import { show } from '@cordon/policy'
import { type Guarantee, type KernelReport, type LostGuarantee } from '../kernel.ts'
import { ABI_WITH_SCOPES } from '../linux/landlock.ts'
import { nameOf } from './outside.ts'
import { type Holder, type Loss, type Plan } from './types.ts'

/** What a run without namespaces, Landlock or seccomp does without, by name (SPEC 4.3, decision 0114). */
export function lostWithout(kernel: KernelReport, isolation: Plan['isolation']): readonly LostGuarantee[] {
  if (kernel.platform === 'linux' && kernel.launcher.state === 'missing')
    return [withoutLauncher(kernel.launcher)]
  return [
    ...(hasBoundary(kernel, isolation) ? [] : [withoutBoundary(kernel)]),
    ...(isolation === 'landlock-only' ? withoutNamespaces(kernel) : []),
    ...(kernel.landlockAbi === 0 ? [WITHOUT_LANDLOCK] : []),
    ...(kernel.seccomp ? [] : [WITHOUT_SECCOMP]),
  ]
}

/** The same for a machine, of which nobody knows what there is to guard; a run names that (`lostGuard`). */
export const lostHere = (kernel: KernelReport, isolation: Plan['isolation']): readonly LostGuarantee[] => [
  ...lostWithout(kernel, isolation),
  ...(isolation === 'landlock-only' && (kernel.platform !== 'linux' || kernel.launcher.state === 'ready')
    ? [{ guarantee: 'guard', loss: UNGUARDED, ...causeOf(kernel) } as const]
    : []),
]

const UNGUARDED = 'files that the host obeys or runs by itself later can be changed'

/** Then nothing is known of the kernel, and nothing is to be loosened in it. */
const withoutLauncher = ({ why, fix }: { readonly why: string; readonly fix: string }): LostGuarantee => ({
  guarantee: 'workspace-boundary',
  loss: 'nothing can be confined, so nothing runs',
  why,
  fix,
})

/** What `warn` runs without, where the kernel has everything and the rules ask for more (docs/sandbox.md). */
export function lostOf(refused: readonly Holder[]): readonly Loss[] {
  const paths = refused.flatMap((holder) =>
    holder.axis === 'fs' ? [{ ...holder, path: nameOf(holder.rule) }] : [],
  )
  return [...Map.groupBy(paths, ({ path }) => path)].map(([path, all]) => ({
    guarantee: 'narrower-rules',
    declared: true,
    loss: `what the rule for ${show(path)} says of ${all.map(({ capability }) => capability).join(', ')}`,
    why: 'of what a wider rule grants, the kernel can take back all writing, or execute, or everything, and nothing between',
    fix: 'write the narrower rule at the top, and wider ones below it',
  }))
}

/** `sandbox.limits.memory_mb` where no cgroup is delegated to us. */
export const WITHOUT_CGROUP: Loss = {
  guarantee: 'total-memory',
  declared: true,
  loss: 'the limit of memory holds for each process alone, not for all of them together',
  why: 'no cgroup with the memory controller is delegated to this user',
  fix: 'start it in a session of systemd that has one (`systemd-run --user --scope`), on a machine with cgroup v2',
}

/** SPEC 4.5: what private unix sockets leave open. It was asked for, so it is one line and no loss. */
export const OPEN_SOCKETS = 'a unix socket of the host that lies in a granted place can be connected to'

/** SPEC 4.5: there can be none. */
export const WITHOUT_SOCKETS: Loss = {
  guarantee: 'host-sockets',
  declared: true,
  loss: 'unix sockets stay refused',
  why: 'without namespaces every socket of the host would be in reach',
  fix: 'see `cordon doctor` for how to get namespaces',
}

/** SPEC 1.5: a rule for a scheme without a default port allows nothing that the proxy sees. */
export function lostPorts(hosts: readonly string[]): readonly Loss[] {
  if (hosts.length === 0) return []
  return [
    {
      guarantee: 'host-rules',
      declared: true,
      loss: `nothing reaches ${list(hosts)}`,
      why: 'its rule names a scheme that has no default port, and no port',
      fix: 'name the port, such as github.com:9418 for git',
    },
  ]
}

/** SPEC 4.5: allowed hosts that have no address inside, or no listener at it. */
export function lostDoors(hosts: readonly string[]): readonly Loss[] {
  if (hosts.length === 0) return []
  return [
    {
      guarantee: 'host-rules',
      declared: false,
      loss: `programs that know no proxy do not reach ${list(hosts)}`,
      why: 'there are more than 512 hosts and ports with addresses of their own inside, or this address cannot be one',
      fix: 'allow fewer hosts for this command, or tell the program of the proxy in HTTP_PROXY',
    },
  ]
}

/** Whether anything at all keeps a program from the files that no rule speaks of. */
export const hasBoundary = ({ landlockAbi }: KernelReport, isolation: Plan['isolation']): boolean =>
  isolation === 'namespaces' || landlockAbi > 0

function withoutBoundary({ newRoot }: KernelReport): LostGuarantee {
  const silent = newRoot !== 'works' && newRoot.step === 'launcher'
  return {
    guarantee: 'workspace-boundary',
    loss: 'nothing keeps a program from the files outside the workspace',
    why: silent
      ? 'the launcher did not say what this kernel can do'
      : 'the kernel permits neither a new root nor Landlock',
    fix: silent
      ? 'build the launcher again (`npm rebuild`): it may be older than the rest'
      : 'use Linux 5.13 or later with `landlock` in the `lsm=` boot parameter, or allow unprivileged user namespaces',
  }
}

/** SPEC 4.10: what the guard cannot hold is said, and no reason to refuse. */
export function lostGuard(paths: readonly string[], kernel: KernelReport): readonly Loss[] {
  if (paths.length === 0) return []
  const loss = `${UNGUARDED}: ${list(paths)}`
  return [{ guarantee: 'guard', declared: false, loss, ...causeOf(kernel) }]
}

/** And where a new one of them is looked for at the end, by name, while a shell stays in the directory that had it. */
export function lostPlaces(dirs: readonly string[], kernel: KernelReport): readonly Loss[] {
  if (dirs.length === 0) return []
  const loss = `directories can be moved, and become git repositories under another name; a shell that stands in one follows, and git runs there what the command configured: ${list(dirs)}`
  return [{ guarantee: 'guard', declared: false, loss, ...causeOf(kernel) }]
}

const MOST_NAMED = 5

const list = (paths: readonly string[]): string =>
  paths.slice(0, MOST_NAMED).map(show).join(', ') +
  (paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : '')

function withoutNamespaces(kernel: KernelReport): readonly LostGuarantee[] {
  const before = kernel.landlockAbi < ABI_WITH_SCOPES
  return NEED_NAMESPACES.map(([guarantee, loss, older]) => ({
    guarantee,
    loss: before && older !== undefined ? older : loss,
    ...causeOf(kernel),
  }))
}

function causeOf({ newRoot, nested }: KernelReport): Pick<LostGuarantee, 'why' | 'fix'> {
  if (nested)
    return {
      why: 'this is inside another `cordon run`, and namespaces do not nest there',
      fix: 'start it outside of that one',
    }
  const why =
    newRoot === 'works'
      ? 'user namespaces were switched off for this run'
      : `the kernel refused a new root at step ${newRoot.step} (${newRoot.errno})`
  const fix =
    'allow unprivileged user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu, `sysctl user.max_user_namespaces=15000` elsewhere, `--security-opt seccomp=unconfined` in a container'
  return { why, fix }
}

/** Each with what it says on a kernel before Landlock's scopes, where that is more. */
const NEED_NAMESPACES: readonly (readonly [Guarantee, string, string?])[] = [
  ['private-home-and-tmp', 'the home directory and /tmp are refused instead of private and empty'],
  ['narrower-rules', 'a rule cannot take back what a wider rule grants'],
  ['host-rules', 'no network at all: rules that allow hosts cannot be served'],
  // Decision 0143.
  [
    'file-metadata',
    'size, permissions, times and attributes of every file can be seen; of what may be opened they can be changed through the open file, and of nothing by name, so `chmod`, `git init` and unpacking directories fail, and a linker leaves its program without execute permission',
  ],
  [
    'process-isolation',
    'other processes, their command lines and connections can be seen; they cannot be read otherwise, signalled or slowed',
    'other processes, their command lines and connections can be seen, and your own be ended by a signal; they cannot be read otherwise or slowed',
  ],
  ['process-cleanup', 'a background process can survive when the host is killed'],
]

const WITHOUT_LANDLOCK: LostGuarantee = {
  guarantee: 'capability-rules',
  loss: 'create, update and delete cannot be told apart, nor reading withheld where writing is granted',
  why: 'the kernel has no Landlock, or it is not in its `lsm=` list',
  fix: 'use Linux 5.13 or later (6.2 for all of it) with `landlock` in the `lsm=` boot parameter',
}

const WITHOUT_SECCOMP: LostGuarantee = {
  guarantee: 'system-call-filter',
  loss: 'dangerous system calls are not refused',
  why: 'the kernel has no seccomp filters',
  fix: 'use a kernel built with CONFIG_SECCOMP_FILTER',
}
