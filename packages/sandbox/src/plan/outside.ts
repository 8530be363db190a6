import { type FsRule, show } from '@cordon/policy'
import { encloses } from './paths.ts'
import { whyNoWorkspace } from './no-workspace.ts'

/**
 * SPEC 4.8: a place outside the workspace, at its own path. Part of a plan and never of a policy, whose rules stay in the
 * workspace (SPEC 1.2). It is a rule all the same, with `/` as its root, so that it is guarded, held and explained like one.
 */
export interface OutsideRule extends FsRule {
  readonly outside: true
}

/** What a person calls the place of a rule: relative to the workspace, or absolute. */
export const nameOf = (rule: Pick<FsRule, 'path'>): string =>
  'outside' in rule ? (rule.path === '.' ? '/' : `/${rule.path}`) : rule.path

/** The kernel's, as files: of all processes, devices and settings. What people have in memory is not meant. */
const KERNELS = ['/dev', '/proc', '/sys']
const PEOPLES = /^\/dev\/shm\/./

/** Where configuration lies, and with it passwords: what is for everybody is shown anyway (SPEC 4.3). */
const CONFIGURATION = ['/etc', '/usr/local/etc']

/** Why a place is never granted, however it is asked for. Of a canonical path. */
export function whyNotOutside(
  path: string,
  { writes, home }: { readonly writes: boolean; readonly home: string },
): string | undefined {
  if (path === '/') return 'that is all there is; name the directories that are needed'
  if (KERNELS.some((dir) => encloses(dir, path)) && !PEOPLES.test(path))
    return `${show(path)} belongs to the kernel; every command has the part of it that it needs`
  if (!writes) return undefined
  if (encloses(path, home))
    return 'your home, and what is above it, would give away all you have; name the directories that are needed'
  if (whyNoWorkspace(path) !== undefined || CONFIGURATION.some((dir) => encloses(dir, path)))
    return `${show(path)} belongs to the system, or holds much more than one project`
  return undefined
}
