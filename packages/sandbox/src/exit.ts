import { type DeniedPath, moveDeniedAside } from './denied-paths.ts'
import { type Item } from './linux/items.ts'
import { type Plan } from './plan/types.ts'
import { LaunchError, parseStatus, type Status } from './status.ts'

/** How a confined process ended, and what the sandbox noticed. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What should not exist and came into being (SPEC 4.3), and where it was moved to. */
  readonly createdDenied: readonly DeniedPath[]
  /** Limits that were reached, in words: the likely cause of a failure. */
  readonly pressure: readonly string[]
}

/** How the launcher itself ended, as far as anybody saw it. */
export type Seen = Pick<Exit, 'code' | 'signal'>

/**
 * The end of a call from the launcher's report, one line a fact. Throws `LaunchError` when the sandbox could not be built.
 * `items` is what the launcher was told: it answers with their numbers.
 */
export function exitFrom(report: string, plan: Plan, items: readonly Item[], seen: Seen): Exit {
  const statuses = report.split('\n').flatMap((line) => parseStatus(line) ?? [])
  const failed = statuses.find((status) => status.kind === 'failed')
  if (failed) throw new LaunchError({ ...failed, item: items[failed.item] })
  const end = statuses.find((status) => status.kind === 'exit' || status.kind === 'signal')
  return {
    // Without a report the launcher itself was killed, and everything inside with it.
    code: end ? (end.kind === 'exit' ? end.code : null) : seen.signal ? null : seen.code,
    signal: end ? (end.kind === 'signal' ? end.signal : null) : seen.signal,
    createdDenied: moveDeniedAside(plan.watched),
    pressure: statuses.flatMap((status) => pressureOf(status, plan)),
  }
}

function pressureOf(status: Status, { limits }: Plan): readonly string[] {
  if (status.kind !== 'usage') return []
  return [
    ...(status.tmpFull
      ? [
          `the private /tmp and home are full (limits ${inMiB(limits.tmp)} MiB and ${MOST_FILES} files): they are emptied when the process ends`,
        ]
      : []),
    ...(status.peakBytes > limits.memory * NEAR
      ? [`a process used ${inMiB(status.peakBytes)} MiB of memory (limit ${inMiB(limits.memory)} MiB)`]
      : []),
  ]
}

/** launcher/src/root.c, `nr_inodes`: together with directories and links. */
const MOST_FILES = 262_144
/** launcher/src/init.c says nothing below it. */
const NEAR = 0.9
const inMiB = (bytes: number): number => Math.round(bytes / 1024 / 1024)
