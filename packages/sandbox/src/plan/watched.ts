import { dirname } from 'node:path'
import { type Guard } from '@cordon/policy'
import { type HeldRegion } from './regions-held.ts'
import { nameOf } from './outside.ts'
import { encloses, join } from './paths.ts'
import { type Survey } from './survey.ts'
import { type WatchedPath } from './types.ts'

/**
 * Missing rule paths that the process could bring into being against the rule: all of them. How many there are is for the files
 * to say, which may hold links to a thousand missing ones in order that the next is not looked for (decision 0455).
 */
export function watchMissing(regions: readonly HeldRegion[], survey: Survey): readonly WatchedPath[] {
  const directories = new Set(regions.flatMap(({ kind, path }) => (kind === 'dir' ? [path] : [])))
  const watched = regions.flatMap((region) => {
    const { path, kind, grants, inherited, rules } = region
    if (rules.length === 0 || kind !== 'missing' || grants.has('create') || !inherited.has('create'))
      return []
    const base = encloses(survey.root.canonical, path)
      ? survey.root.canonical
      : (nearestOf(directories, path) ?? path)
    return [{ base, path, guard: whenMade(region), ...declaredIn(region) }]
  })
  const own = new Set(watched.map(({ path }) => path))
  const all = [...watched, ...missingToOthers(regions, survey).filter(({ path }) => !own.has(path))]
  // What is moved aside first: a link that is gone by then is not told.
  const { 'moved-aside': denied = [], told = [] } = Object.groupBy(all, ({ guard }) => guard)
  return [...denied, ...linklessAround(regions), ...told]
}

/**
 * Decision 0641: what a run that still goes on found missing is no part of the workspace for this one either. It is held while it is
 * there. But the other run can take it away, and with it the mount; what this one then makes there is new.
 */
const missingToOthers = (
  regions: readonly HeldRegion[],
  { watchedByOthers = [], root }: Survey,
): readonly WatchedPath[] =>
  watchedByOthers.flatMap((each): readonly WatchedPath[] => {
    const { base, path, was } = each
    const around = regions.findLast((region) => encloses(region.path, path))
    if (!around || !(around.grants.has('create') || around.inherited.has('create'))) return []
    // A rule for a path that is behind a link now is held where that leads.
    const own = around.path === path ? around : regions.find(isWrittenFor(path, root.canonical))
    if (!own) return each.declared ? [] : [each] // denied to the other run alone, or guarded for both
    if (own.grants.has('create')) return []
    return [{ base, path, guard: whenMade(own), ...declaredIn(own), ...(was === undefined ? {} : { was }) }]
  })

const isWrittenFor =
  (path: string, root: string) =>
  ({ rules }: HeldRegion): boolean =>
    rules.some(
      ({ guard, written, ...rule }) =>
        guard === undefined &&
        written !== undefined &&
        join('outside' in rule ? '/' : root, written) === path,
    )

const declaredIn = (region: HeldRegion): Pick<WatchedPath, 'declared'> =>
  isGuard(region) ? {} : { declared: true }

/** Git's own directories, in which it follows links (decision 0545). */
function linklessAround(regions: readonly HeldRegion[]): readonly WatchedPath[] {
  const writable: string[] = []
  for (const { path, grants } of regions)
    if (grants.has('create') && !writable.some((place) => encloses(place, path))) writable.push(path)
  return regions.flatMap(({ path, rules, inherited }) => {
    if (!rules.some(({ guard }) => guard === 'no-links')) return []
    const dir = dirname(path)
    const isWritten = ({ path: part, grants }: HeldRegion): boolean =>
      grants.has('create') && encloses(dir, part)
    if (!inherited.has('create') && !regions.some(isWritten)) return []
    return [{ base: dirname(dir), path: dir, guard: 'no-links' as const, writable }]
  })
}

function nearestOf(directories: ReadonlySet<string>, path: string): string | undefined {
  if (directories.has(path) || path === '/') return directories.has(path) ? path : undefined
  return nearestOf(directories, dirname(path))
}

/**
 * SPEC 4.10: directories in which something guarded is looked for at the end, because it was missing; by name, so a mount keeps
 * theirs. Without mounts nothing does: that they cannot be moved would have to be taken from the directory around them, and with
 * it from all others there. The workspace itself lies where nothing is granted. Where something guarded exists, that is said.
 */
export function movableGuarded(regions: readonly HeldRegion[], { root, kinds }: Survey): readonly string[] {
  const guards = regions.filter(isGuard)
  const present = new Set(guards.filter(({ kind }) => kind !== 'missing').map(({ path }) => dirname(path)))
  const movable = guards.flatMap((region) => {
    const dir = dirname(region.path)
    const [rule] = region.rules
    const isPlace =
      region.kind === 'missing' && whenMade(region) === 'moved-aside' && kinds.get(dir) === 'dir'
    return isPlace && rule && dir !== root.canonical && region.inherited.has('delete') && !present.has(dir)
      ? [dirname(nameOf(rule))]
      : []
  })
  return [...new Set(movable)]
}

/** What a person denied is moved aside; of what is guarded the guard says. */
export function whenMade({ rules }: Pick<HeldRegion, 'rules'>): Exclude<Guard, 'no-links'> {
  for (const { guard } of rules) if (guard !== 'told') return 'moved-aside'
  return 'told'
}

/** Whether nobody wrote the rules of this region. */
export function isGuard({ rules }: Pick<HeldRegion, 'rules'>): boolean {
  for (const { guard } of rules) if (guard === undefined) return false
  return rules.length > 0
}
