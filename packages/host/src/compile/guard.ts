import { dirname, join } from 'node:path'
import { type Config, formatOrigin, type LoadedConfig } from '@cordon/config'
import {
  below,
  ClosedError,
  CordonError,
  FsIndex,
  type FsRule,
  lookAt,
  parseRelPath,
  type RelPath,
  type Root,
} from '@cordon/policy'
import { nameOf } from '@cordon/sandbox'
import { Collection, type GuardedPath } from '../guard/collection.ts'
import type { GuardSurvey } from '../guard/survey.ts'
import type { Project } from '../project.ts'
import type { Question } from '../why/question.ts'
import { namesOf, WRITING, withoutWriting, writes } from './names.ts'
import { withoutSecrets } from './own-secrets.ts'
import { resolveThrough } from './resolve.ts'
import { type HeldPrograms, serverPrograms } from './server-code.ts'
import { type Subject, subjectsOf } from './subject.ts'

/** What is shown as the origin of a rule that the guard adds. `FsRule.guard` marks such a rule. */
const GUARD = 'built-in guard'

export interface GuardRequest {
  readonly root: Root
  readonly survey: GuardSurvey
  /** `sandbox.guard`. */
  readonly more: readonly RelPath[]
  /** Where each of those is written. */
  readonly origins?: ReadonlyMap<RelPath, string>
  /** Where the programs of servers are, really, and all that a server's own code is; and the clients' files that start them. */
  readonly code: readonly string[]
  /** The links of mounts, whoever has them: as entries alone, so what lies behind them is no matter of the guard. */
  readonly mounts?: readonly string[]
  /** The links that rules of others were written through. */
  readonly ways?: readonly GuardedPath[]
}

/**
 * SPEC 4.10: each guarded path that a rule covers from above gets what that rule grants, less create, update and
 * delete. So it never widens; and a rule that names the path, or one below it, is more specific and answers there.
 * `lifting` is what flags say of guarded paths (decision 0135).
 */
export function withGuard(
  rules: readonly FsRule[],
  request: GuardRequest,
  lifting: readonly FsRule[] = [],
): readonly FsRule[] {
  if (rules.length === 0) return rules // unrestricted: there is nothing to take back from
  const { root, survey } = request
  const held = ledToGuarded(rules, request)
  const written = new FsIndex(
    rules.map((rule) => (held.includes(rule) ? withoutWriting(rule) : rule)),
    root.foldCase,
  )
  const lifted = liftedBy(lifting, written)
  const named = lifted.length === 0 ? written : new FsIndex([...written.rules, ...lifted], root.foldCase)
  const guards = new Map<RelPath, FsRule>()
  const left = new Map<FsRule, FsRule>() // one rule covers nearly all of what is guarded
  for (const entry of guardedPaths(written, request))
    for (const path of namesOf(entry.path, written, root)) {
      const cover = written.governing(path)
      if (!cover || !writes(cover)) continue
      if (named.at(path) && entry.closed) throw new ClosedError(entry.path, entry.path)
      if (named.at(path)) continue
      if (entry.open && guards.has(path)) continue
      if (!left.has(cover)) left.set(cover, withoutWriting(cover))
      guards.set(path, guardRule(path, entry, entry.open ? cover : left.get(cover)!, request))
    }
  return withoutSecrets(
    holdOwn([...written.rules, ...guards.values(), ...lifted], survey.own(), root),
    request,
  )
}

/**
 * The rules that grant writing and reach something guarded through a link. A confined command may have made that link for
 * the next command, so these rules do not override the guard; a rule that names the guarded path itself does.
 */
export function ledToGuarded(rules: readonly FsRule[], request: GuardRequest): readonly FsRule[] {
  const linked = rules.filter((rule) => rule.written !== undefined && writes(rule))
  if (linked.length === 0) return []
  const { root } = request
  const written = new FsIndex(rules, root.foldCase)
  const guarded = guardedPaths(written, request).flatMap(({ path, open }) =>
    namesOf(path, written, root).map((name) => ({ name, isOpen: open ?? false })),
  )
  return linked.filter(({ path }) => {
    const around = guarded.filter(({ name }) => below(name, path, root.foldCase) !== undefined)
    const nearest = around.toSorted((a, b) => b.name.length - a.name.length)[0]
    return nearest !== undefined && !nearest.isOpen
  })
}

