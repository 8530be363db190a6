import { type Capability } from '@cordon/policy'
import { type HeldRegion } from '../plan/regions-held.ts'
import { PROXY_PORT } from '../plan/network.ts'
import { type Plan } from '../plan/types.ts'

/**
 * SPEC 4.4: the same plan as a profile for macOS's sandbox-exec. Deny by default; of the rules that match the last one
 * decides, so regions go from the root down and each first takes back what the wider one gave.
 */
export function sandboxProfile(plan: Plan): string {
  return [
    '(version 1)',
    '(deny default)',
    ...PROCESS,
    ...SYSTEM,
    ...plan.survey.runtime.flatMap(({ path }) => [
      `(allow file-read* ${within(path, 'dir')})`,
      `(allow process-exec ${within(path, 'dir')})`,
    ]),
    ...ancestorsOf(plan),
    ...plan.regions.flatMap(regionRules),
    ...networkRules(plan),
    '',
  ].join('\n')
}

const PROCESS = [
  '(allow process-fork)',
  '(allow signal (target same-sandbox))',
  '(allow process-info* (target same-sandbox))',
  '(allow sysctl-read)',
]

/** SPEC 4.3's baseline in macOS's words. `/private/etc` holds no world-readable secrets; its shadow is elsewhere. */
const SYSTEM = [
  '(allow file-read* (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/Library/Frameworks") (subpath "/private/etc") (subpath "/private/var/db/timezone") (subpath "/private/var/db/dyld") (subpath "/dev"))',
  '(deny file-read* (literal "/private/etc/master.passwd") (literal "/private/etc/sudoers") (subpath "/private/etc/sudoers.d") (subpath "/private/etc/ssh"))',
  '(allow process-exec (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System"))',
  '(allow file-map-executable (subpath "/usr") (subpath "/System") (subpath "/Library/Frameworks"))',
  '(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/ttys[0-9]+$"))',
]

/** sandbox-exec tells creating, removing and writing apart, but not creating from replacing by rename. */
const OPERATIONS: Readonly<Record<Capability, readonly string[]>> = {
  read: ['file-read*'],
  create: ['file-write-create'],
  update: [
    'file-write-data',
    'file-write-mode',
    'file-write-owner',
    'file-write-times',
    'file-write-xattr',
    'file-write-flags',
  ],
  delete: ['file-write-unlink'],
  execute: ['process-exec', 'file-map-executable'],
}

function regionRules({ path, kind, grants }: HeldRegion): readonly string[] {
  const where = within(path, kind)
  const allowed = [...grants].flatMap((capability) => OPERATIONS[capability])
  return [
    `(deny file-read* file-write* process-exec file-map-executable ${where})`,
    ...(allowed.length === 0 ? [] : [`(allow ${allowed.join(' ')} ${where})`]),
  ]
}

/** A path that does not exist yet may become a directory: `subpath` covers both. */
const within = (path: string, kind: HeldRegion['kind']): string =>
  kind === 'file' || kind === 'link' ? `(literal ${quoted(path)})` : `(subpath ${quoted(path)})`

/** Programs look at each directory on the way to their own: its existence, not its content. */
function ancestorsOf({ regions }: Plan): readonly string[] {
  const above = new Set<string>(['/'])
  for (const { path } of regions)
    for (let slash = path.indexOf('/', 1); slash > 0; slash = path.indexOf('/', slash + 1))
      above.add(path.slice(0, slash))
  return [`(allow file-read-metadata ${[...above].map((path) => `(literal ${quoted(path)})`).join(' ')})`]
}

/** Only where a rule allows something: without namespaces of its own this port is the host's. */
const networkRules = ({ network }: Plan): readonly string[] =>
  network?.sockets.some(({ serves }) => serves === 'door')
    ? [`(allow network-outbound (remote ip "localhost:${PROXY_PORT}"))`]
    : []

/** A string of the profile's Scheme: backslash and quote are escaped, everything else stands for itself. */
const quoted = (path: string): string => `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
