import { createHash, randomBytes } from 'node:crypto'
import { type BigIntStats, readFileSync, readlinkSync } from 'node:fs'
import { errnoOf } from './errors.ts'

/**
 * Names of half-written files, `.cordon-tmp-<machine>-<pid>-<start>-<random>`, and the rule that tells an
 * abandoned one from one in use (decision 0012). The name says who writes, so no lock is needed:
 * `machine` is the boot and the pid namespace, without which a pid means nothing; `start` is the
 * process's start time, because pids are used again. Instead of the machine it may name a call, by 16 hexadecimal
 * digits: who has seen that end, and nobody else, knows that its writer is dead.
 */
const PREFIX = '.cordon-tmp-'
const FORM = /^\.cordon-tmp-([0-9a-f]{16})-(\d{1,10})-(\d{1,20})-[0-9a-f]{16}$/

/** A writer that nobody can ask after is taken for dead when it has written nothing for so long. */
const SILENT_MS = 60 * 60 * 1000

/** Whether a listing shows a half-written file of ours. */
export const isTempName = (name: string): boolean => name.startsWith(PREFIX)

export const newTempName = (owner = self().machine): string =>
  `${PREFIX}${owner}-${process.pid}-${self().start}-${randomBytes(8).toString('hex')}`

/**
 * In this boot and pid namespace a writer is dead when the kernel says so. Anybody else's (another
 * container, a network share, an earlier boot, another user whose processes may be hidden from us)
 * goes by silence. Being wrong costs the writer a `FILE_CHANGED` at its commit, never data.
 * `ended`: the calls that are known to be over.
 */
export function isAbandoned(
  name: string,
  stats: BigIntStats,
  nowMs: number,
  ended: ReadonlySet<string> = NONE,
): boolean {
  const parts = FORM.exec(name)
  if (parts && ended.has(parts[1]!)) return true
  const ours = parts?.[1] === self().machine && Number(stats.uid) === process.geteuid?.()
  if (parts && ours && self().known) return !isRunning(Number(parts[2]), parts[3] ?? '')
  // The change time: every write renews it, and nobody can set it.
  return nowMs - Number(stats.ctimeMs) > SILENT_MS
}

const NONE: ReadonlySet<string> = new Set()

function isRunning(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (errnoOf(error) === 'ESRCH') return false
  }
  const now = startOf(String(pid))
  return now === undefined || now === start
}

interface Self {
  /** False where a process cannot be identified: then nothing is proven by a pid. */
  readonly known: boolean
  readonly machine: string
  readonly start: string
}

let memo: Self | undefined
const self = (): Self => (memo ??= identify())

function identify(): Self {
  const unknown = { known: false, machine: '0'.repeat(16), start: '0' }
  try {
    // A /proc of another pid namespace would answer about other processes.
    if (readlinkSync('/proc/self') !== String(process.pid)) return unknown
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const namespace = readlinkSync('/proc/self/ns/pid')
    const start = startOf('self')
    if (start === undefined) return unknown
    const machine = createHash('sha256').update(`${boot} ${namespace}`).digest('hex').slice(0, 16)
    return { known: true, machine, start }
  } catch {
    return unknown
  }
}

/** Field 22 of proc(5)'s stat; the name in field 2 may contain anything, so count from its end. */
function startOf(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