/** Whether a path is guarded, or lies below one that is. */
export function isGuarded(path: RelPath, { root, survey, more, code }: GuardRequest): boolean {
  const at = root.path === '/' ? `/${path}` : `${root.path}/${path}`
  return [
    ...survey.workspace(),
    ...survey.ledFromHome([root.path]),
    ...survey.more(more),
    ...code.map(asGuarded),
  ].some((entry) => !entry.open && below(entry.path, at, root.foldCase) !== undefined)
}

/** Whether it is about writing what is guarded in the workspace, by its name or where links lead, whatever rule would answer. */
export function writesGuarded(
  { axis, capability, target }: Question,
  project: Pick<Project, 'root' | 'guard' | 'loaded'>,
): boolean {
  if (axis !== 'fs' || !WRITING.has(capability)) return false
  const guarded = guardOf(project, project.loaded, 'all')
  try {
    const path = parseRelPath(target)
    const led = resolveThrough(project.root)({ path, external: false })
    return [path, ...(led.kind === 'inside' ? [led.path] : [])].some((each) => isGuarded(each, guarded))
  } catch (error) {
    if (error instanceof CordonError) return false // no path that a rule could name
    throw error
  }
}

/** The same outside the workspace, for a path as it really is: whichever directory above it were granted, it would be guarded. */
export function isGuardedOutside(path: string, survey: GuardSurvey): boolean {
  const above: string[] = []
  for (let dir = dirname(path); dir !== '/'; dir = dirname(dir)) above.push(dir)
  const holds = (entry: GuardedPath): boolean => !entry.open && below(entry.path, path) !== undefined
  return survey.atHome().some(holds) || above.some((dir) => survey.ofPlace(dir).some(holds))
}

/** What is guarded in a project, with the programs of these servers, and the files of clients that servers were imported from. */
export const guardOf = (
  { root, guard, clientFiles = [] }: Pick<Project, 'root' | 'guard' | 'clientFiles'>,
  { config, origin }: Pick<LoadedConfig, 'config' | 'origin'>,
  programs: HeldPrograms,
): GuardRequest => ({
  root,
  survey: guard,
  more: config.sandbox.guard,
  // SPEC 4.7: what a person or a file added is not built in.
  origins: new Map(
    config.sandbox.guard.flatMap((path, at) => {
      const written = origin(['sandbox', 'guard', at])
      return written ? [[path, formatOrigin(written)] as const] : []
    }),
  ),
  code: [...serverPrograms(config, root, programs), ...clientFiles],
})

/**
 * SPEC 1.3: a mount point is not removed or moved by a tool, also not by one that has no rule for it and sees a link like any
 * other (decision 0460). A command of the person's own is no tool.
 */
export const withMountPoints = (
  request: GuardRequest,
  { kind }: Pick<Subject, 'kind'>,
  config: Config,
): GuardRequest =>
  kind === 'profile'
    ? request
    : {
        ...request,
        mounts: mountNames(config)
          .map((name) => join(request.root.path, name))
          .filter((path) => lookAt(path)?.isSymbolicLink() === true),
        ways: ruleNames(config).flatMap((name) => waysTo(name, request.root)),
      }

/** Every path in the workspace that somebody has a rule for: of another tool's denial no tool moves the links either. */
const ruleNames = (config: Config): readonly RelPath[] => [
  ...new Set(
    subjectsOf(config).flatMap(({ access }) =>
      (access?.fs ?? []).filter(({ external }) => !external).map(({ path }) => path),
    ),
  ),
]

/** Every name that somebody has a mount at. */
export const mountNames = (config: Config): readonly RelPath[] => [
  ...new Set(
    subjectsOf(config).flatMap(({ access }) =>
      (access?.fs ?? []).filter(({ external }) => external).map(({ path }) => path),
    ),
  ),
]

