import { show } from '@cordon/policy'
import { type Guarantee, type KernelReport, type LostGuarantee } from '../kernel.ts'
import { ABI_WITH_SCOPES } from '../linux/landlock.ts'
import { type Holder, type Plan } from './types.ts'

/** What a run without namespaces, Landlock or seccomp does without, by name (SPEC 4.3). */
export function lostWithout(kernel: KernelReport, isolation: Plan['isolation']): readonly LostGuarantee[] {
  return [
    ...(hasBoundary(kernel, isolation) ? [] : [withoutBoundary(kernel)]),
    ...(isolation === 'landlock-only' ? withoutNamespaces(kernel) : []),
    ...(kernel.landlockAbi === 0 ? [WITHOUT_LANDLOCK] : []),
    ...(kernel.seccomp ? [] : [WITHOUT_SECCOMP]),
  ]
}

/** What `warn` runs without, where the kernel has everything and the rules ask for more (docs/sandbox.md). */
export function lostOf(refused: readonly Holder[]): readonly LostGuarantee[] {
  const paths = refused.flatMap((holder) =>
    holder.axis === 'fs' ? [{ ...holder, path: holder.rule.path }] : [],
  )
  return [...Map.groupBy(paths, ({ path }) => path)].map(([path, all]) => ({
    guarantee: 'narrower-rules',
    loss: `what the rule for ${show(path)} says of ${all.map(({ capability }) => capability).join(', ')}`,
    why: 'of what a wider rule grants, the kernel can take back all writing, or execute, or everything, and nothing between',
    fix: 'write the narrower rule at the top, and wider ones below it',
  }))
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

function withoutNamespaces({ newRoot, landlockAbi }: KernelReport): readonly LostGuarantee[] {
  const why =
    newRoot === 'works'
      ? 'user namespaces were switched off for this run'
      : `the kernel refused a new root at step ${newRoot.step} (${newRoot.errno})`
  const fix =
    'allow unprivileged user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu, `sysctl user.max_user_namespaces=15000` elsewhere, `--security-opt seccomp=unconfined` in a container'
  return NEED_NAMESPACES.map(([guarantee, loss, before]) => ({
    guarantee,
    loss: before !== undefined && landlockAbi < ABI_WITH_SCOPES ? before : loss,
    why,
    fix,
  }))
}

/** Each with what it says on a kernel before Landlock's scopes, where that is more. */
const NEED_NAMESPACES: readonly (readonly [Guarantee, string, string?])[] = [
  ['private-home-and-tmp', 'the home directory and /tmp are refused instead of private and empty'],
  ['narrower-rules', 'a rule cannot take back what a wider rule grants'],
  ['host-rules', 'no network at all: rules that allow hosts cannot be served'],
  [
    'file-metadata',
    'size, permissions, times and attributes of every file can be seen, and changed where it is yours',
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
