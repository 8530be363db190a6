import {
  type AccessFlags,
  choosePolicy,
  type Chosen,
  type Compiler,
  type Confinement,
  type ConversationChoice,
  explainRun,
  type PolicyChoice,
  type PolicyView,
  readChosenLayer,
  runConfined,
  type RunOutcome,
  SHIPPED_NAMES,
  type TrustTerms,
} from '@cordon/host'
import { jsonText, show } from '@cordon/policy'
import {
  formatLosses,
  formatOutcome,
  formatRefusal,
  outcomeJson,
  stillThere,
  withWhy,
} from './format/outcome.ts'
import { formatViews } from './format/policies.ts'
import { type ConfigOptions, choiceOf as chosenConversation } from './options.ts'
import { personWhoLeaves } from './person.ts'
import { trustTerms } from './project.ts'
import { warn } from './report.ts'
import type { World } from './world.ts'

export interface RunOptions extends AccessFlags, ConfigOptions {
  readonly tool?: string
  readonly profile: readonly string[]
  readonly quiet?: boolean
  readonly here?: boolean
  readonly why?: boolean
  readonly jsonFd?: number
  /** What the program cannot start without, besides what it is granted. */
  readonly runtime?: (command: readonly [string, ...string[]], root: string) => readonly string[]
}

/** In which ways this start has gone: each needs code of its own (bin/cordon.cjs, decisions 0148 and 0490). */
export const ways = new Set<'files' | 'directories' | 'succeeds' | 'fails'>()

/** `cordon run` (SPEC 4.8), once its command line has been read. */
export async function runCommand(
  world: World,
  command: readonly [string, ...string[]],
  options: RunOptions,
): Promise<void> {
  const report = options.jsonFd === undefined ? undefined : world.openDescriptor(options.jsonFd)
  const { request, chosen } = await prepare(world, command, options)
  // A program at a terminal must keep it: shells and progress bars ask whether stderr is one.
  // And where both streams are one, only the program itself keeps their order.
  const isOwn = world.err.isTerminal || world.streamsAreOne
  const isHeard = !options.quiet || options.jsonFd !== undefined // the report has what --quiet keeps back
  const keepErrors = options.why === true || (isHeard && !isOwn)
  const keepOutput = options.why ? keptOutput(world) : undefined
  const sizeBefore = world.outputSize()
  let wasEnded = false
  world.leaveTerminalAlone()
  const outcome = await runConfined({
    ...request,
    keepErrors,
    keepOutput,
    isPipedInto: world.out.isTerminal && !world.inputIsTerminal,
    beforeStart: (told) => warn(world, formatLosses(told, options.quiet ?? false)),
    ...(options.quiet
      ? {}
      : {
          // What a program that fills the screen would not show is in the summary at the end.
          onRefused: (decision) => {
            if (!world.err.isTaken?.()) world.err.write(formatRefusal(decision, world.err))
          },
        }),
    onStart: (kill) =>
      world.passSignals((signal) => {
        wasEnded ||= signal === 'SIGINT' || signal === 'SIGTERM'
        kill(signal)
      }),
  })
  const told = options.quiet ? stillThere(outcome) : outcome
  wasEnded ||= outcome.exit.signal === 'SIGINT' && world.inputIsTerminal // typed: the terminal sent it, and nobody passed it on
  const said = { keepErrors, keepOutput, isWritten: world.outputSize() !== sizeBefore, wasEnded }
  const more =
    !hasFailed(outcome) || options.quiet || request.sandbox.mode === 'off'
      ? undefined
      : options.why
        ? nothingKnown(outcome, said)
        : isHeardInPart(outcome, command, said)
          ? `if the sandbox may be why, see more with: ${withWhy(world.argv)}`
          : undefined
  world.err.write(formatOutcome(told, world.err, more))
  report?.(`${JSON.stringify(outcomeJson(outcome, chosen.label))}\n`)
  ways.add(outcome.exit.code === 0 ? 'succeeds' : 'fails')
  // The caller sees what it would have seen without us: the same code, or death by the same signal.
  const { code, signal } = outcome.exit
  if (signal) world.dieBy(signal)
  else world.end(code ?? 1)
}

/**
 * `cordon run --show`: what the command would have, in the words of `policy explain`, and what `.` means there. Nothing is
 * started.
 */
export async function showRun(
  world: World,
  command: readonly [string, ...string[]],
  options: RunOptions,
): Promise<void> {
  const report = options.jsonFd === undefined ? undefined : world.openDescriptor(options.jsonFd)
  const { request, chosen } = await prepare(world, command, options, 'ask')
  const view = explainRun(request, chosen.label)
  const shown = formatViews([view], world.out, { all: '--show --json-fd 3 3>&1' })
  world.out.write(`workspace: ${show(request.root.path)}\n${shown}`)
  report?.(`${jsonText({ workspace: request.root.path, ...view })}\n`)
}

/** `cordon policy explain` of a profile that no file declares: what a run with it would have. */
export async function viewProfile(world: World, name: string, options: ConfigOptions): Promise<PolicyView> {
  const none = { read: [], write: [], execute: [], allowNet: [], env: [] }
  const { request, chosen } = await prepare(
    world,
    ['/bin/sh'],
    { ...options, ...none, profile: [name] },
    'ask',
  )
  return explainRun(request, chosen.label)
}