function guardedPaths(
  written: FsIndex,
  { root, survey, more, code, mounts = [], ways = [] }: GuardRequest,
): readonly GuardedPath[] {
  const targets = written.rules.filter(writes).flatMap((rule) => placeOf(rule, written) ?? [])
  const homes = [root.path, ...targets].some((dir) => encloses(dir, survey.home)) ? [survey.home] : []
  return [
    ...survey.workspace(),
    ...survey.ledFromHome(root.path === '/' ? targets : [root.path, ...targets]),
    ...targets.flatMap((dir) => survey.outside(dir)),
    ...homes.flatMap((dir) => survey.ofPlace(dir)),
    ...(targets.length > 0 || survey.mayHoldAtHome(root.path) ? survey.atHome() : []),
    ...survey.more(more),
    ...[...code, ...mounts].map(asGuarded),
    ...ways,
    ...written.rules.flatMap((rule) => linksTo(rule, root)),
  ]
}

/**
 * The links that a rule was written through, each as an entry. Without them a command could let a link lead elsewhere, and the
 * rule, which follows it, would not speak of the same place for the next one (SPEC 1.3, decision 0520).
 */
const linksTo = ({ written, external }: FsRule, root: Root): readonly GuardedPath[] =>
  written === undefined || external ? [] : waysTo(written, root)

function waysTo(name: RelPath, root: Root): readonly GuardedPath[] {
  const found = new Collection()
  found.add(root.path, name, 'told', ({ is }) => is === 'link')
  return found.paths
}

const asGuarded = (path: string): GuardedPath => ({ path, guard: 'told' })

/** Where a rule leads out of the workspace to, if it does. */
const placeOf = (rule: FsRule, written: FsIndex): string | undefined =>
  'outside' in rule ? nameOf(rule) : written.at(rule.path) === rule ? rule.approvedTarget : undefined

const encloses = (dir: string, path: string): boolean => dir !== path && below(dir, path) !== undefined

/** Also inside a mount it has no approved target: the mount's own rule has that. */
const guardRule = (
  path: RelPath,
  { guard }: GuardedPath,
  { grants }: Pick<FsRule, 'grants'>,
  { origins }: Pick<GuardRequest, 'origins'>,
): FsRule => ({
  path,
  grants,
  external: false,
  guard,
  origin: origins?.get(path) ?? GUARD,
})

/** A flag that grants writing lifts the guard: the path gets what the rule around it grants, and what was typed. */
function liftedBy(lifting: readonly FsRule[], written: FsIndex): readonly FsRule[] {
  return [...Map.groupBy(lifting, ({ path }) => path)].map(([path, typed]) => {
    const grants = new Set(typed.flatMap((rule) => [...rule.grants]))
    const cover = written.governing(path)
    const lifts = [...grants].some((capability) => WRITING.has(capability))
    for (const each of cover?.grants ?? []) if (lifts || !WRITING.has(each)) grants.add(each)
    return { ...typed.at(-1)!, path, grants }
  })
}

/** SPEC 4.10: Cordon's own files in the user's place are never writable; no rule overrides that. */
function holdOwn(rules: readonly FsRule[], own: readonly string[], root: Root): readonly FsRule[] {
  const index = new FsIndex(rules, root.foldCase)
  const covered = own.flatMap((place) =>
    namesOf(place, index, root).flatMap((path) => {
      const cover = index.governing(path)
      if (!cover || index.at(path) || !writes(cover)) return []
      return [guardRule(path, { path: place, guard: 'moved-aside' }, withoutWriting(cover), {})]
    }),
  )
  const isOwn = (rule: FsRule): boolean =>
    own.some((place) => below(place, root.path) !== undefined) ||
    own.some((place) =>
      rule.approvedTarget === undefined
        ? namesOf(place, index, root).some((path) => below(path, rule.path, root.foldCase) !== undefined)
        : below(place, rule.approvedTarget) !== undefined,
    )
  return [...rules.map((rule) => (writes(rule) && isOwn(rule) ? withoutWriting(rule) : rule)), ...covered]
}
