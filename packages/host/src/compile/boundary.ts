import { dirname } from 'node:path'
import type { Config } from '@cordon/config'
import {
  type AccessPolicy,
  below,
  type Capability,
  FsIndex,
  type FsRule,
  lookAt,
  type RelPath,
  ROOT,
  splitEntry,
} from '@cordon/policy'
import { type PathKind, placeRules } from '@cordon/sandbox'
import { READERS } from '../built-in-tools.ts'
import type { Project } from '../project.ts'
import { DEFAULT_NET } from './defaults.ts'
import { guardOf, type GuardRequest, withGuard, withMountPoints } from './guard.ts'
import { programsHeldFor } from './server-code.ts'
import { namesOf, WRITING, writes } from './names.ts'
import type { Subject } from './subject.ts'

const WRITERS: ReadonlySet<string> = new Set([
  'fs_create_file',
  'fs_modify_file',
  'fs_delete_file',
  'fs_move_file',
])

/** SPEC 4.12: whether create, update and delete are held by the tool itself. Not when a layer put another program in its place. */
export const holdsItself = (
  { conversation }: Config,
  { kind, name }: Pick<Subject, 'kind' | 'name'>,
): boolean => kind === 'tool' && WRITERS.has(name) && conversation.tools[name]?.command === undefined

/** Whether it is one of the shipped tools that only read: other rights are of no use to it. */
export const onlyReads = (
  { conversation }: Config,
  { kind, name }: Pick<Subject, 'kind' | 'name'>,
): boolean => kind === 'tool' && READERS.has(name) && conversation.tools[name]?.command === undefined

/** Said of other rights. */
export const ONLY_READS = 'this tool only reads'

/** SPEC 4.12: said of the shipped tools that write, whatever their rules for hosts are. */
export const NO_NETWORK = 'the shipped tools that write never have a network'

/** Whether it is a shipped tool, and no other program in the place of one. */
export const isShipped = (
  { conversation }: Config,
  { kind, name }: Pick<Subject, 'kind' | 'name'>,
): boolean => {
  const tool = kind === 'tool' ? conversation.tools[name] : undefined
  return tool?.source.kind === 'local' && tool.command === undefined
}

/**
 * SPEC 1.8: whether it asks the rules itself, by the name that it was given. What `unix_utils` executes, and whatever any other
 * program does, the kernel decides about, by the place.
 */
export const asksItself = (config: Config, subject: Subject, capability: string): boolean =>
  holdsItself(config, subject) ||
  onlyReads(config, subject) ||
  (subject.kind === 'tool' &&
    subject.name === 'unix_utils' &&
    config.conversation.tools['unix_utils']?.command === undefined &&
    capability !== 'execute')

/**
 * What the kernel holds of a reading tool's policy: less what changes files, which is of no use to it. So a call of it leaves
 * nothing behind that somebody would have to look for (decision 0253).
 */
function readingBoundary(policy: AccessPolicy): AccessPolicy {
  const fs = policy.fs
    .filter(({ guard }) => guard === undefined) // what a guard takes away is what nobody has
    .map((rule) => ({ ...rule, grants: new Set([...rule.grants].filter((each) => !WRITING.has(each))) }))
  return { ...policy, fs }
}

/** What the kernel holds of a subject's policy, where that is not the policy itself: for whoever calls it, and for whoever says what a call would do. */
export function boundaryFor(
  project: Pick<Project, 'root' | 'guard' | 'loaded'>,
  subject: Subject,
  policy: AccessPolicy,
): AccessPolicy | undefined {
  const { loaded } = project
  if (policy.fs.length === 0) return undefined
  if (onlyReads(loaded.config, subject)) return readingBoundary(policy)
  if (!holdsItself(loaded.config, subject)) return undefined
  const guard = guardOf(project, loaded, programsHeldFor(subject))
  return boundaryOf(policy, withMountPoints(guard, subject, loaded.config), kindOf)
}

