import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { type AccessPolicy, type FsRule, lookAt, MOST_HOPS } from '@cordon/policy'
import { resolveProgram } from './program.ts'
import { type OutsideRule } from './outside.ts'
import { encloses, join, ofDirectory } from './paths.ts'
import { placeRules, writablePlaces } from './regions.ts'
import { installationsOf } from './runtime.ts'
import { findSecrets, type Secrets } from './secrets.ts'
import { publicOnly } from './baseline.ts'
import { stateOnTheWay } from '../unchanged.ts'
import { type WatchedPath } from './types.ts'
import {
  type LinkOnTheWay,
  type PathKind,
  type NamedDirectory,
  type Survey,
  type SystemEntry,
} from './survey.ts'

export interface SurveyRequest {
  readonly policy: AccessPolicy
  readonly outside?: readonly OutsideRule[]
  /** Files that are copied in and out (SPEC 4.8). */
  readonly replaced?: readonly string[]
  readonly root: string
  readonly home: string
  readonly cwd: string
  readonly argv0: string
  /** The environment the process will have: its PATH finds the program. */
  readonly env: Readonly<Record<string, string>>
  /** More read-and-execute paths outside the policy, such as the host's own interpreter. */
  readonly runtime?: readonly string[]
  /** Files of Cordon's own that the process is started from: no rule takes them away. */
  readonly own?: readonly string[]
  /**
   * When the secrets of `/etc` are looked for. Default `now`: they are part of the plan, which takes ten milliseconds once
   * and is as old as the plan is. `at-start`, for a plan that is used once: the launcher looks, in one.
   */
  readonly secrets?: 'at-start' | 'now'
  /**
   * A file in which the launcher remembers which names directories have, so that it need not read them at each start (decision
   * 0402). It is made when its directory is there, and nothing that is confined may be able to write it.
   */
  readonly namesKept?: string | undefined
  /** Where what is confined could write before: its links and `#!` lines choose nothing (decision 0662). Asked for when one is met. */
  readonly writableBefore?: () => readonly string[]
  /** What the records of runs that still go on watch. Read before this survey begins (decision 0641). */
  readonly watchedByOthers?: readonly WatchedPath[]
}

const SYSTEM = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/nix/store',
  '/gnu/store',
]
const SCRATCH = ['/tmp', '/var/tmp', '/dev/shm']
const DEVICES = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom', '/dev/tty']

/** Where configuration lies, and with it passwords. */
const CONFIGURATION = ['/etc', '/usr/local/etc']

/** Whether a canonical path is part of the system that every program is shown (SPEC 4.3). */
export const isInSystem = (path: string): boolean => SYSTEM.some((dir) => encloses(dir, path))

/** The directory that every program has one of its own of, besides a home, and that the path lies in (SPEC 4.3). */
export const scratchAround = (path: string): string | undefined => SCRATCH.find((dir) => encloses(dir, path))

/** A device of the host that every program has (SPEC 4.3). */
export const isSharedDevice = (path: string): boolean => DEVICES.includes(path)

/** What every program has one of its own of in `/dev`: its streams, and terminals that it makes. */
export const isOwnNode = (path: string): boolean =>
  /^\/dev\/(?:stdin|stdout|stderr|fd|fd\/\d+|ptmx|pts|pts\/ptmx)$/.test(path)

/** Looks at this host, with the authority of this process, for all that planning needs to know. */
export function openAmbientSurvey(request: SurveyRequest): Survey {
  const root = placeOf(request.root)
  const home = homeOf(request.home)
  const system = SYSTEM.flatMap(systemEntry)
  const program = resolveProgram(request.argv0, request.cwd, request.env)
  const inSystem = (path: string): boolean =>
    system.some((entry) => entry.kind === 'bind' && encloses(entry.path, path))
  const configuration = [...new Set(CONFIGURATION.flatMap(realDirectory).filter(inSystem))]
  let places: readonly string[] | undefined
  const writable = (): readonly string[] =>
    (places ??= [
      ...writablePlaces({ fs: request.policy.fs, outside: request.outside ?? [], root: root.canonical }),
      ...(request.writableBefore?.() ?? []),
    ])
  const runtime = installationsOf({
    program,
    writable,
    path: request.env['PATH'] ?? '',
    home: home.canonical,
    root: root.canonical,
    more: request.runtime ?? [],
    own: request.own ?? [],
    isShown: inSystem,
  })
  let found: readonly Secrets[] | undefined
  const secrets = (): readonly Secrets[] =>
    (found ??= [...configuration, ...publicOnly(runtime)].map(findSecrets))
  const at = Date.now() // before anything below is looked at
  const kinds = new Map([
    ...kindsOf(request.policy.fs, root.canonical),
    ...kindsOf(request.outside ?? [], '/'),
  ])
  return {
    at,
    root,
    home,
    scratch: SCRATCH,
    cwd: realpathSync.native(request.cwd),
    exe: program.exe,
    system,
    configuration,
    secretsFound: request.secrets ?? 'now',
    namesKept: request.namesKept,
    get secrets() {
      return secrets().flatMap((each) => each.secrets)
    },
    get aroundSecrets() {
      return secrets().flatMap((each) => each.around)
    },
    runtime,
    devices: DEVICES.filter((path) => existsSync(path)),
    kinds,
    watchedByOthers: (request.watchedByOthers ?? [])
      .filter(({ path }) => kinds.get(path) !== 'missing') // what is missing is watched by this run itself
      .map((each) => withState(each)),
    replaced: (request.replaced ?? []).map((path) => ({ path, there: kindOf(path) === 'file' })),
    links: uniqueLinks([
      ...linksOf(request.policy.fs, root.canonical),
      ...linksOf(request.outside ?? [], '/'),
    ]),
    resolving: {
      hostname: hostname(),
      hosts: nameFile('/etc/hosts', inSystem),
      resolver: nameFile('/etc/resolv.conf', inSystem),
    },
  }
}

