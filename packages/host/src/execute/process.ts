import { CordonError, show } from '@cordon/policy'
import { isKernelRefusal, LaunchError, probeKernel, Stopper } from '@cordon/sandbox'
import type { Confinement, ProgramEnd } from '../confine/program.ts'
import { askConfined } from '../confine/start.ts'
import { boundContent, Head, type Kept, Tail, tailOf } from './output.ts'
import { failure, looksLikeAnswer, parseReply, type ToolReply } from './result.ts'

/** What is started, what it is told, and how long and how much it may answer. */
export interface ProcessRequest extends Confinement {
  readonly stdin: string
  /** How that begins: all that is said of the policy, and so the same for every call under it. */
  readonly saidOfPolicy: string
  readonly seconds: number
  readonly bytes: number
  /** How many strings its answer may have; undefined: any number. */
  readonly mostStrings?: number | undefined
}

/** One run of one process, understood. */
export interface ProcessOutcome {
  readonly reply: ToolReply
  /** What is odd about the output. */
  readonly notes: readonly string[]
  /** True when somebody stopped it, rather than the tool itself. */
  readonly cancelled: boolean
  /** It was ended, by us or by a signal, and did not finish by itself. */
  readonly killed: boolean
  /** Undefined: nothing was started. */
  readonly end: ProgramEnd | undefined
  /** The last part of its error output. */
  readonly stderr: string
}

/** Never leaves anything running: a timeout, a cancelled call and endless output end it with all it started. */
export async function runProcess(request: ProcessRequest): Promise<ProcessOutcome> {
  try {
    return await runOn(request)
  } catch (error) {
    if (!isKernelRefusal(error)) throw error
    // Nothing ran yet. Now it is known what this kernel cannot do, and the plan does without it or refuses.
    return runOn({ ...request, kernel: probeKernel() })
  }
}

async function runOn(request: ProcessRequest): Promise<ProcessOutcome> {
  if (request.signal?.aborted) return cancelledBefore(request)
  const ending = new Stopper()
  using stop = new Stop(request, () => ending.abort())
  try {
    const stdout = new Head(rawLimits(request.bytes), () => stop.now('output'))
    const stderr = new Tail(STDERR_KEPT)
    const exchange = { input: request.stdin, onOutput: stdout.add, onErrors: stderr.add }
    const end = await askConfined({ ...request, signal: ending }, exchange)
    const reply = understand(stdout.kept, stderr, end, stop.reason, request)
    const killed = stop.reason !== undefined || end.exit.signal !== null
    return { ...reply, end, stderr: stderr.text, cancelled: stop.reason === 'cancelled', killed }
  } catch (error) {
    // The program is not there, or the sandbox could not be built: the call failed, and says so exactly.
    if (isKernelRefusal(error) && !request.kernel) throw error
    const refused = error instanceof LaunchError ? error.errno : isRefusedSpawn(error) ? error.code : ''
    const why = SPAWN[refused] ?? (error instanceof CordonError ? undefined : refused)
    if (why) return notStarted(failure(`cannot start ${show(request.argv[0])}: ${why}`))
    if (error instanceof CordonError) return notStarted(failure(error.message))
    throw error
  }
}

export const cancelledBefore = (request: ProcessRequest): ProcessOutcome => ({
  ...notStarted(failure(WHY.cancelled(request))),
  cancelled: true,
})

/** What ends a call from outside; the first reason is the one that counts. */
export class Stop implements Disposable {
  readonly #timer: NodeJS.Timeout
  readonly #request: Pick<ProcessRequest, 'seconds' | 'signal'>
  readonly #stopped: () => void
  readonly #cancel = (): void => this.now('cancelled')
  reason: StopReason | undefined

