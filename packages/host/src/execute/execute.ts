import type { GuardSurvey } from '../guard/survey.ts'
import type { SandboxConfig } from '@cordon/config'
import {
  type AccessPolicy,
  type Action,
  Context,
  CordonError,
  type FsDenial,
  FsIndex,
  type Origin,
  parseRelPath,
  type Root,
} from '@cordon/policy'
import type { StopSignal } from '@cordon/sandbox'
import {
  describeRecovery,
  parseArguments,
  type Placed,
  placesOf,
  recoverModifications,
  removeStaged,
  type ShownPath,
} from '@cordon/tools'
import type { Hint } from '../confine/hint.ts'
import type { ProgramEnd } from '../confine/program.ts'
import type { JournalKeys, ToldKeys } from './journal-keys.ts'
import { loadPatternTest } from './patterns.ts'
import { expandCommand } from './placeholders.ts'
import { type ProcessOutcome, type ProcessRequest, runProcess } from './process.ts'
import { type Answer, answerQuestion, type AnswerSources } from './questions.ts'
import { failure, type ToolReply } from './result.ts'
import type { Told } from './told.ts'
import type { LocalTool } from './tool.ts'
import { touchedBy } from './touched.ts'
import type { Workers } from '../worker/workers.ts'

/** Where and under what a tool runs. */
export interface ToolWorld {
  readonly root: Root
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly sandbox: SandboxConfig
  /** This user's own place for the workspace. */
  readonly unfinished: string
  /** They seal the journals of `fs_modify_file`; no other tool is told of them. */
  readonly journalKeys?: JournalKeys
  readonly workspaceId?: string
  readonly conversationId?: string
  /** How many strings the answer of a tool that is not ours may have; undefined: any number. */
  readonly mostStrings?: number
  /** Where the shipped tools find a process that is there already; without, each call has its own. */
  readonly workers?: Workers
}

export interface ToolCall {
  readonly tool: LocalTool
  readonly arguments: unknown
  /** SPEC 1.9: the compiled policy; the kernel and the tool itself get the same one, unless there is a boundary. */
  readonly policy: AccessPolicy
  /** SPEC 4.12: what the kernel holds instead, where the tool is ours and changes files. */
  readonly boundary?: AccessPolicy | undefined
  readonly guard?: GuardSurvey | undefined
  /** What the tool is told of it, where that is known from an earlier call under the same policy. */
  readonly context?: Context
  readonly answers: AnswerSources
  /** SPEC 4.9: where a search of ours does not look: patterns of `secretTest`. */
  readonly notSearched?: readonly string[]
  /** What a person was shown, if one was asked: a shipped tool does it so or not at all (decision 0408). */
  readonly shown?: readonly ShownPath[] | undefined
  /** SPEC 1.9. Default: `run`. */
  readonly action?: Action
  /** Aborting kills the tool and everything it started. */
  readonly signal?: StopSignal
}

/** What came of a call that was made, before anybody looked for what would have helped. */
export interface ExecutedCall {
  readonly reply: Exclude<ToolReply, { type: 'needs_input' }>
  /** True when somebody stopped it, rather than the tool itself. */
  readonly cancelled: boolean
  readonly notes: readonly string[]
  /** How the last process ended, with what was new after each; undefined when none was started. */
  readonly end: ProgramEnd | undefined
  /** Where the rule stands that refused, when the tool says that one did. */
  readonly deniedAt: Origin | undefined
  /** SPEC 4.7: guesses why it failed; none when it is known exactly. */
  readonly guesses: readonly Hint[]
}

/** What came of a call, and what the host noticed. */
export interface ToolOutcome extends Omit<ExecutedCall, 'guesses'> {
  readonly hints: readonly Told[]
  /** What is known, and told to the person alone. */
  readonly forPerson: readonly Told[]
}

/** Somebody waits for a question that needs an answer. */
const FORMAT_SECONDS = 10

/** A tool that asks again and again is not going to stop. */
const MOST_ROUNDS = 16

/**
 * SPEC 6.5: one call, from arguments to result. Throws for arguments that do not fit (ParseError) and a tool that is
 * configured wrongly; whatever happens once it runs is an outcome.
 */
