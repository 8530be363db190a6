import { randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { changedSince, type Confined, type Exit, guardedFiles, lookForNew, type Plan } from '@cordon/sandbox'
import { encodeFrame, FrameError, FrameReader, FrameTooLongError } from '@cordon/tools'
import { NOTHING_NOTICED, type ProgramEnd, withGitlinks } from '../confine/program.ts'
import { hintsFor } from '../confine/start.ts'
import { KeptRecord } from '../confine/unfinished.ts'
import { boundContent, Tail } from '../execute/output.ts'
import {
  type ProcessOutcome,
  type ProcessRequest,
  rawLimits,
  STDERR_KEPT,
  Stop,
  stoppedReply,
  type StopReason,
  tooLong,
} from '../execute/process.ts'
import { failure, parseReply, readAnswer, type ToolReply } from '../execute/result.ts'
import { Inside } from './inside.ts'
import type { Sameness } from './sameness.ts'

/** For how long one worker may go on, whatever it says. */
export interface WorkerBounds {
  readonly calls: number
  readonly milliseconds: number
  /** Of resident memory: what one call needed much of is not kept for the next. */
  readonly bytes: number
}

/**
 * One confined process of a shipped tool that takes calls one after the other (decision 0200). It runs while a call
 * does and is stopped in between. Whatever is not as expected ends it: then the next call gets another one.
 */
export class Worker {
  readonly tool: string
  readonly #confined: Confined
  readonly #plan: Plan
  readonly #sameness: Sameness
  readonly #bounds: WorkerBounds
  readonly #born = performance.now()
  readonly #stderr = new Tail(STDERR_KEPT)
  readonly #ended: Promise<Exit>
  #isOver = false
  #resting: Promise<void> | undefined
  #record: KeptRecord | undefined
  #calls = 0
  /** What it was told of its policy with the call before, and is not told again (decision 0355). */
  #told: string | undefined
  #isParked = false
  #inside: Inside | undefined
  /** Who gets what it writes; nobody does between two calls. */
  #reader: ((bytes: Buffer) => void) | undefined

  constructor(tool: string, confined: Confined, plan: Plan, sameness: Sameness, bounds: WorkerBounds) {
    const { stdin, stdout, stderr } = confined
    if (!stdin || !stdout || !stderr) throw new Error('a worker was started without its pipes')
    this.tool = tool
    this.#confined = confined
    this.#plan = plan
    this.#sameness = sameness
    this.#bounds = bounds
    stderr.on('data', this.#stderr.add)
    this.#ended = confined.exit.finally(() => {
      this.#isOver = true
      sameness.release()
      this.#inside?.close()
      this.#record?.end()
    })
    this.#ended.catch(() => undefined) // `call` and `end` say it
    stdin.on('error', () => undefined)
    stdout.on('data', (bytes: Buffer) => (this.#reader ? this.#reader(bytes) : this.#throwAway()))
  }

  /** Whether it can be asked again at all. */
  get isSound(): boolean {
    return !this.#isOver && performance.now() - this.#born < this.#bounds.milliseconds
  }

  /** Whether it was started for that; whether that still stands, only `fits` says. */
  isFor(description: string): boolean {
    return this.isSound && this.#sameness.text === description
  }

  /** Whether what a call asks for is exactly what this one was started for. */
  fits(description: string): boolean {
    return this.isSound && this.#sameness.holds(description)
  }

  /** Resolves when it is stopped, and nothing of the last call is left in it; or when it was thrown away. */
  rest(): Promise<void> {
    return (this.#resting ??= this.#rest())
  }

  /** Somebody waits until it rests. */
  hurry(): void {
    this.#inside?.hurry()
  }

  /** Resolves when nothing of it is left. */
  async end(): Promise<void> {
    this.#throwAway()
    await this.#ended.catch(() => undefined)
  }

  /** Rejects only when there never was a process, so nothing was done. Everything else is an outcome. */
  async call(request: ProcessRequest): Promise<ProcessOutcome> {
    this.#resting = undefined
    this.#record ??= new KeptRecord(request.unfinished, this.#plan.watched)
    const since = Date.now()
    const record = this.#record.begin(request.guard?.gitlinks())
    const guarded = guardedFiles(this.#plan)
    using stop = new Stop(request, () => this.#throwAway())
    try {
      const said = await this.#exchange(request)
      const stopped = stop.reason
      const isAnswered = 'result' in said && stopped === undefined
      if (!isAnswered || !said.sound) await this.end()
      // Where there is something to look for, all that the call has left is there once nothing inside moves any more.
      else if (this.#plan.watched.length + guarded.length > 0) {
        const parked = this.#park()
        this.hurry()
        await parked
      }
      const exit = isAnswered ? ended(said.result) : await this.#ended
      // SPEC 4.3 and 4.10.
      const { watched, survey } = this.#plan
      const found = withGitlinks(
        { ...lookForNew(watched, since, survey.at), changed: changedSince(guarded) },
        request.guard,
      )
      record.done(found)
      if (Object.values(found).some((paths) => paths.length > 0)) await this.end()
      const end: ProgramEnd = {
        exit: { ...exit, ...found },
        refused: [],
        unreached: [],
        lost: [...this.#plan.lost, ...record.lost],
        hints: hintsFor(request, this.#plan),
      }
      return {
        ...(isAnswered
          ? bounded(said.result, request)
          : { reply: this.#failure(said, end, stopped, request), notes: [] }),
        end,
        stderr: this.#stderr.text,
        cancelled: stopped === 'cancelled',
        killed: !isAnswered,
      }
    } finally {
      record.done()
    }
  }

  async #exchange({ stdin, saidOfPolicy, bytes }: ProcessRequest): Promise<Said> {
    // Only who has read this call can answer it.
    const nonce = randomUUID()
    const frame = new FrameReader(rawLimits(bytes).keep)
    const answer = new Promise<Said>((resolve) => {
      this.#reader = (piece) => {
        try {
          const text = frame.push(piece)
          if (text) resolve(readSaid(text, nonce))
        } catch (error) {
          if (!(error instanceof FrameError)) throw error
          resolve({ broken: error })
        }
      }
    })
    try {
      // The call first: a worker that wakes up and finds nothing to do goes to sleep once more.
      const isTold = this.#told === saidOfPolicy
      this.#told = saidOfPolicy
      this.#confined.stdin?.write(
        encodeFrame(`${nonce}${isTold ? `{${stdin.slice(saidOfPolicy.length)}` : stdin}`),
      )
      this.#isParked = false
      if (this.#calls++ > 0 && !this.#inside?.go()) return { broken: new FrameError('it is gone') }
      return await Promise.race([answer, this.#ended.then(() => ({ broken: undefined }))])
    } finally {
      this.#reader = undefined
    }
  }

  /** Stops it until the next call, and ends it when it is better not asked again. */
  async #park(): Promise<void> {
    if (this.#isParked || this.#isOver) return
    this.#inside ??= Inside.find(this.#confined.pid)
    this.#isParked = (await this.#inside?.stop()) === true
    if (!this.#isParked || !this.isSound || this.#calls >= this.#bounds.calls || this.#stderr.text !== '')
      await this.end()
  }

  async #rest(): Promise<void> {
    await turn() // the answer is on its way by then
    await this.#park()
    if (!this.#isOver && !this.#looksWell()) await this.end()
  }

  #looksWell(): boolean {
    try {
      return (
        this.#inside !== undefined &&
        this.#inside.memory() <= this.#bounds.bytes &&
        this.#inside.openFiles().length === 0
      )
    } catch {
      return false // what cannot be seen is not known to be well
    }
  }

  #failure(
    said: Said,
    { exit }: ProgramEnd,
    stopped: StopReason | undefined,
    request: ProcessRequest,
  ): ToolReply {
    const stderr = this.#stderr.text
    if (stopped !== undefined) return stoppedReply(stopped, stderr, request)
    if ('broken' in said && said.broken instanceof FrameTooLongError)
      return tooLong(said.broken.bytes, request.bytes)
    if ('broken' in said && said.broken)
      return failure(`the tool cannot be understood: ${said.broken.message}`)
    return parseReply({ stdout: Buffer.alloc(0), stderr, code: exit.code ?? 1, signal: exit.signal })
  }

  #throwAway(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#confined.kill()
  }
}

/** An answer, or that there is none: its stream was not understood, or ended. */
type Said =
  | { readonly result: ToolReply; readonly sound: boolean }
  | { readonly broken: FrameError | undefined }

function readSaid(text: Buffer, nonce: string): Said {
  const value = parseJson(text.toString('utf8'))
  if (typeof value !== 'object' || value === null || !('nonce' in value) || value.nonce !== nonce)
    return { broken: new FrameError('its answer is none to this call') }
  const result = 'result' in value ? readAnswer(value.result) : undefined
  if (!result) return { broken: new FrameError('its answer has the wrong shape') }
  return { result, sound: 'sound' in value && value.sound === true }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** As the tool alone would end (docs/tool-protocol.md). */
const ended = ({ type }: ToolReply): Exit => ({
  code: type === 'error' ? 1 : 0,
  signal: null,
  ...NOTHING_NOTICED,
})

function bounded(reply: ToolReply, { bytes }: ProcessRequest): Pick<ProcessOutcome, 'reply' | 'notes'> {
  if (reply.type !== 'success') return { reply, notes: [] }
  const { content, cut } = boundContent(reply.content, bytes)
  return { reply: { type: 'success', content }, notes: cut === undefined ? [] : [cut] }
}
