import { dirname } from 'node:path'
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
  secretsCover,
  layOutDevices,
  layOutSystem,
} from './baseline.ts'
import { FIRST_REPLACED_FD } from '../replaced.ts'
import { encloses, enclosesStrictly, join, sortByPath } from './paths.ts'
import { EVERYTHING } from './regions.ts'
import { type HeldRegion, type HeldRegions, type PrivatePlace } from './regions-held.ts'
import { type RuntimeEntry, type Survey } from './survey.ts'
import { isGuard, whenMade } from './watched.ts'

/** SPEC 4.3 with namespaces: a root that holds the baseline, private places, and what was granted (decision 0040). */
export function layOutNamespaces(held: HeldRegions, survey: Survey, processes: number): readonly Item[] {
  const layout = new Layout()
  const allowed: Item[] = []
  layOutSystem(layout, survey)
  layOutDevices(layout, survey, processes)
  const steps = stepsOf(held, survey)
  const coverSecrets = secretsCover(
    survey,
    steps.map(({ path }) => path),
  )
  // After the system, below everything that a rule mounts there.
  for (const dir of survey.configuration) coverSecrets(layout, dir)
  for (const step of steps) {
    step.lay(layout, allowed)
    if (step.hides) coverSecrets(layout, step.path)
  }
  layOutLinks(layout, held, survey)
  for (const { path, there } of survey.replaced ?? [])
    layout.replaced(path, there, FIRST_REPLACED_FD + layout.countReplaced())
  return [
    ...layout.seal(),
    ...allowSystem(survey),
    ...allowDevices(survey),
    allowOwnTerminals(),
    ...allowed,
    ...allowListing(held),
    ...lookLater(held, survey),
    ...(survey.namesKept === undefined ? [] : [{ tag: 'names' as const, path: survey.namesKept }]),
  ]
}

/** SPEC 4.3: what was written to the private home is told at the end. Caches are made to be lost. */
function lookLater({ places, ways }: HeldRegions, { home }: Survey): readonly Item[] {
  const own = places.some(({ path, writable }) => writable && path === home.canonical)
  if (!own) return []
  const silent = [...CACHES.map((name) => `${home.canonical}/${name}`), ...ways]
  return [
    { tag: 'left', path: home.canonical, told: true },
    ...silent.map((path): Item => ({ tag: 'left', path, told: false })),
  ]
}

/** Where programs keep what they can make or fetch again, and how they were used last. */
const CACHES = [
  '.cache',
  '.npm',
  '.node-gyp',
  '.yarn/berry',
  '.bun/install/cache',
  '.local/share/pnpm',
  '.local/share/virtualenv',
  '.local/share/uv',
  '.local/share/cordon/workspace/.said', // of a run inside this one
  '.cargo/registry',
  '.cargo/git',
  '.cargo/.package-cache',
  '.cargo/.package-cache-mutate',
  '.cargo/.global-cache',
  '.rustup/tmp',
  'go/pkg',
  '.config/go/telemetry',
  '.m2/repository',
  '.gradle/caches',
  '.gradle/daemon',
  '.nuget/packages',
  '.ccache',
  '.pki',
  '.lesshst',
  '.wget-hsts',
  '.bash_history',
  '.python_history',
  '.node_repl_history',
]

const WITHOUT_EXECUTE = [...EVERYTHING].filter((capability) => capability !== 'execute')

interface Step {
  readonly path: string
  /** Whether files in the mount that not everybody may read are covered. */
  readonly hides?: boolean
  readonly lay: (layout: Layout, allowed: Item[]) => void
}

/** Parents first; at one path the later kind lies on top. */
function stepsOf({ regions, places, ways, execution }: HeldRegions, survey: Survey): readonly Step[] {
  return sortByPath([
    ...places.map((place) => ({ path: place.path, lay: layPlace(place, execution) })),
    ...ways.map((path) => ({ path, lay: layWay(path) })),
    ...survey.runtime
      .filter((entry) => !regions.some((region) => !isOutside(region) && encloses(region.path, entry.path)))
      .map(stepOf),
    ...regions.flatMap((region, index) =>
      isOnlyTold(region)
        ? []
        : {
            path: region.path,
            lay: layRegion(region, showsInside(regions, index, survey) ? 'bound-back' : 'empty', survey),
          },
    ),
    // What a tool of Cordon's own is started from, also where a rule hides it or lets nothing be started (decision 0571).
    ...survey.runtime.filter(isOwn).map(stepOf),
  ])
}

