import { type Capability } from '@cordon/policy'
import { type Hold, hold, type Means } from './hold.ts'
import { encloses, enclosesStrictly } from './paths.ts'
import { EVERYTHING, NOTHING, type Region } from './regions.ts'
import { type Survey } from './survey.ts'

export interface HeldRegion extends Region {
  readonly hold: Hold
  /** What the regions and places above grant. */
  readonly inherited: ReadonlySet<Capability>
  /** What the region right above grants: all that a path has before it exists, where mounts hold that region to it. */
  readonly above: ReadonlySet<Capability>
}

/** A private, empty, writable place inside (SPEC 4.3). */
export interface PrivatePlace {
  readonly path: string
  readonly writable: boolean
}

export interface HeldRegions {
  readonly regions: readonly HeldRegion[]
  readonly places: readonly PrivatePlace[]
  readonly notes: readonly string[]
}

const BASELINE: ReadonlySet<Capability> = new Set(['read', 'execute'])

/**
 * Decides how each region is held. A private place above a region would lend it all its rights, since Landlock's
 * grants go down the tree; where the region cannot bear that, the place loses its rights and not the region.
 */
export function holdRegions(regions: readonly Region[], survey: Survey, means: Means): HeldRegions {
  const wanted = means.mounts ? privatePlaces(regions, survey) : []
  const first = holdAll(regions, wanted, survey, means)
  const harmed = first.filter((region) => region.rules.length > 0 && leaks(region))
  const places = wanted.map(({ path }) => ({
    path,
    writable: !harmed.some((region) => enclosesStrictly(path, region.path)),
  }))
  if (places.every((place) => place.writable)) return { regions: first, places, notes: [] }
  return {
    regions: holdAll(regions, places, survey, means),
    places,
    notes: places
      .filter((place) => !place.writable)
      .map(
        ({ path }) => `${path} is empty but not writable: a rule below it withholds what that would lend it`,
      ),
  }
}

function holdAll(
  regions: readonly Region[],
  places: readonly PrivatePlace[],
  survey: Survey,
  means: Means,
): readonly HeldRegion[] {
  const done: HeldRegion[] = []
  const above: HeldRegion[] = [] // the enclosing regions of the one at hand, outermost first
  for (const region of regions) {
    while (above.length > 0 && !encloses(above.at(-1)!.path, region.path)) above.pop()
    const inherited = new Set([
      ...(above.at(-1)?.inherited ?? outside(region.path, places, survey)),
      ...(above.at(-1)?.grants ?? NOTHING),
    ])
    const kind = region.kind === 'file' || region.kind === 'link' ? 'file' : 'dir'
    const nearest = above.at(-1)?.grants ?? outside(region.path, places, survey)
    const held = {
      ...region,
      inherited,
      above: new Set(nearest),
      hold: hold({ kind, grants: region.grants, inherited, means }),
    }
    done.push(held)
    above.push(held)
  }
  return done
}

/** What the places that are no regions lend to a path. */
function outside(path: string, places: readonly PrivatePlace[], survey: Survey): ReadonlySet<Capability> {
  if (places.some((place) => place.writable && encloses(place.path, path))) return EVERYTHING
  const lent = [...survey.system, ...survey.runtime].some(
    (entry) => entry.kind === 'bind' && encloses(entry.path, path),
  )
  return lent ? BASELINE : NOTHING
}

const leaks = (region: HeldRegion): boolean =>
  Object.values(region.hold.held).some((held) => held.by === 'not enforceable here')

/** Not where a region is granted, nor inside the system: a private place would hide what is there. */
const privatePlaces = (regions: readonly Region[], survey: Survey): readonly PrivatePlace[] =>
  [survey.home.canonical, ...survey.scratch]
    .filter((path, index, all) => path !== '/' && all.findIndex((other) => encloses(other, path)) === index)
    .filter((path) => !survey.system.some((entry) => entry.kind === 'bind' && encloses(entry.path, path)))
    .filter((path) => !regions.some((region) => region.grants.size > 0 && encloses(region.path, path)))
    .map((path) => ({ path, writable: true }))