interface Prepared {
  readonly request: Confinement
  readonly chosen: Chosen
}

async function prepare(
  world: World,
  command: readonly [string, ...string[]],
  options: RunOptions,
  purpose: 'run' | 'ask' = 'run',
): Promise<Prepared> {
  const { cwd, env, home } = world
  world.requireExactWords(command)
  const choice = choiceOf(options)
  const place = {
    cwd,
    surroundings: world,
    cfg: options.cfg,
    trust: trustTerms(world, needsFiles(choice) ? 'files' : 'nothing'),
    unmarked: options.here ? 'here' : 'allow',
    quiet: options.quiet ?? false,
  } as const
  const conversation = await readChosenLayer(place, world, conversationOf(options))
  const chosen = await choosePolicy(
    { ...place, conversation },
    compilerOf(world),
    choice,
    options,
    purpose === 'ask' ? 'ask' : { program: command[0] },
  )
  warn(world, [...chosen.alarms, ...(options.quiet ? [] : chosen.warnings)])
  const { root, workspace, sources, guard } = chosen.project
  for (const source of sources)
    if ('text' in source) ways.add(source.layer === 'directory' ? 'directories' : 'files')
  const { policy, outside, replaced, sandbox } = chosen
  const { unfinished } = workspace
  const granted = { policy, outside, replaced, sandbox }
  const runtime = options.runtime?.(command, root.path) ?? []
  return { chosen, request: { argv: command, cwd, root, home, env, unfinished, runtime, guard, ...granted } }
}

/** Decision 0008: nothing is started for who presses Ctrl-C at a question; a no withholds what was asked about. */
const compilerOf = (world: World): Compiler => ({
  pid: world.pid,
  uid: world.uid,
  home: world.home,
  session: world.session,
  get person() {
    const ask = world.askLine
    return (
      ask &&
      personWhoLeaves(ask, () => {
        world.dieBy('SIGINT')
        return new Promise(() => {}) // where nobody lets us die by it, there is nothing left to do
      })
    )
  },
})

/** SPEC 2.1: without --tool and --profile nothing of what the files say is needed, nor for a profile that is shipped. */
const needsFiles = (choice: PolicyChoice): boolean =>
  choice.kind === 'tool' ||
  (choice.kind === 'profiles' && choice.names.some((name) => needsOf(name) === 'files'))

/** The same of one name, which may be a tool's. */
export const needsOf = (name: string): TrustTerms['needs'] =>
  SHIPPED_NAMES.includes(name) ? 'nothing' : 'files'

/** A program keeps the terminal that it prints to, where its errors go elsewhere. */
const keptOutput = ({ out, streamsAreOne }: World): 'with errors' | 'apart' | undefined =>
  streamsAreOne ? 'with errors' : out.isTerminal ? undefined : 'apart'

/** What of a command's streams was looked at, whether it wrote to a file that its output goes to, and whether somebody ended it. */
interface Heard {
  readonly keepErrors: boolean
  readonly keepOutput: ReturnType<typeof keptOutput>
  readonly isWritten: boolean
  readonly wasEnded: boolean
}

const nothingKnown = (outcome: RunOutcome, { keepOutput }: Heard): string | undefined =>
  isUnexplained(outcome)
    ? `nothing is known of the sandbox that would explain it${keepOutput ? '' : '; standard output was not looked at, and is with 2>&1'}`
    : undefined

/**
 * Whether `--why` may tell more. Where the errors were heard it does only of a command that hung, or that said something on its
 * output alone: one that finds nothing (`grep`) stays silent in scripts, and one that complained said it all.
 */
function isHeardInPart(
  outcome: RunOutcome,
  argv: readonly string[],
  { keepErrors, isWritten, wasEnded }: Heard,
): boolean {
  if (!keepErrors) return isUnexplained(outcome) || !isAll(outcome, argv)
  return isUnexplained(outcome) && (wasEnded || (isWritten && outcome.exit.said === ''))
}

/** It failed, or was ended by Ctrl-C or `timeout` because it hung. */
const hasFailed = ({ exit }: RunOutcome): boolean =>
  exit.code !== 0 && (exit.signal === null || exit.signal === 'SIGINT' || exit.signal === 'SIGTERM')

const isUnexplained = ({ refused, unreached, hints }: RunOutcome): boolean =>
  [refused, unreached, hints].every((found) => found.length === 0)

/**
 * Of a script, and of a program that asked for a host which nobody typed, what the command line explains need not be all. That
 * of one program is.
 */
const isAll = ({ refused }: RunOutcome, argv: readonly string[]): boolean =>
  !argv.some((word) => /\s/.test(word)) &&
  refused.every(({ host }) => argv.some((word) => word.includes(host)))

function choiceOf({ tool, profile: [first, ...more] }: RunOptions): PolicyChoice {
  if (tool !== undefined) return { kind: 'tool', name: tool }
  return first === undefined ? { kind: 'default' } : { kind: 'profiles', names: [first, ...more] }
}

/** A tool's policy is the one it has in the conversation, with its mounts; a plain run has nothing to do with any. */
const conversationOf = (options: RunOptions): ConversationChoice =>
  options.id === undefined && choiceOf(options).kind === 'default' ? 'none' : chosenConversation(options)