const stepOf = (entry: RuntimeEntry): Step => ({
  path: entry.path,
  hides: entry.kind === 'bind' && entry.publicOnly === true && entry.is === 'dir',
  lay: (layout, allowed) => {
    if (entry.kind === 'link') return layout.link(entry.path, entry.target)
    if (isHostReadOnly(layout, entry.path)) return
    layout.bind(entry.path, entry.is, BASELINE_ATTRIBUTES)
    allowed.push(allow(entry.path, BASELINE_RIGHTS))
  },
})

const isOwn = (entry: RuntimeEntry): boolean => entry.kind === 'bind' && entry.own === true

/** Nothing is laid for it. Of the names that are guarded nearly all are missing, in every plan (decision 0350). */
const isOnlyTold = (region: HeldRegion): boolean =>
  region.kind === 'missing' && isGuard(region) && whenMade(region) === 'told'

/** A runtime inside a system directory or another runtime is there already. In a place to be read nothing could be started. */
const isHostReadOnly = (layout: Layout, path: string): boolean => {
  const { ours, attributes } = layout.holding(path)
  return !ours && attributes.includes('read-only') && !attributes.includes('no-exec')
}

/** Of what lies in the workspace its rules say whether it is started. */
const isOutside = ({ rules }: HeldRegion): boolean =>
  rules.length > 0 && rules.every((rule) => 'outside' in rule)

const layPlace =
  ({ path, writable }: PrivatePlace, execution: HeldRegions['execution']): Step['lay'] =>
  (layout, allowed) => {
    // /tmp as everywhere; a home that only its owner enters.
    layout.private(path, path.endsWith('/tmp') || path === '/dev/shm' ? 0o1777 : 0o700)
    // The launcher mounts it no-exec then, too.
    if (writable) allowed.push(allow(path, rightsOf(execution === 'nowhere' ? WITHOUT_EXECUTE : EVERYTHING)))
    else layout.readOnlyLater(path)
  }

const layWay =
  (path: string): Step['lay'] =>
  (layout) => {
    layout.private(path, 0o755)
    layout.readOnlyLater(path)
  }

const layRegion =
  (region: HeldRegion, inside: 'bound-back' | 'empty', survey: Survey): Step['lay'] =>
  (layout, allowed) => {
    const { path, kind, grants, inherited, hold, apart } = region
    if (kind === 'missing') return keepParent(layout, region, survey)
    if (!apart) return
    // SPEC 4.10: a guarded link stays what it is; what it leads to has a rule of its own.
    if (kind === 'link' && isGuard(region)) return layout.pinLink(path)
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
    // Landlock's rights go down the tree: what lies around it has them, so it has them.
    const isLent =
      enclosesStrictly(survey.root.canonical, path) && [...grants].every((each) => inherited.has(each))
    if (!isLent) allowed.push(allow(path, rightsOf(grants)))
  }

/**
 * SPEC 4.10: what is new in a directory is looked for by name; the shell of the person who stands there stays in the directory
 * itself. So that keeps its name.
 */
function keepParent(layout: Layout, region: HeldRegion, { kinds }: Survey): void {
  const parent = dirname(region.path)
  if (isGuard(region) && whenMade(region) === 'moved-aside' && kinds.get(parent) === 'dir')
    layout.pinDirectory(parent)
}

/** Whether something is to be seen in a region that is covered. Regions are sorted, so those inside one follow it directly. */
function showsInside(regions: readonly HeldRegion[], index: number, { links, runtime }: Survey): boolean {
  const { path } = regions[index]!
  if ([...links, ...runtime.filter(isOwn)].some((each) => enclosesStrictly(path, each.path))) return true
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
  for (const { path, target } of survey.links) layout.link(path, target)
  // The workspace and the home keep the name they were given, when that is another.
  for (const { given, canonical } of [survey.root, survey.home])
    if (given !== canonical) layout.link(given, canonical)
}

/** Landlock's rights go down the tree, so `ls /` is only for runs in which everything there is readable. */
const allowListing = ({ regions }: HeldRegions): readonly Item[] =>
  regions.every((region) => region.grants.size === 0 || region.grants.has('read'))
    ? [allow('/', ['read-dir'])]
    : []
