import {
  type AccessFlags,
  choosePolicy,
  type ConversationChoice,
  type PolicyChoice,
  readChosenLayer,
  runConfined,
  type RunOutcome,
  seenIn,
  takeAmbientReport,
} from '@cordon/host'
import { type ConfigOptions, choiceOf as chosenConversation } from './config-options.ts'
import { warn } from './report.ts'
import type { World } from './world.ts'

export interface RunOptions extends AccessFlags, ConfigOptions {
  readonly tool?: string
  readonly profile?: string
  readonly quiet?: boolean
}

/** `cordon run` (SPEC 4.8), once its command line has been read. */
export async function runCommand(
  world: World,
  command: readonly [string, ...string[]],
  options: RunOptions,
): Promise<void> {
  const report = takeAmbientReport(world.env)
  const ended = report === undefined ? undefined : seenIn(report)
  try {
    const outcome = await run(world, command, options, report)
    if (!options.quiet) {
      const { formatOutcome } = await import('./format/outcome.ts')
      world.err.write(formatOutcome(outcome, world.err))
    }
    finish(world, outcome.exit)
  } catch (error) {
    // Whatever the command did to the configuration, or to the workspace, it ended as it did.
    if (!ended) throw error
    finish(world, ended)
  }
}

async function run(
  world: World,
  command: readonly [string, ...string[]],
  options: RunOptions,
  report: string | undefined,
): Promise<RunOutcome> {
  const { cwd, env, home, pid, uid } = world
  world.requireExactWords(command)
  const place = { cwd, surroundings: world, cfg: options.cfg, unmarked: 'allow' } as const
  const conversation = await readChosenLayer(place, world, conversationOf(options))
  // Started again after the command has ended: everything was asked and said before, and nothing will be run.
  const isOver = report !== undefined && seenIn(report) !== undefined
  const compiler = isOver ? { pid, uid, home, session: '', person: undefined } : world
  const chosen = await choosePolicy({ ...place, conversation }, compiler, choiceOf(options), options)
  if (report === undefined) warn(world, [...chosen.alarms, ...(options.quiet ? [] : chosen.warnings)])
  const { root, loaded } = chosen.project
  return runConfined({
    argv: command,
    cwd,
    root,
    home,
    env,
    policy: chosen.policy,
    sandbox: loaded.config.sandbox,
    // A program at a terminal must keep it: shells and progress bars ask whether stderr is one.
    // And where both streams are one, only the program itself keeps their order.
    stderr: () => (world.err.isTerminal || world.streamsAreOne ? 'inherit' : world.err.sink),
    onStart: (kill) => world.passSignals(kill),
    successor: {
      commandLine: world.commandLine,
      code: world.code,
      beforeLeaving: world.beforeLeaving,
      wanted: options.quiet ? 'unless-started' : 'unless-succeeded',
      report,
    },
  })
}

const choiceOf = ({ tool, profile }: RunOptions): PolicyChoice =>
  tool !== undefined
    ? { kind: 'tool', name: tool }
    : profile !== undefined
      ? { kind: 'profile', name: profile }
      : { kind: 'default' }

/** A tool's policy is the one it has in the conversation, with its mounts; a plain run has nothing to do with any. */
const conversationOf = (options: RunOptions): ConversationChoice =>
  options.id === undefined && choiceOf(options).kind === 'default' ? 'none' : chosenConversation(options)

/** The caller sees what it would have seen without us: the same code, or death by the same signal. */
function finish(world: World, { code, signal }: Pick<RunOutcome['exit'], 'code' | 'signal'>): void {
  if (signal) world.dieBy(signal)
  else world.finish(code ?? 1)
}
