import { CAPABILITIES, type Capability } from '@cordon/policy'
import { type Hold, hold, type Means, WRITING } from './hold.ts'
import { nameOf } from './outside.ts'
import { encloses, enclosesStrictly, firstBelow, sortByPath } from './paths.ts'
import { EVERYTHING, NOTHING, type Region } from './regions.ts'
import { type Survey } from './survey.ts'

export interface HeldRegion extends Region {
  readonly hold: Hold
  /** What the regions and places above grant. */
  readonly inherited: ReadonlySet<Capability>
  /** What the region right above grants: all that a path has before it exists, where mounts hold that region to it. */
  readonly above: ReadonlySet<Capability>
  /** Whether it needs a mount: what has all writing, as what lies around it, can be replaced as well. */
  readonly apart: boolean
}

/** A private, empty, writable place inside (SPEC 4.3). */
export interface PrivatePlace {
  readonly path: string
  readonly writable: boolean
}

export interface HeldRegions {
  readonly regions: readonly HeldRegion[]
  readonly places: readonly PrivatePlace[]
  /** Directories in private places that are there only as the way to the workspace, or to what is granted: not writable. */
  readonly ways: readonly string[]
  readonly notes: readonly string[]
  /** `nowhere`: no rule grants execute, so nothing that the program can write may be started from where it lies. */
  readonly execution: 'somewhere' | 'nowhere'
}

const BASELINE: ReadonlySet<Capability> = new Set(['read', 'execute'])

/**
 * Decides how each region is held. A private place above a region would lend it all its rights, since Landlock's
 * grants go down the tree; where the region cannot bear that, the place loses its rights and not the region.
 */
export function holdRegions(regions: readonly Region[], survey: Survey, means: Means): HeldRegions {
  const wanted = means.mounts ? privatePlaces(regions, survey) : []
  const execution = regions.some((region) => region.grants.has('execute')) ? 'somewhere' : 'nowhere'
  const first = holdAll(regions, wanted, survey, means)
  const harmed = first.filter((region) => region.rules.length > 0 && region.hold.leaks)
  const places = wanted.map(({ path }) => ({
    path,
    writable: !harmed.some((region) => enclosesStrictly(path, region.path)),
  }))
  const ways = waysTo(regions, places, survey)
  if (places.every((place) => place.writable)) return { regions: first, places, ways, notes: [], execution }
  return {
    regions: holdAll(regions, places, survey, means),
    places,
    ways,
    execution,
    notes: wanted.flatMap(({ path }) => {
      const rule = harmed.find((region) => enclosesStrictly(path, region.path))?.rules[0]
      if (!rule) return []
      return `the private ${path} inside is not writable: the rule for ${nameOf(rule)}, which lies in it, does not grant all writing, and below a writable directory the kernel could not withhold it`
    }),
  }
}

function holdAll(
  regions: readonly Region[],
  places: readonly PrivatePlace[],
  survey: Survey,
  means: Means,
): readonly HeldRegion[] {
  const done: HeldRegion[] = []
  const holdOf = holdOnce(means)
  const above: HeldRegion[] = [] // the enclosing regions of the one at hand, outermost first
  for (const region of regions) {
    while (above.length > 0 && !encloses(above.at(-1)!.path, region.path)) above.pop()
    const around = above.at(-1)
    const lent = around?.inherited ?? outside(region.path, places, survey)
    const inherited = around ? joined(lent, around.grants) : lent
    const held = {
      ...region,
      inherited,
      above: around?.grants ?? lent,
      hold: holdOf(region, inherited),
      apart: region.path === survey.root.canonical || !isAlike(region, around),
    }
    done.push(held)
    above.push(held)
  }
  return done
}

/** There are few different answers, and there may be many regions. */
function holdOnce(means: Means): (region: Region, inherited: ReadonlySet<Capability>) => Hold {
  const known = new Map<number, Hold>()
  return (region, inherited) => {
    const kind = region.kind === 'file' || region.kind === 'link' ? 'file' : 'dir'
    const key = (bitsOf(region.grants) << 6) | (bitsOf(inherited) << 1) | (kind === 'file' ? 1 : 0)
    let found = known.get(key)
    if (!found) known.set(key, (found = hold({ kind, grants: region.grants, inherited, means })))
    return found
  }
}

function bitsOf(capabilities: ReadonlySet<Capability>): number {
  let bits = 0
  for (let i = 0; i < CAPABILITIES.length; i++) if (capabilities.has(CAPABILITIES[i]!)) bits |= 1 << i
  return bits
}

/** Both, in one of the two sets where that has them all. */
const joined = (a: ReadonlySet<Capability>, b: ReadonlySet<Capability>): ReadonlySet<Capability> =>
  (bitsOf(a) | bitsOf(b)) === bitsOf(a) ? a : new Set([...a, ...b])

/** Only with all writing: of a narrower one the mount that holds it also says so in the table. */
const isAlike = ({ grants }: Region, around: Region | undefined): boolean =>
  around !== undefined &&
  around.kind === 'dir' &&
  WRITING.every((capability) => grants.has(capability)) &&
  bitsOf(grants) === bitsOf(around.grants)

/** What the places that are no regions lend to a path. */
function outside(path: string, places: readonly PrivatePlace[], survey: Survey): ReadonlySet<Capability> {
  if (places.some((place) => place.writable && encloses(place.path, path))) return EVERYTHING
  const lent = [...survey.system, ...survey.runtime].some(
    (entry) => entry.kind === 'bind' && encloses(entry.path, path),
  )
  return lent ? BASELINE : NOTHING
}

/**
 * SPEC 4.3: what is written beside the workspace would vanish in silence, so it is refused. Programs keep their own files
 * below names with a dot, beside others of which one may be granted: there they may write, and are told what is lost. So where
 * a file is copied in, to be written back (SPEC 4.8).
 */
function waysTo(
  regions: readonly Region[],
  places: readonly PrivatePlace[],
  { root, home, replaced = [] }: Survey,
): readonly string[] {
  const ways = new Set<string>()
  for (const { path, kind, grants } of regions) {
    const isRoot = path === root.canonical
    if (!isRoot && (kind === 'missing' || grants.size === 0)) continue
    const place = places.findLast((each) => each.writable && enclosesStrictly(each.path, path))
    const way = place && firstBelow(place.path, path)
    const isProgramsOwn = place?.path === home.canonical && way?.startsWith(`${home.canonical}/.`)
    if (way !== undefined && (isRoot || !isProgramsOwn)) ways.add(way)
  }
  return [...ways].filter(
    (way) =>
      !regions.some((each) => each.grants.size > 0 && encloses(each.path, way)) &&
      !replaced.some(({ path }) => enclosesStrictly(way, path)),
  )
}

/** Not where a region is granted, nor inside the system: a private place would hide what is there. */
const privatePlaces = (regions: readonly Region[], survey: Survey): readonly PrivatePlace[] =>
  sortByPath(privatePaths(regions, survey).map((path) => ({ path, writable: true })))

const privatePaths = (regions: readonly Region[], survey: Survey): readonly string[] =>
  [survey.home.canonical, ...survey.scratch]
    .filter((path, index, all) => path !== '/' && all.findIndex((other) => encloses(other, path)) === index)
    .filter((path) => !survey.system.some((entry) => entry.kind === 'bind' && encloses(entry.path, path)))
    .filter((path) => !regions.some((region) => region.grants.size > 0 && encloses(region.path, path)))
