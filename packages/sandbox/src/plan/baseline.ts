import { type LandlockRight } from '../linux/items.ts'
import { type Layout } from '../linux/layout.ts'
import { type Item, type MountAttribute } from '../linux/items.ts'
import { rightsOf } from '../linux/landlock.ts'
import { encloses, enclosesStrictly } from './paths.ts'
import { type Survey } from './survey.ts'

/** SPEC 4.3: what every program gets outside the policy. */
export const BASELINE_RIGHTS: readonly LandlockRight[] = rightsOf(['read', 'execute'])
export const BASELINE_ATTRIBUTES: readonly MountAttribute[] = ['read-only', 'no-suid', 'no-dev']

const DEVICE_RIGHTS: readonly LandlockRight[] = ['read-file', 'write-file', 'truncate', 'ioctl-dev']
const TERMINAL_RIGHTS: readonly LandlockRight[] = ['read-file', 'read-dir', 'write-file', 'ioctl-dev']
const READ_RIGHTS: readonly LandlockRight[] = rightsOf(['read'])

/** Pids are reused from 300 on, so a namespace whose highest pid is n holds n - 300 processes. */
const RESERVED_PIDS = 301

export function layOutSystem(layout: Layout, survey: Survey): void {
  for (const entry of survey.system) {
    if (entry.kind === 'link') layout.link(entry.path, entry.target)
    else layout.bind(entry.path, 'dir', BASELINE_ATTRIBUTES)
  }
}

/** Installations that files of the workspace chose (decision 0141), of which private parts are covered as those of `/etc` are. */
export const publicOnly = (runtime: Survey['runtime']): readonly string[] =>
  runtime.flatMap((entry) =>
    entry.kind === 'bind' && entry.publicOnly && entry.is === 'dir' ? [entry.path] : [],
  )

/** Covers what below a directory is not for everybody. */
export type CoverSecrets = (layout: Layout, dir: string) => void

/** How that is done in this plan, which mounts at these paths besides. In one way everywhere: the launcher's lists come in order. */
export function secretsCover(survey: Survey, mounted: readonly string[]): CoverSecrets {
  if (survey.secretsFound === 'now')
    return (layout, dir) => {
      for (const path of survey.secrets) if (encloses(dir, path)) layout.cover(path, 'empty')
    }
  const isTouched = (dir: string): boolean =>
    mounted.some((path) => encloses(dir, path) || encloses(path, dir))
  const isReachedInto = (dir: string): boolean => mounted.some((path) => enclosesStrictly(dir, path))
  const inTurn = survey.configuration.some(isTouched) || publicOnly(survey.runtime).some(isReachedInto)
  return (layout, dir) => layout.coverPrivate(dir, inTurn ? 'in-turn' : 'last')
}

export function layOutDevices(layout: Layout, survey: Survey, processes: number): void {
  layout.dir('/dev')
  // Read-only: they can be written all the same, and who may open them is not changed, which root could on the host.
  for (const path of survey.devices) layout.bind(path, 'file', ['read-only', 'no-suid', 'no-exec'])
  layout.special({ tag: 'devpts', path: '/dev/pts' })
  layout.link('/dev/ptmx', 'pts/ptmx')
  layout.link('/dev/fd', '/proc/self/fd')
  layout.link('/dev/stdin', '/proc/self/fd/0')
  layout.link('/dev/stdout', '/proc/self/fd/1')
  layout.link('/dev/stderr', '/proc/self/fd/2')
  layout.special({ tag: 'proc', path: '/proc', highestPid: processes + RESERVED_PIDS })
}

export const allowSystem = (survey: Survey): readonly Item[] =>
  survey.system.flatMap((entry) => (entry.kind === 'bind' ? [allow(entry.path, BASELINE_RIGHTS)] : []))

export const allowDevices = (survey: Survey): readonly Item[] => [
  ...survey.devices.map((path) => allow(path, DEVICE_RIGHTS)),
  allow('/proc', READ_RIGHTS),
]

/** Only of a devpts of its own: the host's holds everybody's terminals, to be read and written. */
export const allowOwnTerminals = (): Item => allow('/dev/pts', TERMINAL_RIGHTS)

export const allow = (path: string, rights: readonly LandlockRight[]): Item => ({
  tag: 'allow',
  path,
  rights,
})
