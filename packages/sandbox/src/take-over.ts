import { closeSync, readFileSync, readlinkSync } from 'node:fs'
import { below } from '@cordon/policy'
import { type Call, itemsFor } from './call.ts'
import { type Seen } from './exit.ts'
import { findLauncher } from './launcher.ts'
import { encodeItems } from './linux/encode.ts'
import { type Item, type LandlockRight } from './linux/items.ts'
import { type Plan } from './plan/types.ts'
import { parseStatus } from './status.ts'

/**
 * The launcher in the place of this process (decision 0094): Node does not stay to wait. When there is something to
 * explain, the launcher starts it again, which reads in the report how the call ended.
 */
export interface Succession extends Call {
  /** When the host is wanted again: only if nothing could be started, or also if the program failed. */
  readonly wanted: 'unless-started' | 'unless-succeeded'
  /** The command line of this process. */
  readonly commandLine: readonly [string, ...string[]]
  /** Files and directories that this command line runs code from, by their real names. */
  readonly code: readonly string[]
  /** Its environment: what the host gets again. The program gets `env`. */
  readonly hostEnv: Readonly<Record<string, string | undefined>>
  /** An exec is not an end: no handler of Node's runs. */
  readonly beforeLeaving: () => void
}

/**
 * Returns only when it cannot be done; the call is then to be spawned. A proxy needs a host that stays, and what has to
 * be looked for afterwards must be looked for by who knows that it was not there before.
 */
export function takeOver(plan: Plan, succession: Succession): void {
  const launcher = findLauncher()
  if (launcher.state === 'missing' || plan.proxyPort !== undefined || plan.watched.length > 0) return
  if (couldBeChanged([...succession.code, launcher.path], plan) || isDirected(succession)) return
  const items = itemsFor(plan, succession, succession.wanted === 'unless-succeeded' ? ['explain'] : [])
  // Nothing that Node has opened survives an exec, so the plan goes as text (launcher/src/environment.c).
  const planned = encodeItems(items).subarray(FRAME).toString('base64').replace(/=+$/, '')
  const argv = ['cordon', ...succession.commandLine]
  const env = { ...succession.hostEnv, [PLAN]: planned }
  if (sizeOf(argv, env) > MOST || !process.execve) return
  succession.beforeLeaving()
  process.execve(launcher.path, argv, env)
}

/**
 * Whether the program could write what is started after it, with all the rights of the person: cordon may be installed in
 * the workspace. This process has read its code before.
 */
const couldBeChanged = (code: readonly string[], plan: Plan): boolean =>
  plan.items
    .filter((item) => item.tag === 'bind' || item.tag === 'allow')
    .filter((item) => isWritable(item, plan.isolation))
    .some(({ path }) =>
      code.some((each) => below(path, each) !== undefined || below(each, path) !== undefined),
    )

/** In a root of its own, what Landlock allows may be a private place; without one there is nothing else to ask. */
const isWritable = (item: Item, isolation: Plan['isolation']): boolean =>
  isolation === 'namespaces'
    ? item.tag === 'bind' && !item.attributes.includes('read-only')
    : item.tag === 'allow' && item.rights.some((right) => !READING.has(right))

const READING: ReadonlySet<LandlockRight> = new Set(['execute', 'read-file', 'read-dir', 'ioctl-dev'])

/** Whether Node, or the loader, was told of other files to run code from: they may be anywhere. */
const isDirected = ({ commandLine, hostEnv }: Succession): boolean =>
  commandLine[1]?.startsWith('-') === true || DIRECTING.some((name) => hostEnv[name])

const DIRECTING = [
  'NODE_OPTIONS',
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
  'LD_AUDIT',
  'OPENSSL_CONF',
  'OPENSSL_MODULES',
]

/** The length in front is for who reads it from a pipe. */
const FRAME = 4
const PLAN = 'CORDON_PLAN'

/** The kernel takes this much from everybody, less what it needs itself; a failed exec would end us. */
const MOST = 120 * 1024

function sizeOf(argv: readonly string[], env: Readonly<Record<string, string | undefined>>): number {
  const texts = [...argv, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
  const pointer = 8
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 1 + pointer, 0)
}

/** launcher/src/report.h, standin.c and environment.h. */
const REPORT_FD = 3
const REPORT = '/memfd:cordon-report (deleted)'
const ENDED = 'CORDON_ENDED'

/** The launcher's report, when this process was started again because of it; it can be read once. */
export function takeAmbientReport(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env[ENDED] === undefined || !isReport()) return undefined
  try {
    return readFileSync(REPORT_FD, 'utf8')
  } finally {
    closeSync(REPORT_FD)
  }
}

/** The variable may be somebody's who started us, and the descriptor one of Node's own. */
function isReport(): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${REPORT_FD}`) === REPORT
  } catch {
    return false
  }
}

/** How the program ended, from the report alone. Undefined: it was never started. */
export function seenIn(report: string): Seen | undefined {
  const statuses = report.slice(0, report.indexOf('\n\n')).split('\n').map(parseStatus)
  const end = statuses.find((status) => status?.kind === 'exit' || status?.kind === 'signal')
  if (!end || statuses.some((status) => status?.kind === 'failed')) return undefined
  return end.kind === 'exit' ? { code: end.code, signal: null } : { code: null, signal: end.signal }
}
