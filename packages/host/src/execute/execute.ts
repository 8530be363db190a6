import { type AccessPolicy, Context, CordonError, type Origin, type Root } from '@cordon/policy'
import type { SandboxConfig } from '@cordon/config'
import { type ProgramEnd, startConfined } from '../confine.ts'
import type { Hint } from '../run/hints.ts'
import { parseArguments } from './arguments/validate.ts'
import { isExplained, originOfDenial } from './denial.ts'
import { boundContent, keepHead, keepTail } from './output.ts'
import { loadPatternTest } from './patterns.ts'
import { expandCommand } from './placeholders.ts'
import { type Answer, answerQuestion, type AnswerSources } from './questions.ts'
import { failure, parseReply, type ToolReply } from './result.ts'
import type { LocalTool } from './tool.ts'

/** Where and under what a tool runs. */
export interface ToolWorld {
  readonly root: Root
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly sandbox: SandboxConfig
  /** Seals the journals of `fs_modify_file`, which no other tool is told. */
  readonly journalKey?: string
  readonly workspaceId?: string
  readonly conversationId?: string
}

export interface ToolCall {
  readonly tool: LocalTool
  readonly arguments: unknown
  /** SPEC 1.9: the compiled policy; the kernel and the tool itself get the same one. */
  readonly policy: AccessPolicy
  readonly answers: AnswerSources
  /** Aborting kills the tool and everything it started. */
  readonly signal?: AbortSignal
}

/** What came of a call, and what the host noticed. */
export interface ToolOutcome {
  readonly reply: Exclude<ToolReply, { type: 'needs_input' }>
  /** True when somebody stopped it, rather than the tool itself. */
  readonly cancelled: boolean
  readonly notes: readonly string[]
  /** How the last process ended; undefined when none was started. */
  readonly end: ProgramEnd | undefined
  /** Where the rule stands that refused, when the tool says that one did. */
  readonly deniedAt: Origin | undefined
  /** SPEC 4.7: guesses why it failed; none when it is known exactly. */
  readonly hints: readonly Hint[]
}

/** A tool that asks again and again is not going to stop. */
const MOST_ROUNDS = 16

/**
 * SPEC 6.5: one call, from arguments to result. Throws for arguments that do not fit (ParseError) and a tool that is
 * configured wrongly; whatever happens once it runs is an outcome.
 */
export async function executeTool(call: ToolCall, world: ToolWorld): Promise<ToolOutcome> {
  const { tool } = call
  const args = parseArguments(tool.parameters, call.arguments, await loadPatternTest(tool.parameters))
  const answers: Record<string, Answer> = {}
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const run = await runOnce(call, world, { arguments: args, answers })
    if (run.reply.type !== 'needs_input') return { ...run, reply: run.reply }
    const { question } = run.reply
    const answered = await answerQuestion(tool.name, question, call.answers)
    if (answered.kind === 'unanswered') return { ...run, reply: failure(answered.why) }
    answers[question.id] = answered.answer
  }
  return nothingRan(failure(`the tool asked ${MOST_ROUNDS} questions and still has no result`))
}

const nothingRan = (reply: ToolOutcome['reply']): ToolOutcome => ({
  reply,
  cancelled: false,
  notes: [],
  end: undefined,
  deniedAt: undefined,
  hints: [],
})

interface Input {
  readonly arguments: Readonly<Record<string, unknown>>
  readonly answers: Readonly<Record<string, Answer>>
}

type Run = Omit<ToolOutcome, 'reply'> & { readonly reply: ToolReply }

async function runOnce(call: ToolCall, world: ToolWorld, input: Input): Promise<Run> {
  const { tool, policy } = call
  const data = callData(call, world, input)
  const argv = expandCommand(tool.command, data)
  if (call.signal?.aborted) return { ...nothingRan(failure(CANCELLED)), cancelled: true }
  const stop = new AbortController()
  let stopped: 'timeout' | 'cancelled' | 'output' | undefined
  const stopFor = (why: NonNullable<typeof stopped>) => (): void => {
    stopped ??= why
    stop.abort()
  }
  const cancel = stopFor('cancelled')
  const timer = setTimeout(stopFor('timeout'), tool.config.timeout_secs * 1000)
  call.signal?.addEventListener('abort', cancel, { once: true })
  try {
    const { root, home, env, sandbox } = world
    const program = await startConfined({
      argv,
      cwd: root.path,
      root,
      home,
      env,
      policy,
      sandbox,
      runtime: tool.runtime,
      signal: stop.signal,
    })
    const most = tool.config.max_output_bytes
    const stdout = keepHead(program.stdout, rawLimits(most), stopFor('output'))
    const stderr = keepTail(program.stderr, STDERR_KEPT)
    program.stdin.end(JSON.stringify(data))
    const end = await program.ended
    const { bytes, total } = stdout()
    const { code, signal } = end.exit
    const reply =
      stopped === undefined || (stopped === 'output' && !looksLikeAnswer(bytes))
        ? parseReply({
            stdout: bytes,
            stderr: stderr(),
            ...(stopped ? { code: 0, signal: null } : { code, signal }),
          })
        : failure(whyStopped(stopped, tool))
    return {
      ...bounded(reply, bytes, total, most),
      ...whyFailed(reply, end, stderr(), call, world),
      end,
      cancelled: stopped === 'cancelled',
    }
  } catch (error) {
    // The program is not there, or the sandbox could not be built: the call failed, and says so exactly.
    if (!(error instanceof CordonError)) throw error
    return nothingRan(failure(error.message))
  } finally {
    clearTimeout(timer)
    call.signal?.removeEventListener('abort', cancel)
  }
}

