import { CordonError } from '@cordon/policy'
import { LaunchError, type Plan, spawnConfined } from '@cordon/sandbox'
import { LONGEST_CALL } from '@cordon/tools'
import { writes } from '../compile/names.ts'
import { noteWritable } from '../confine/writable.ts'
import { cancelledBefore, type ProcessOutcome, type ProcessRequest } from '../execute/process.ts'
import type { LocalTool } from '../execute/tool.ts'
import { type PlannedWorker, Plans } from './plans.ts'
import { Sameness } from './sameness.ts'
import { Worker, type WorkerBounds } from './worker.ts'

export interface Bounds extends WorkerBounds {
  /** Calls at the same time; who comes later waits. */
  readonly running: number
  /** Workers that wait for a call. */
  readonly idle: number
  /** How long they do. Until then what they were started under stays in use: a disk could not be taken out. */
  readonly idleMilliseconds: number
}

const BOUNDS: Bounds = {
  running: 8,
  idle: 8,
  idleMilliseconds: 60_000,
  calls: 1000,
  milliseconds: 10 * 60_000,
  bytes: 256 * 1024 * 1024,
}

/**
 * The confined workers of one session (decision 0200). A worker takes a further call only of the same tool under the same
 * policy and the same plan, as the disk is at that call; on any doubt it is thrown away.
 */
export class Workers {
  readonly #bounds: Bounds
  readonly #plans = new Plans()
  readonly #idle = new Map<Worker, NodeJS.Timeout>()
  readonly #resting = new Map<Worker, Promise<void>>()
  readonly #waiting: (() => void)[] = []
  readonly #ending = new Set<Promise<void>>()
  #running = 0
  /** Calls that wait for those who rest, and will take one of them. */
  #expecting = 0
  #isClosed = false

  constructor(bounds: Partial<Bounds> = {}) {
    this.#bounds = { ...BOUNDS, ...bounds }
  }

  /** Undefined: nothing was done, and the call needs a process of its own. */
  async run(tool: LocalTool, request: ProcessRequest): Promise<ProcessOutcome | undefined> {
    if (this.#isClosed || !canStay(tool, request)) return undefined
    await this.#turn()
    try {
      if (request.signal?.aborted) return cancelledBefore(request)
      return await this.#runNow(tool.name, { ...request, argv: [...request.argv, 'serve'] })
    } finally {
      this.#running--
      this.#waiting.shift()?.()
    }
  }

  /** Resolves when none is left. Calls that are running come to their end first. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#resting.values())
    for (const worker of this.#idle.keys()) this.#discard(worker)
    await Promise.all(this.#ending)
  }

  async #turn(): Promise<void> {
    this.#running++
    if (this.#running > this.#bounds.running) await new Promise<void>((go) => this.#waiting.push(go))
  }

  async #runNow(name: string, request: ProcessRequest): Promise<ProcessOutcome | undefined> {
    try {
      await this.#rested(name)
      if (request.signal?.aborted) return cancelledBefore(request)
      const early = this.#callEarly(request)
      if (early) {
        if (this.#stillFits(early.worker, request)) return await this.#finish(early)
        await early.worker.end()
        await early.outcome.catch(() => undefined) // nobody is told of it
        if (request.signal?.aborted) return cancelledBefore(request)
      }
      const planned = this.#plans.planFor(request)
      if (!isOrdinary(planned.plan, request)) return undefined
      const worker = this.#take(name, planned.description) ?? this.#start(name, request, planned)
      return await this.#finish({ worker, outcome: worker.call(request) })
    } catch (error) {
      // Nothing has run. A process of its own meets the same, and says it as it always was said.
      if (error instanceof CordonError || error instanceof LaunchError || isRefusedSpawn(error))
        return undefined
      throw error
    }
  }

  /**
   * A worker that can change nothing is told its call before it is known whether it is still the right one, so that both
   * are done at the same time. If it is not, it goes, and its answer with it (decision 0300).
   */
  #callEarly(request: ProcessRequest): RunningCall | undefined {
    const planned = changesNothing(request) ? this.#plans.lastFor(request) : undefined
    const worker = planned && [...this.#idle.keys()].find((each) => each.isFor(planned.description))
    if (!worker) return undefined
    this.#takeOut(worker)
    return { worker, outcome: worker.call(request) }
  }

  #stillFits(worker: Worker, request: ProcessRequest): boolean {
    try {
      const { plan, description } = this.#plans.planFor(request)
      return isOrdinary(plan, request) && worker.fits(description)
    } catch {
      return false // the next plan meets the same, and says it
    }
  }