export async function executeTool(call: ToolCall, world: ToolWorld): Promise<ExecutedCall> {
  const { tool } = call
  const args = parseArguments(tool.parameters, call.arguments, await loadPatternTest(tool.parameters))
  const answers: Record<string, Answer> = {}
  let asked: Input['asked']
  let ran: ProcessOutcome | undefined
  for (let round = 1; ; round++) {
    ran = withEarlier(await runOnce(call, world, { arguments: args, answers, asked }), ran?.end)
    if (ran.reply.type !== 'needs_input') return outcomeOf(ran, ran.reply, call, world)
    if (round === MOST_ROUNDS)
      return outcomeOf(
        ran,
        failure(`the tool asked ${MOST_ROUNDS} questions and still has no result`),
        call,
        world,
      )
    const { question } = ran.reply
    const answered = await answerQuestion(tool.name, question, call.answers)
    if (answered.kind === 'unanswered') return outcomeOf(ran, failure(answered.why), call, world)
    answers[question.id] = answered.answer
    asked = { ...asked, [question.id]: question.text }
  }
}

/** A process that asked a question has ended as well: what was new by then is told with the rest (SPEC 4.10). */
function withEarlier(ran: ProcessOutcome, earlier: ProgramEnd | undefined): ProcessOutcome {
  if (!earlier || !ran.end) return { ...ran, end: ran.end ?? earlier }
  const { exit } = ran.end
  const noticed = {
    createdDenied: [...earlier.exit.createdDenied, ...exit.createdDenied],
    changed: [...new Set([...earlier.exit.changed, ...exit.changed])],
    appeared: [...new Set([...earlier.exit.appeared, ...exit.appeared])],
  }
  return { ...ran, end: { ...ran.end, exit: { ...exit, ...noticed } } }
}

interface Input {
  readonly arguments: Readonly<Record<string, unknown>>
  readonly answers: Readonly<Record<string, Answer>>
  /** In which words, by the question's id; undefined: nothing was. */
  readonly asked: Readonly<Record<string, string>> | undefined
}

async function runOnce(call: ToolCall, world: ToolWorld, input: Input): Promise<ProcessOutcome> {
  const { tool, policy, boundary, guard, signal } = call
  const { root, home, env, sandbox, unfinished } = world
  const told = contextOf(call, world)
  const keys = keysFor(call, world, input)
  const placed = keys?.own === undefined ? [] : placesOf(told, pathsOf(call, input))
  const { value: context, text: saidOfPolicy } = written(told)
  const data = { context, tool: calledTool(call, world, input, keys) }
  const request: ProcessRequest = {
    argv: expandCommand(tool.command, data),
    stdin: `${saidOfPolicy}"tool":${JSON.stringify(data.tool)}}`,
    saidOfPolicy,
    cwd: root.path,
    root,
    home,
    env,
    policy,
    boundary,
    guard,
    sandbox,
    unfinished,
    own: tool.own,
    network: connects(tool, policy) ? undefined : 'none',
    seconds: call.action === 'format_arguments' ? FORMAT_SECONDS : tool.config.timeout_secs,
    bytes: tool.config.max_output_bytes,
    mostStrings: tool.shipped ? undefined : world.mostStrings,
    signal,
  }
  const ran = (await world.workers?.run(tool, request)) ?? (await runProcess(request))
  const { closed, ...reply } = ran.reply
  if (!keys) return { ...ran, reply }
  return { ...ran, reply: await settled({ reply, closed, placed }, keys, call, world) }
}

/** A key is made, and kept, only for a call that can need a journal: one that names several files. */
function keysFor(call: ToolCall, { journalKeys }: ToolWorld, input: Input): ToldKeys | undefined {
  const { tool, action = 'run' } = call
  if (!hasJournal(tool) || action !== 'run') return undefined
  return journalKeys?.begin(pathsOf(call, input).length > 1 ? 'own' : 'none')
}

const pathsOf = ({ tool }: ToolCall, input: Input): readonly string[] => [
  ...new Set(touchedBy(tool.name, input.arguments).map(({ path }) => path)),
]

/** Of our own tools only `unix_utils` starts programs that are not ours; the others connect to nothing. */
const connects = ({ shipped, name }: LocalTool, { net }: AccessPolicy): boolean =>
  !shipped || name === 'unix_utils' || net.some(({ allow }) => allow)

const hasJournal = ({ name, shipped }: LocalTool): boolean => shipped && name === 'fs_modify_file'

interface Ended {
  readonly reply: ToolReply
  /** Undefined: it was ended before it could say. */
  readonly closed: readonly string[] | undefined
  /** What it was to change, and where that was before it ran. */
  readonly placed: readonly Placed[]
}

/**
 * SPEC 4.12: what a tool had decided and not finished is finished before anything is reported. Then nothing is left that
 * its key opens, and the key goes too (decision 0446).
 */