/**
 * SPEC 4.12: the outer boundary. What grants any writing is writable, what grants none is read-only or hidden, and the
 * guard holds as ever. A file is replaced by a rename in its directory, and what is missing is made in the nearest one that
 * exists: those directories are writable, too. Nothing is started, and there is no network (decision 0176).
 */
export function boundaryOf(
  policy: AccessPolicy,
  guard: GuardRequest,
  kind: (path: string) => PathKind,
): AccessPolicy {
  const { root, survey } = guard
  const index = new FsIndex(
    policy.fs.filter((rule) => rule.guard === undefined),
    root.foldCase,
  )
  const outer = new Map<RelPath, FsRule>()
  const single: { readonly rule: FsRule; readonly place: string }[] = []
  const files: string[] = []
  for (const [place, rules] of placeRules(index.rules, root.path)) {
    const grants = grantsAt(place, index, guard)
    for (const rule of rules) {
      outer.set(rule.path, { ...rule, grants })
      if (writes(rule) && kind(place) !== 'dir') single.push({ rule, place })
    }
  }
  for (const { rule, place } of single)
    if (rule.approvedTarget === place) openMounted(rule, place)
    else openAround(rule.path, place)
  const opened = new FsIndex([...outer.values()], root.foldCase)
  // SPEC 4.10: a rule named the file itself, so the guard is lifted there, by whichever name the directory is reached.
  const lifted = new Set(files.flatMap((file) => namesOf(file, opened, root)))
  const fs = withGuard(opened.rules, guard).filter((rule) => !rule.guard || !lifted.has(rule.path))
  return { ...policy, fs, net: DEFAULT_NET }

  /** A mount that leads to a file. */
  function openMounted(rule: FsRule, file: string): void {
    if (!isReplaceable(file, { home: survey.home, root: root.path })) return
    outer.set(rule.path, { ...rule, approvedTarget: dirname(file), grants: CHANGE })
    files.push(file)
  }

  /** Makes the directories from here up to the nearest one that exists writable, so that the missing ones can be made, whatever rules stand at them. */
  function openAround(path: RelPath, place: string): void {
    let [dir, at] = [path, place]
    do {
      dir = splitEntry(dir)?.parent ?? ROOT
      at = dirname(at)
      const rule = outer.get(dir)
      if (rule) outer.set(dir, { ...rule, grants: CHANGE })
    } while (kind(at) !== 'dir' && dir !== ROOT)
    if (!outer.has(dir)) outer.set(dir, { path: dir, external: false, grants: CHANGE })
  }
}

/**
 * SPEC 4.12: whether a file behind a mount can be changed by a shipped tool, which replaces it in its directory. That is not
 * opened where it is the person's home, or holds it or the workspace (decision 0459).
 */
export const isReplaceable = (
  file: string,
  around: { readonly home: string; readonly root: string },
): boolean => ![around.home, around.root].some((path) => below(dirname(file), path) !== undefined)

/** Why it is not, and what works instead. */
export const NOT_REPLACEABLE =
  'a single file is replaced in its directory, and that one is your home, or holds it or the workspace; mount a directory instead'

const CHANGE: ReadonlySet<Capability> = new Set(['read', 'create', 'update', 'delete'])
const LOOK: ReadonlySet<Capability> = new Set(['read'])
const NOTHING: ReadonlySet<Capability> = new Set()

/** The kernel knows where a place is, not by which name a rule calls it. So the place gets what any of its names grants. */
function grantsAt(place: string, index: FsIndex, { root }: GuardRequest): ReadonlySet<Capability> {
  const rules = namesOf(place, index, root).flatMap((name) => index.governing(name) ?? [])
  if (rules.some(writes)) return CHANGE
  return rules.some(({ grants }) => grants.has('read')) ? LOOK : NOTHING
}

function kindOf(path: string): PathKind {
  const stats = lookAt(path)
  if (!stats) return 'missing'
  return stats.isDirectory() ? 'dir' : stats.isSymbolicLink() ? 'link' : 'file'
}