  async #finish({ worker, outcome }: RunningCall): Promise<ProcessOutcome> {
    const ended = await outcome
    this.#giveBack(worker)
    return ended
  }

  #take(tool: string, description: string): Worker | undefined {
    for (const worker of this.#idle.keys()) {
      if (worker.fits(description)) {
        this.#takeOut(worker)
        return worker
      }
      // Another tool's stays. One of this tool was started under what is no longer so.
      if (worker.tool === tool || !worker.isSound) this.#discard(worker)
    }
    return undefined
  }

  #start(tool: string, request: ProcessRequest, { plan, env, description }: PlannedWorker): Worker {
    const sameness = Sameness.hold(description, plan)
    try {
      // What is watched is looked for after every call, by the worker, and not when the process ends.
      const confined = spawnConfined(
        { ...plan, watched: [] },
        { argv: request.argv, env, terminal: 'detach' },
      )
      noteWritable(request, plan)
      return new Worker(tool, confined, plan, sameness, this.#bounds)
    } catch (error) {
      sameness.release()
      throw error
    }
  }

  /** Those of this tool that have answered are there for this call once they stand still. */
  async #rested(tool: string): Promise<void> {
    const resting = [...this.#resting].filter(([worker]) => worker.tool === tool)
    for (const [worker] of resting) worker.hurry()
    this.#expecting++
    await Promise.all(resting.map(([, rested]) => rested)).finally(() => this.#expecting--)
  }

  #giveBack(worker: Worker): void {
    const rested = worker.rest().then(() => {
      this.#resting.delete(worker)
      this.#keep(worker)
    })
    this.#resting.set(worker, rested)
  }

  #keep(worker: Worker): void {
    this.#idle.set(
      worker,
      setTimeout(() => this.#discard(worker), this.#bounds.idleMilliseconds),
    )
    if (this.#isClosed || !worker.isSound) return this.#discard(worker)
    for (const oldest of this.#idle.keys())
      if (this.#idle.size > this.#bounds.idle + this.#expecting) this.#discard(oldest)
  }

  #takeOut(worker: Worker): void {
    clearTimeout(this.#idle.get(worker))
    this.#idle.delete(worker)
  }

  #discard(worker: Worker): void {
    this.#takeOut(worker)
    const ending = worker.end().finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }
}

interface RunningCall {
  readonly worker: Worker
  readonly outcome: Promise<ProcessOutcome>
}

/** Whether the kernel lets a call change no file at all (decision 0253): then one that nobody is told of never was. */
const changesNothing = ({ policy, boundary = policy }: ProcessRequest): boolean =>
  boundary.fs.length > 0 && !boundary.fs.some(writes)

/** `unix_utils` starts programs that are not ours: one that was tricked must not be there for the next call. */
const canStay = ({ shipped, name }: LocalTool, { stdin, sandbox }: ProcessRequest): boolean =>
  shipped && name !== 'unix_utils' && sandbox.mode !== 'off' && Buffer.byteLength(stdin) < LONGEST_CALL

/** Processes of its own, no host to reach, and no limit that is for one call. */
const isOrdinary = ({ isolation, lost, cgroup, limits }: Plan, { policy }: ProcessRequest): boolean =>
  isolation === 'namespaces' &&
  lost.length === 0 &&
  cgroup === undefined &&
  !policy.net.some(({ allow }) => allow) &&
  limits.cpu === undefined

const isRefusedSpawn = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('spawn ') && 'code' in error