async function settled(
  { reply, closed = [], placed }: Ended,
  { own, open, left }: ToldKeys,
  call: ToolCall,
  world: ToolWorld,
): Promise<ToolReply> {
  const forget = (ids: readonly string[]): void => world.journalKeys?.forget(ids)
  forget(closed.filter((id) => Object.hasOwn(open, id)))
  // It has looked wherever it may for what a killed host left: what it did not find then, nobody will.
  if (reply.type === 'success') forget(left)
  if (own === undefined || closed.includes(own)) return reply
  const only = { own, open: { [own]: open[own] } }
  const context = contextOf(call, world)
  const said = await recoverModifications(context, only, 0).then(
    (recovery) => {
      removeStaged(context, own, placed)
      forget([own])
      return describeRecovery(recovery, 'The change')
    },
    (error: unknown) => {
      if (!(error instanceof CordonError)) throw error
      return [error.message]
    },
  )
  return reply.type === 'error' ? { ...reply, message: [reply.message, ...said].join('\n') } : reply
}

/** SPEC 1.9 and 6.5: what goes to standard input, and what placeholders name, beside the context. */
const calledTool = (
  { tool, notSearched, shown }: ToolCall,
  world: ToolWorld,
  { asked, ...input }: Input,
  keys: ToldKeys | undefined,
): Readonly<Record<string, unknown>> => ({
  name: tool.name,
  ...input,
  // For our own alone, which hold themselves to it.
  ...(tool.shipped ? { asked, shown } : {}),
  options: { ...tool.config.options, ...hostOptions(tool, world, notSearched, keys) },
})

interface Written {
  readonly value: Readonly<Record<string, unknown>>
  readonly text: string
}

/** As it goes to the tool, written once for all calls that are told the same: how its standard input begins. */
function written(context: Context): Written {
  const known = texts.get(context)
  if (known) return known
  const value = context.toJSON()
  const fresh = { value, text: `{"context":${JSON.stringify(value)},` }
  texts.set(context, fresh)
  return fresh
}

const texts = new WeakMap<Context, Written>()

function contextOf({ policy, context, action = 'run' }: ToolCall, world: ToolWorld): Context {
  const told = context ?? contextFor(policy, world)
  return action === 'run' ? told : new Context({ ...told.data, action })
}

export const contextFor = (
  access: AccessPolicy,
  { root, workspaceId, conversationId }: Pick<ToolWorld, 'root' | 'workspaceId' | 'conversationId'>,
): Context =>
  new Context({
    root: root.path,
    action: 'run',
    access,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ...(conversationId === undefined ? {} : { conversationId }),
  })

/** What our own tools are told beside their settings; nothing in a configuration can claim it. */
const hostOptions = (
  { name, shipped }: LocalTool,
  { sandbox }: ToolWorld,
  notSearched: readonly string[] = [],
  keys?: ToldKeys,
): Record<string, unknown> =>
  shipped
    ? {
        confined: sandbox.mode === 'enforce',
        ...(name === 'fs_grep_files' ? { not_searched: notSearched } : {}),
        ...(name === 'fs_modify_file' ? { journal_keys: keys } : {}),
      }
    : {}

/** SPEC 4.7: why it failed, exactly where it is known, as a guess where it is not. */
function outcomeOf(
  { notes, cancelled, end, stderr }: ProcessOutcome,
  reply: ToolOutcome['reply'],
  { policy }: ToolCall,
  { root }: ToolWorld,
): ExecutedCall {
  const { message, denied } = reply.type === 'error' ? reply : { message: '' }
  const said = message.includes(stderr.trim()) ? message : `${message}\n${stderr}`
  return {
    reply,
    notes,
    cancelled,
    end,
    deniedAt: denied && governing(denied.target, policy, root).rule?.origin,
    // A tool that said exactly what was refused leaves nothing to guess.
    guesses: message === '' || denied ? [] : (end?.hints(said) ?? []),
  }
}

/**
 * The rule that a self-checking tool was refused by (SPEC 1.4), and those that grant. Origins do not cross the wire: the host
 * says where the rule stands.
 */
export function governing(
  target: string,
  { fs }: AccessPolicy,
  { foldCase }: Root,
): Pick<FsDenial, 'rule' | 'grants'> {
  const index = new FsIndex(fs, foldCase)
  try {
    return { rule: index.governing(parseRelPath(target)), grants: index.granting }
  } catch {
    return { rule: undefined, grants: index.granting } // not a path, so not one of ours
  }
}
