import { type Item } from '../linux/items.ts'
import { rightsOf } from '../linux/landlock.ts'
import { Layout } from '../linux/layout.ts'
import {
  allow,
  allowDevices,
  allowOwnTerminals,
  allowSystem,
  BASELINE_ATTRIBUTES,
  BASELINE_RIGHTS,
  coverSecrets,
  layOutDevices,
  layOutSystem,
} from './baseline.ts'
import { encloses, enclosesStrictly, join, sortByPath } from './paths.ts'
import { EVERYTHING } from './regions.ts'
import { type HeldRegion, type HeldRegions, type PrivatePlace } from './regions-held.ts'
import { type Survey } from './survey.ts'

/** SPEC 4.3 with namespaces: a root that holds the baseline, private places, and what was granted. */
export function layOutNamespaces(held: HeldRegions, survey: Survey, processes: number): readonly Item[] {
  const layout = new Layout()
  const allowed: Item[] = []
  layOutSystem(layout, survey)
  layOutDevices(layout, survey, processes)
  const steps = stepsOf(held, survey)
  coverSecrets(
    layout,
    survey,
    steps.map(({ path }) => path),
  )
  for (const step of steps) step.lay(layout, allowed)
  layOutLinks(layout, held, survey)
  return [
    ...layout.seal(),
    ...allowSystem(survey),
    ...allowDevices(survey),
    allowOwnTerminals(),
    ...allowed,
    ...allowListing(held),
  ]
}

interface Step {
  readonly path: string
  readonly lay: (layout: Layout, allowed: Item[]) => void
}

/** Parents first; at one path the later kind lies on top. */
function stepsOf({ regions, places }: HeldRegions, survey: Survey): readonly Step[] {
  return sortByPath([
    ...places.map((place) => ({ path: place.path, lay: layPlace(place) })),
    ...survey.runtime
      .filter((entry) => !regions.some((region) => encloses(region.path, entry.path)))
      .map((entry) => ({
        path: entry.path,
        lay: (layout: Layout, allowed: Item[]) => {
          if (entry.kind === 'link') return layout.link(entry.path, entry.target)
          if (isHostReadOnly(layout, entry.path)) return
          layout.bind(entry.path, entry.is, BASELINE_ATTRIBUTES)
          allowed.push(allow(entry.path, BASELINE_RIGHTS))
        },
      })),
    ...regions.map((region, index) => ({
      path: region.path,
      lay: layRegion(region, hasMountsInside(regions, index) ? 'bound-back' : 'empty', survey),
    })),
  ])
}

/** A runtime inside a system directory or another runtime is there already. */
const isHostReadOnly = (layout: Layout, path: string): boolean => {
  const base = layout.holding(path)
  return !base.ours && base.attributes.includes('read-only')
}

const layPlace =
  ({ path, writable }: PrivatePlace): Step['lay'] =>
  (layout, allowed) => {
    // /tmp as everywhere; a home that only its owner enters.
    layout.private(path, path.endsWith('/tmp') || path === '/dev/shm' ? 0o1777 : 0o700)
    if (writable) allowed.push(allow(path, rightsOf(EVERYTHING)))
    else layout.readOnlyLater(path)
  }

const layRegion =
  (region: HeldRegion, inside: 'bound-back' | 'empty', survey: Survey): Step['lay'] =>
  (layout, allowed) => {
    const { path, kind, grants, hold } = region
    if (kind === 'missing') return
    if (hold.cover) {
      // Where nothing of the host is mounted a path is simply not there. Not so the workspace: in a private
      // place it could be made, and what is written to it would be lost without a word.
      const { ours, covered = false } = layout.holding(path)
      if ((ours || covered) && path !== survey.root.canonical) return
      return layout.cover(
        path,
        path === survey.root.canonical ? 'bound-back' : kind === 'dir' ? inside : 'empty',
      )
    }
    if (kind === 'link') return layout.pinLink(path)
    layout.bind(path, kind, hold.attributes)
    allowed.push(allow(path, rightsOf(grants)))
  }

/** Regions are sorted, so those inside one follow it directly. */
function hasMountsInside(regions: readonly HeldRegion[], index: number): boolean {
  const { path } = regions[index]!
  for (let next = index + 1; next < regions.length && enclosesStrictly(path, regions[next]!.path); next++)
    if (regions[next]!.kind !== 'missing' && !regions[next]!.hold.cover) return true
  return false
}

function layOutLinks(layout: Layout, { regions }: HeldRegions, survey: Survey): void {
  const root = survey.root.canonical
  // SPEC 1.3: a mount point itself is not removed or moved by a tool.
  for (const { rules } of regions)
    for (const rule of rules) {
      const link = join(root, rule.path)
      if (rule.external && survey.kinds.get(link) === 'link') layout.pinLink(link)
    }
  // The workspace and the home keep the name they were given, when that is another.
  for (const { given, canonical } of [survey.root, survey.home])
    if (given !== canonical) layout.link(given, canonical)
}

/** Landlock's rights go down the tree, so `ls /` is only for runs in which everything there is readable. */
const allowListing = ({ regions }: HeldRegions): readonly Item[] =>
  regions.every((region) => region.grants.size === 0 || region.grants.has('read'))
    ? [allow('/', ['read-dir'])]
    : []