/** Exactly where it is known, as a guess where it is not, and nothing when nothing failed (SPEC 4.7). */
function whyFailed(
  reply: ToolReply,
  end: ProgramEnd,
  stderr: string,
  { policy }: ToolCall,
  { root }: ToolWorld,
): Pick<ToolOutcome, 'deniedAt' | 'hints'> {
  if (reply.type !== 'error') return { deniedAt: undefined, hints: [] }
  const { message } = reply
  return {
    deniedAt: originOfDenial(message, policy, root),
    hints: isExplained(message)
      ? []
      : end.hints(message.includes(stderr.trim()) ? message : `${message}\n${stderr}`),
  }
}

/** SPEC 1.9 and 6.5: what goes to standard input, and what placeholders name. */
function callData(
  { tool, policy }: ToolCall,
  world: ToolWorld,
  input: Input,
): Readonly<Record<string, unknown>> {
  const { root, workspaceId, conversationId } = world
  const context = new Context({
    root: root.path,
    action: 'run',
    access: policy,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ...(conversationId === undefined ? {} : { conversationId }),
  })
  return {
    context: context.toJSON(),
    tool: { name: tool.name, ...input, options: { ...tool.config.options, ...hostOptions(tool, world) } },
  }
}

/** What our own tools are told beside their settings; nothing in a configuration can claim it. */
const hostOptions = (
  { name, shipped }: LocalTool,
  { sandbox, journalKey }: ToolWorld,
): Record<string, unknown> =>
  shipped
    ? {
        confined: sandbox.mode === 'enforce',
        ...(name === 'fs_modify_file' && journalKey !== undefined ? { journal_key: journalKey } : {}),
      }
    : {}

/** JSON may need six bytes for one; so much is read before the content itself is bounded. */
const rawLimits = (most: number): { readonly keep: number; readonly most: number } => ({
  keep: 6 * most + 64 * 1024,
  most: 6 * most + 64 * 1024 * 1024,
})

const isEndless = (total: number, most: number): boolean => total > rawLimits(most).most

const STDERR_KEPT = 64 * 1024

const CANCELLED = 'the call was cancelled'

const whyStopped = (why: 'timeout' | 'cancelled' | 'output', { config }: LocalTool): string => {
  switch (why) {
    case 'timeout':
      return `the tool was stopped after ${config.timeout_secs} s (timeout_secs)`
    case 'cancelled':
      return CANCELLED
    case 'output':
      return `the tool was stopped: its answer is far larger than ${config.max_output_bytes} bytes (max_output_bytes)`
  }
}

const looksLikeAnswer = (bytes: Buffer): boolean =>
  /^\s*\{[^{}]{0,64}"type"\s*:\s*"(?:success|error|needs_input)"/.test(bytes.toString('latin1', 0, 256))

/** Cuts what is too much, and says what else is odd about the output. */
function bounded(
  reply: ToolReply,
  bytes: Buffer,
  total: number,
  most: number,
): { readonly reply: ToolReply; readonly notes: readonly string[] } {
  if (reply.type !== 'success') return { reply, notes: [] }
  if (total > bytes.length && looksLikeAnswer(bytes))
    return {
      reply: failure(
        `the tool's answer has ${total} bytes, too many to be read (max_output_bytes = ${most})`,
      ),
      notes: [],
    }
  const { content, cut } = boundContent(reply.content, most)
  // Plain text that was not even read to its end: then the figure is what the tool wrote.
  const said =
    total > bytes.length
      ? `output cut: ${most} of ${total} bytes kept (max_output_bytes)${isEndless(total, most) ? ', and the tool was stopped' : ''}`
      : cut
  return {
    reply: { type: 'success', content },
    notes: [
      ...(said === undefined ? [] : [said]),
      ...(isUtf8(bytes, total) ? [] : ['the output is not UTF-8: what is not was replaced by �']),
    ],
  }
}

/** A cut may fall into the middle of a character: that is ours, not the tool's. */
function isUtf8(bytes: Buffer, total: number): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: total > bytes.length })
    return true
  } catch {
    return false
  }
}
