import type { CanonicalPath, FsRule, RelPath } from '@cordon/policy'
import { type Approvals, ApprovalStore } from '@cordon/workspace'
import { resolveThrough, type ResolveRule } from '../compile/resolve.ts'
import { subjectsOf } from '../compile/subject.ts'
import type { Project } from '../project.ts'
import { modeOf } from './delta.ts'
import type { MountMode } from './grammar.ts'

type MountState = 'ok' | 'unapproved' | 'retargeted' | 'broken'

/** One line of `mount ls`: tools that have the same mode of a mount stand together. */
export interface MountView {
  readonly name: RelPath
  /** Where it leads now; undefined when it is broken. */
  readonly target: CanonicalPath | undefined
  /** Where it led when it was approved, if that is not where it leads. */
  readonly was?: string | undefined
  readonly tools: readonly string[]
  readonly mode: MountMode | 'none'
  readonly state: MountState
  /** What is wrong, when it is not ok. */
  readonly reason: string | undefined
}

export async function listMounts(
  project: Project,
  { pid, uid }: { readonly pid: number; readonly uid: number | undefined },
): Promise<MountView[]> {
  const holder = { pid, command: 'cordon' }
  const store = new ApprovalStore(project.workspace, { holder, uid, now: () => new Date() })
  return viewMounts(project, await store.read())
}

/** SPEC 3.4: any rule with `external = true` counts, whoever wrote it. */
function viewMounts(
  { root, loaded, guard }: Pick<Project, 'root' | 'loaded' | 'guard'>,
  approvals: Approvals,
): MountView[] {
  const resolve = resolveThrough(root, guard)
  const groups = new Map<string, { rule: FsRule; tools: string[] }>()
  for (const { name: subject, access } of subjectsOf(loaded.config)) {
    for (const rule of winners(access?.fs ?? [])) {
      const group = groups.get(`${rule.path}\0${shownMode(rule)}`) ?? { rule, tools: [] }
      group.tools.push(subject)
      groups.set(`${rule.path}\0${shownMode(rule)}`, group)
    }
  }
  return [...groups.values()]
    .map(({ rule, tools }): MountView => {
      return { name: rule.path, tools, mode: shownMode(rule), ...stateOf(rule, resolve, approvals) }
    })
    .toSorted((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1))
}

/** SPEC 1.1: of several rules at one path the last one answers; the mount is what it says. */
const winners = (rules: readonly FsRule[]): FsRule[] =>
  [...new Map(rules.map((rule) => [rule.path, rule])).values()].filter(({ external }) => external)

const shownMode = (rule: FsRule): MountView['mode'] => (rule.grants.size === 0 ? 'none' : modeOf(rule))

function stateOf(
  rule: FsRule,
  resolve: ResolveRule,
  approvals: Approvals,
): Pick<MountView, 'target' | 'was' | 'state' | 'reason'> {
  const resolved = resolve(rule)
  switch (resolved.kind) {
    case 'broken':
      return { target: undefined, was: approvals.last(rule.path), state: 'broken', reason: resolved.reason }
    case 'inside':
      return {
        target: undefined,
        state: 'broken',
        reason: `it leads to ${resolved.path}, inside the workspace`,
      }
    case 'outside': {
      const { target } = resolved
      const known = approvals.lookup(rule.path, target)
      if (known === 'approved') return { target, state: 'ok', reason: undefined }
      return known === 'unknown'
        ? { target, state: 'unapproved', reason: 'its target was never approved' }
        : { target, was: known.was, state: 'retargeted', reason: `it was approved for ${known.was}` }
    }
  }
}