function withState({ base, path, guard, declared }: WatchedPath): WatchedPath {
  const was = stateOnTheWay({ base, path })
  return { base, path, guard, ...(declared ? { declared } : {}), ...(was === undefined ? {} : { was }) }
}

function hostname(): string {
  try {
    return readFileSync('/proc/sys/kernel/hostname', 'utf8').trim() // `node:os` need not be loaded for it
  } catch {
    return ''
  }
}

/** Where it really is, if something can be put before it: in the system, or where nothing of the host is shown. */
function nameFile(path: string, inSystem: (path: string) => boolean): string | undefined {
  const { canonical } = placeOf(path)
  const stats = lstatSync(canonical, { throwIfNoEntry: false })
  return stats?.isFile() && (inSystem(canonical) || /^\/(?:run|mnt\/wsl)\//.test(canonical))
    ? canonical
    : undefined
}

function placeOf(given: string): NamedDirectory {
  try {
    return { given, canonical: realpathSync.native(given) }
  } catch {
    return { given, canonical: given } // a home need not exist to be private and empty
  }
}

/** Not made private even if HOME says so: the root (HOME=/ in a container), and what the sandbox makes anew itself. */
function homeOf(given: string): NamedDirectory {
  const home = placeOf(given)
  const isNone = ['/', '/dev'].includes(home.canonical) || encloses('/proc', home.canonical)
  return isNone ? { given: NO_HOME, canonical: NO_HOME } : home
}

/** As Debian says it for those who have none. */
const NO_HOME = '/nonexistent'

/** Where a path leads, when that is a directory: the launcher follows no link. */
function realDirectory(path: string): readonly string[] {
  const { canonical } = placeOf(path)
  return lstatSync(canonical, { throwIfNoEntry: false })?.isDirectory() ? [canonical] : []
}

function systemEntry(path: string): readonly SystemEntry[] {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats) return []
  if (stats.isSymbolicLink()) return [{ kind: 'link', path, target: readlinkSync(path) }]
  return stats.isDirectory() ? [{ kind: 'bind', path }] : []
}

function kindsOf(rules: readonly FsRule[], root: string): ReadonlyMap<string, PathKind> {
  const kinds = new Map<string, PathKind>()
  const around = ofDirectory(kindOf)
  for (const [path, placed] of placeRules(rules, root)) {
    const holding = around(path)
    kinds.set(path, holding === 'missing' ? 'missing' : kindOf(path))
    const parent = placed.some(({ guard = 'told' }) => guard !== 'told') ? dirname(path) : path
    if (!kinds.has(parent)) kinds.set(parent, holding)
  }
  for (const rule of rules) if (rule.external) kinds.set(join(root, rule.path), kindOf(join(root, rule.path)))
  return kinds
}

/** A rule may be written for a link, or lead through one; who is granted the place goes the same way (SPEC 3.1). */
const linksOf = (rules: readonly FsRule[], root: string): readonly LinkOnTheWay[] =>
  rules.flatMap(({ path, written = path, grants, external, guard }) =>
    grants.size > 0 && guard === undefined && (external || written !== path)
      ? linksOnTheWay(join(root, written))
      : [],
  )

const uniqueLinks = (links: readonly LinkOnTheWay[]): readonly LinkOnTheWay[] => [
  ...new Map(links.map((link) => [link.path, link])).values(),
]

/** Every link that is followed from the root of this host to an absolute path, each where it really lies (decision 0177). */
export function linksOnTheWay(path: string): readonly LinkOnTheWay[] {
  const found: (LinkOnTheWay & { readonly left: string[] })[] = []
  let here = '/'
  const todo = path.split('/').toReversed()
  for (let part = todo.pop(); part !== undefined; part = todo.pop()) {
    if (part === '' || part === '.') continue
    if (part === '..') found.at(-1)?.left.push(here)
    const next = part === '..' ? dirname(here) : join(here, part)
    if (kindOf(next) !== 'link') {
      here = next
      continue
    }
    if (found.length === MOST_HOPS) return found // a way that is longer leads nowhere for a rule either
    const target = readlinkSync(next)
    found.push({ path: next, target: withoutDetours(here, target), left: [] })
    if (target.startsWith('/')) here = '/'
    todo.push(...target.split('/').toReversed())
  }
  return found
}

/** `d/../a` leads to `a` as long as `d` is a real directory, and inside there may be no `d`. */
function withoutDetours(dir: string, target: string): string {
  const kept: string[] = []
  let here = target.startsWith('/') ? '/' : dir
  const parts = target.split('/')
  for (const [i, part] of parts.entries()) {
    const [last] = kept.slice(-1)
    if (part === '..' && last !== undefined && last !== '' && last !== '.' && last !== '..') kept.pop()
    else kept.push(part)
    here = part === '..' ? dirname(here) : join(here, part)
    // What comes after a link, or after nothing, is not known from here.
    if (kindOf(here) !== 'dir') return [...kept, ...parts.slice(i + 1)].join('/')
  }
  return kept.join('/') || '.'
}

function kindOf(path: string): PathKind {
  const stats = lookAt(path)
  if (!stats) return 'missing'
  return stats.isDirectory() ? 'dir' : stats.isSymbolicLink() ? 'link' : 'file'
}
