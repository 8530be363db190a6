import {
  type AccessFlags,
  choosePolicy,
  type ConversationChoice,
  type PolicyChoice,
  readChosenLayer,
  runConfined,
  type RunOutcome,
  takeAmbientReport,
} from '@cordon/host'
import { type ConfigOptions, choiceOf as chosenConversation } from './config-options.ts'
import { formatOutcome } from './format/outcome.ts'
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
  const { cwd, env, home, pid, uid } = world
  const place = { cwd, surroundings: world, cfg: options.cfg, unmarked: 'allow' } as const
  const conversation = await readChosenLayer(place, world, conversationOf(options))
  const report = takeAmbientReport(env)
  // Started again after the command has ended: everything was asked and said before.
  const compiler = report === undefined ? world : { pid, uid, home, session: '', person: undefined }
  const chosen = await choosePolicy({ ...place, conversation }, compiler, choiceOf(options), options)
  if (report === undefined) warn(world, [...chosen.alarms, ...(options.quiet ? [] : chosen.warnings)])
  const { root, loaded } = chosen.project
  const outcome = await runConfined({
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
      beforeLeaving: world.beforeLeaving,
      wanted: options.quiet ? 'unless-started' : 'unless-succeeded',
      report,
    },
  })
  if (!options.quiet) world.err.write(formatOutcome(outcome, world.err))
  finish(world, outcome)
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
function finish(world: World, { exit }: RunOutcome): void {
  if (exit.signal) world.dieBy(exit.signal)
  else world.finish(exit.code ?? 1)
}