  constructor(request: Pick<ProcessRequest, 'seconds' | 'signal'>, stopped: () => void) {
    this.#request = request
    this.#stopped = stopped
    this.#timer = setTimeout(() => this.now('timeout'), Math.min(request.seconds * 1000, LONGEST_TIMER))
    request.signal?.addEventListener('abort', this.#cancel, { once: true })
  }

  now(why: StopReason): void {
    this.reason ??= why
    this.#stopped()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#request.signal?.removeEventListener('abort', this.#cancel)
  }
}

/** What the kernel says before there is a process; it says the same inside the sandbox. */
const isRefusedSpawn = (error: unknown): error is Error & { readonly code: string } =>
  error instanceof Error &&
  'syscall' in error &&
  String(error.syscall).startsWith('spawn') &&
  'code' in error &&
  typeof error.code === 'string'

const SPAWN: Readonly<Record<string, string>> = {
  E2BIG: 'its command line is too long; a tool can read long arguments from standard input',
  EAGAIN: 'there are too many processes',
}

export type StopReason = 'timeout' | 'cancelled' | 'output'

/** Beyond this, a timer of Node's fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1
export const STDERR_KEPT = 64 * 1024
/** Above what a tool wrote there, in its result. */
export const STANDARD_ERROR = 'standard error'
/** Of the error output of a tool that was stopped, in its result. */
const SAID_SHOWN = 4096

const WHY: Record<StopReason, (request: ProcessRequest) => string> = {
  timeout: ({ seconds }) => `the tool was stopped after ${seconds} s (timeout_secs)`,
  cancelled: () => 'the call was cancelled',
  output: ({ bytes }) =>
    `the tool was stopped: its answer is far larger than ${bytes} bytes (max_output_bytes)`,
}

const notStarted = (reply: ToolReply): ProcessOutcome => ({
  reply,
  notes: [],
  cancelled: false,
  killed: false,
  end: undefined,
  stderr: '',
})

/** JSON may write one byte of content in six. So six times the bound is read, and then the content itself is bounded. */
export const rawLimits = (most: number): { readonly keep: number; readonly most: number } => ({
  keep: 6 * most + 64 * 1024,
  most: 6 * most + 64 * 1024 * 1024,
})

type Understood = Pick<ProcessOutcome, 'reply' | 'notes'>

function understand(
  kept: Kept,
  errors: Tail,
  { exit }: ProgramEnd,
  stopped: StopReason | undefined,
  request: ProcessRequest,
): Understood {
  const stdout = kept.bytes
  const stderr = errors.text
  const { mostStrings } = request
  switch (stopped) {
    case undefined:
      return bounded(
        parseReply({ stdout, stderr, code: exit.code, signal: exit.signal, mostStrings }),
        kept,
        errors.total,
        request,
      )
    case 'output':
      // The beginning of endless text is of use; an answer in JSON that was cut cannot be understood.
      if (!beginsAsAnswer(stdout))
        return bounded(parseReply({ stdout, stderr, code: 0, signal: null }), kept, errors.total, request)
      return { reply: failure(WHY.output(request)), notes: [] }
    case 'timeout':
    case 'cancelled':
      return { reply: stoppedReply(stopped, stderr, request, printedBy(stdout, request)), notes: [] }
  }
}

/** SPEC 6.5: what was received is kept. Its last words often say what it was waiting for. */
export function stoppedReply(
  stopped: StopReason,
  stderr: string,
  request: ProcessRequest,
  printed = '',
): ToolReply {
  const why = WHY[stopped](request)
  const said = stderr.trim().slice(-SAID_SHOWN)
  if (printed === '') return failure(said === '' ? why : `${why}; it had said:\n${said}`)
  const rest = said === '' ? '' : `\n${STANDARD_ERROR}:\n${said}`
  return failure(`${why}; it had printed:\n${printed}${rest}`)
}

/** Half an answer in JSON is of no use to anybody. */
function printedBy(stdout: Buffer, { bytes }: ProcessRequest): string {
  if (beginsAsAnswer(stdout)) return ''
  const text = stdout.toString('utf8').trimEnd()
  return text.length <= bytes ? text : `${text.slice(0, bytes).toWellFormed()}…`
}

const beginsAsAnswer = (bytes: Buffer): boolean => looksLikeAnswer(bytes.toString('latin1', 0, 256))

/** Cuts what is too much, and says what else is odd about the output. */
function bounded(
  reply: ToolReply,
  { bytes, total }: Kept,
  errors: number,
  { bytes: most }: ProcessRequest,
): Understood {
  if (reply.type !== 'success') return { reply, notes: [] }
  const unread = total > bytes.length
  if (unread && beginsAsAnswer(bytes)) {
    return { reply: tooLong(total, most), notes: [] }
  }
  const { content, cut } = boundContent(reply.content, most)
  // Plain text that was not read to its end: then the figure is how much the tool wrote until it was stopped.
  const stopped = total > rawLimits(most).most ? ', and the tool was stopped' : ''
  const said = unread ? `output cut: ${most} of ${total} bytes kept (max_output_bytes)${stopped}` : cut
  const kept = Math.min(most, STDERR_KEPT)
  return {
    reply: {
      ...reply,
      content,
      ...(reply.stderr === undefined ? {} : { stderr: tailOf(reply.stderr, kept) }),
    },
    notes: [
      ...(said === undefined ? [] : [said]),
      ...(reply.stderr === undefined || errors <= kept
        ? []
        : [
            `${STANDARD_ERROR} cut: the last ${kept} of ${errors} bytes kept${kept === most ? ' (max_output_bytes)' : ''}`,
          ]),
      ...(isUtf8({ bytes, total }) ? [] : ['the output is not UTF-8: what is not was replaced by �']),
    ],
  }
}

export const tooLong = (total: number, most: number): ToolReply =>
  failure(`the tool's answer has ${total} bytes, too many to be read (max_output_bytes = ${most})`)

/** A cut may fall into the middle of a character: that is ours, not the tool's. */
function isUtf8({ bytes, total }: Kept): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: total > bytes.length })
    return true
  } catch {
    return false
  }
}
