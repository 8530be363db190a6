import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { type AccessPolicy } from '@cordon/policy'
import { resolveProgram } from './program.ts'
import { encloses, join } from './paths.ts'
import { placeRules } from './regions.ts'
import { installationsOf } from './runtime.ts'
import { findSecrets, type Secrets } from './secrets.ts'
import { type PathKind, type Place, type Survey, type SystemEntry } from './survey.ts'

export interface SurveyRequest {
  readonly policy: AccessPolicy
  readonly root: string
  readonly home: string
  readonly cwd: string
  readonly argv0: string
  /** The environment the process will have: its PATH finds the program. */
  readonly env: Readonly<Record<string, string>>
  /** More read-and-execute paths outside the policy, such as the host's own interpreter. */
  readonly runtime?: readonly string[]
  /**
   * When the secrets of `/etc` are looked for. Default `now`: they are part of the plan, which takes ten milliseconds once
   * and is as old as the plan is. `at-start`, for a plan that is used once: the launcher looks, in one.
   */
  readonly secrets?: 'at-start' | 'now'
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

/** Looks at this host, with the authority of this process, for all that planning needs to know. */
export function openAmbientSurvey(request: SurveyRequest): Survey {
  const root = placeOf(request.root)
  const home = placeOf(request.home)
  const system = SYSTEM.flatMap(systemEntry)
  const program = resolveProgram(request.argv0, request.cwd, request.env)
  const inSystem = (path: string): boolean =>
    system.some((entry) => entry.kind === 'bind' && encloses(entry.path, path))
  const configuration = [...new Set(CONFIGURATION.flatMap(realDirectory).filter(inSystem))]
  let found: readonly Secrets[] | undefined
  const secrets = (): readonly Secrets[] => (found ??= configuration.map(findSecrets))
  const runtime = installationsOf({
    program,
    path: request.env['PATH'] ?? '',
    home: home.canonical,
    root: root.canonical,
    more: request.runtime ?? [],
  }).filter((entry) => !inSystem(entry.path))
  return {
    root,
    home,
    scratch: SCRATCH,
    cwd: realpathSync.native(request.cwd),
    exe: program.exe,
    system,
    configuration,
    secretsFound: request.secrets ?? 'now',
    get secrets() {
      return secrets().flatMap((each) => each.secrets)
    },
    get aroundSecrets() {
      return secrets().flatMap((each) => each.around)
    },
    runtime,
    devices: DEVICES.filter((path) => existsSync(path)),
    kinds: kindsOf(request.policy, root.canonical),
  }
}

function placeOf(given: string): Place {
  try {
    return { given, canonical: realpathSync.native(given) }
  } catch {
    return { given, canonical: given } // a home need not exist to be private and empty
  }
}

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

function kindsOf(policy: AccessPolicy, root: string): ReadonlyMap<string, PathKind> {
  const kinds = new Map<string, PathKind>()
  for (const path of placeRules(policy.fs, root).keys()) kinds.set(path, kindOf(path))
  for (const rule of policy.fs)
    if (rule.external) kinds.set(join(root, rule.path), kindOf(join(root, rule.path)))
  return kinds
}

function kindOf(path: string): PathKind {
  let stats
  try {
    stats = lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return 'missing' // a parent is a file, or may not be entered: not reachable inside either
  }
  if (!stats) return 'missing'
  return stats.isDirectory() ? 'dir' : stats.isSymbolicLink() ? 'link' : 'file'
}
