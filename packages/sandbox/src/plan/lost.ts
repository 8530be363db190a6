import { type KernelReport, type LostGuarantee } from '../kernel.ts'
import { type Plan } from './types.ts'

/** What a run without namespaces, Landlock or seccomp does without, by name (SPEC 4.3). */
export function lostWithout(kernel: KernelReport, isolation: Plan['isolation']): readonly LostGuarantee[] {
  return [
    ...(isolation === 'landlock-only' ? withoutNamespaces(kernel) : []),
    ...(kernel.landlockAbi === 0 ? [WITHOUT_LANDLOCK] : []),
    ...(kernel.seccomp ? [] : [WITHOUT_SECCOMP]),
  ]
}

function withoutNamespaces({ newRoot }: KernelReport): readonly LostGuarantee[] {
  const why =
    newRoot === 'works'
      ? 'user namespaces were switched off for this run'
      : `the kernel refused a new root at step ${newRoot.step} (${newRoot.errno})`
  const fix =
    'allow unprivileged user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu, `sysctl user.max_user_namespaces=15000` elsewhere, `--security-opt seccomp=unconfined` in a container'
  return NEED_NAMESPACES.map(([guarantee, loss]) => ({ guarantee, loss, why, fix }))
}

const NEED_NAMESPACES = [
  ['private-home-and-tmp', 'the home directory and /tmp are refused instead of private and empty'],
  ['narrower-rules', 'a rule cannot take back what a wider rule grants'],
  ['host-rules', 'no network at all: rules that allow hosts cannot be served'],
  ['process-isolation', 'other processes can be seen, though not read or signalled'],
  ['process-cleanup', 'a background process can survive when the host is killed'],
] as const

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
