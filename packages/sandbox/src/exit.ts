import { realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { below, type Capability } from '@cordon/policy'
import { lookForNew, type NewPaths } from './denied-paths.ts'
import { changedSince, type GuardedFile } from './guarded-files.ts'
import { type Item } from './linux/items.ts'
import { kernelInterpreter } from './plan/program.ts'
import { type Plan } from './plan/types.ts'
import { type Carriers, type Replaced } from './replaced.ts'
import { LaunchError, parseStatus, type Status } from './status.ts'

/** How a confined process ended, and what the sandbox noticed. */
export interface Exit extends NewPaths {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Guarded files that are not what they were at the start, whoever changed them. */
  readonly changed: readonly string[]
  /** Limits that were reached: the likely cause of a failure. */
  readonly pressure: readonly Pressure[]
  /** SPEC 4.3: what was written to the private home and is gone, by its path there; `more` where not all was looked at. */
  readonly left: { readonly paths: readonly string[]; readonly more: boolean }
  readonly replaced: readonly Replaced[]
  /** The end of what it wrote to stderr, and before it to stdout, where that was kept (`SpawnOptions.keepErrors`, `keepOutput`). */
  readonly said: string
}

interface Pressure {
  /** Its key in `sandbox.limits`. */
  readonly limit: 'memory_mb' | 'tmp_mb' | 'cpu_secs'
  readonly text: string
}

/** How the launcher itself ended, as far as anybody saw it. */
type Seen = Pick<Exit, 'code' | 'signal'> & {
  /** All processes together reached the limit of memory, and the kernel ended them. */
  readonly ranOut?: boolean
  /** When it was started. */
  readonly since: number
  readonly guarded: readonly GuardedFile[]
  readonly carriers: Pick<Carriers, 'results'>
}

/**
 * The end of a call from the launcher's report: one line a fact, an empty line, and the end of stderr if it was kept.
 * Throws `LaunchError` when the sandbox could not be built. `items` is what the launcher was told: it answers with their
 * numbers. `seen` is how the launcher itself ended.
 */
export function exitFrom(report: string, plan: Plan, items: readonly Item[], seen: Seen): Exit {
  const empty = report.indexOf('\n\n')
  const facts = empty < 0 ? report : report.slice(0, empty)
  const statuses = facts.split('\n').flatMap((line) => parseStatus(line) ?? [])
  const failed = statuses.find((status) => status.kind === 'failed')
  if (failed)
    throw new LaunchError({
      ...failed,
      item: items[failed.item],
      withheld: withheldFromStart(plan),
      interpreter: failed.step === 'exec' ? interpreterOf(plan) : undefined,
    })
  const made = lookForNew(plan.watched, seen.since, plan.survey.at)
  const end = statuses.find((status) => status.kind === 'exit' || status.kind === 'signal')
  return {
    // Without a report of the end the launcher was killed, and everything inside with it: however that looks, it is no success.
    code: end ? (end.kind === 'exit' ? end.code : null) : seen.signal ? null : seen.code || EXIT_LAUNCHER,
    signal: end ? (end.kind === 'signal' ? end.signal : null) : seen.signal,
    ...made,
    // What another run made is both to us (decision 0641), and is said once.
    changed: changedSince(seen.guarded).filter((path) => !isIn(path, made)),
    pressure: [
      ...(seen.ranOut
        ? [
            {
              limit: 'memory_mb' as const,
              text: `all processes together reached the limit of ${inMiB(plan.limits.memory)} MiB of memory (sandbox.limits.memory_mb)`,
            },
          ]
        : []),
      ...statuses.flatMap((status) => [...pressureOf(status, plan), ...timeUpOf(status, plan)]),
    ],
    left: leftOf(statuses, plan, items),
    replaced: seen.carriers.results(statuses, items),
    said: empty < 0 ? '' : report.slice(empty + 2),
  }
}

const isIn = (path: string, { appeared, createdDenied }: NewPaths): boolean =>
  [...appeared, ...createdDenied.map((denied) => denied.path)].some((made) => below(made, path) !== undefined)

/** What lies in no region is the machine's, and needs no rule. */
function withheldFromStart({ regions, survey }: Plan): readonly Capability[] {
  const region = regions.findLast(({ path }) => below(path, survey.exe) !== undefined)
  return region ? STARTING.filter((each) => !region.grants.has(each)) : []
}

/** Of a script that is there inside. Of a link that leads elsewhere, and where rules grant nothing, not even the script is. */
function interpreterOf({ regions, survey: { exe } }: Plan): string | undefined {
  try {
    const real = realpathSync.native(exe)
    const region = regions.findLast(({ path }) => below(path, real) !== undefined)
    return region && region.grants.size > 0 ? kernelInterpreter(real) : undefined
  } catch {
    return undefined
  }
}

const STARTING: readonly Capability[] = ['read', 'execute']

/** What the plan itself put there is nothing that anybody wrote. */
function leftOf(statuses: readonly Status[], { survey }: Plan, items: readonly Item[]): Exit['left'] {
  const told = statuses.filter((status) => status.kind === 'left')
  if (told.length === 0) return { paths: [], more: false }
  const made = new Set(
    items.flatMap((item) => (item.tag === 'link' || item.tag === 'replaced' ? [item.path] : [])),
  )
  return {
    paths: told
      .flatMap(({ path }) => (path === undefined ? [] : [`${survey.home.canonical}/${path}`]))
      .filter((path) => !made.has(path)),
    more: told.some(({ path }) => path === undefined),
  }
}

/** launcher/src/report.h. */
const EXIT_LAUNCHER = 125

function pressureOf(status: Status, { limits }: Plan): readonly Pressure[] {
  if (status.kind !== 'usage') return []
  return [
    ...(status.tmpFull
      ? [
          {
            limit: 'tmp_mb' as const,
            text: `the private /tmp and home are full (limits ${inMiB(limits.tmp)} MiB and ${MOST_FILES} files): they are emptied when the process ends`,
          },
        ]
      : []),
    ...(status.peakBytes > limits.memory * NEAR
      ? [
          {
            limit: 'memory_mb' as const,
            text: `a process used ${inMiB(status.peakBytes)} MiB of memory (limit ${inMiB(limits.memory)} MiB)`,
          },
        ]
      : []),
  ]
}

/** SIGXCPU is what the limit of processor time sends. A shell says it by 128 and its number, as anybody could. */
function timeUpOf(status: Status, { limits: { cpu } }: Plan): readonly Pressure[] {
  if (cpu === undefined) return []
  const used = `${cpu} s of processor time (sandbox.limits.cpu_secs = ${cpu})`
  if (status.kind === 'signal' && status.signal === 'SIGXCPU')
    return [{ limit: 'cpu_secs', text: `a process used ${used}` }]
  if (status.kind === 'exit' && status.code === 128 + constants.signals.SIGXCPU)
    return [{ limit: 'cpu_secs', text: `a process probably used ${used}` }]
  return []
}

/** launcher/src/root.c, `nr_inodes`: together with directories and links. */
const MOST_FILES = 262_144
/** launcher/src/init.c says nothing below it. */
const NEAR = 0.9
const inMiB = (bytes: number): number => Math.round(bytes / 1024 / 1024)
