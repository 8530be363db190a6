import { NotRunnableError, sandboxOff, Stopper, type ToolOutcome, ToolSession } from '@cordon/host'
import { CordonError, show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { contentBytes, formatFailure, plain, toldJson, warningsOf } from '../format/tool.ts'
import { type CommonOptions, withCommonOptions } from '../options.ts'
import { installation, openProject } from '../project.ts'
import { EXIT, warn, writeJson } from '../report.ts'
import type { World } from '../world.ts'

/** In which ways this start has gone (decision 0148). */
export const ways = new Set<'files' | 'succeeds' | 'fails'>()

/**
 * Of an answer by a program that a configuration put in the place of a shipped tool. Names that all have one hash take V8 a
 * time that grows with their square: for so many it is a seventh of a second (decision 0435).
 */
const MOST_STRINGS = 5000

interface RunOptions extends CommonOptions {
  readonly args: string
}

/** `cordon tool run`, also as a program of its own (main-tool.ts). */
export const registerRun: Register = (parser, world) => {
  withCommonOptions(parser.command('run').description('run a tool once, under its own policy'))
    .argument('<name>', 'a tool')
    .option('--args <json>', 'its arguments, a JSON object; - reads them from standard input', '{}')
    .action(async (name: string, options: RunOptions) => {
      const { env } = world
      // One call is all there will be: it has a process of its own.
      const tools = new ToolSession({
        project: async () => {
          const project = await openProject(world, options)
          warn(world, sandboxOff(project.loaded, 'tools and servers run'))
          if (project.sources.some((source) => 'text' in source)) ways.add('files')
          return project
        },
        compiler: world, // as it is: most of what is known of a process costs a look, and few calls need it
        env,
        installation: installation(world),
        workers: 'none',
        mostStrings: world.hashesAreKnown ? MOST_STRINGS : undefined,
      })
      const given = await readArguments(options.args, world)
      const cancel = new Stopper()
      let by: NodeJS.Signals | undefined
      let stop = (): void => undefined
      const call = tools.call(name, given, {
        respondent: options.args === '-' ? undefined : world.respondent,
        signal: cancel,
        beforeStart: (warnings) => {
          warn(world, warnings)
          stop = world.onInterrupt((signal) => {
            by = signal
            cancel.abort()
          })
        },
      })
      const outcome = await orRefuse(call, world)
      stop()
      const code = outcome && print(outcome, options, world)
      if (by) world.dieBy(by)
      else if (code !== undefined) world.end(code)
    })
}

/** What cannot be run here is a no (exit 1), not a wrong question (exit 2). */
async function orRefuse<T>(call: Promise<T>, world: World): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof NotRunnableError)) throw error
    world.err.write(`${world.err.style('red', 'cordon:')} ${error.message}\n`)
    world.finish(EXIT.denied)
    return undefined
  }
}

class ArgsError extends CordonError {
  readonly code = 'ARGS'
}

async function readArguments(text: string, world: World): Promise<unknown> {
  const json = text === '-' ? await world.readInput() : text
  try {
    return JSON.parse(json)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ArgsError(`--args is not JSON: ${show(why)}\n  fix: --args '{"path": "README.md"}'`)
  }
}

/** Content on standard output; why there is none on standard error. Returns what to end with. */
function print(outcome: ToolOutcome, { json }: RunOptions, world: World): number {
  const { reply, deniedAt } = outcome
  warn(world, warningsOf(outcome))
  const where = deniedAt === undefined ? {} : { denied_at: deniedAt }
  if (json) writeJson(world, { ...reply, ...toldJson(outcome), ...where })
  else if (reply.type === 'success') {
    world.out.write(contentBytes(reply.content, world.out))
    if (reply.stderr !== undefined) world.err.write(world.err.isTerminal ? plain(reply.stderr) : reply.stderr)
  }
  if (reply.type === 'error')
    world.err.write(`${world.err.style('red', 'cordon:')} ${formatFailure(outcome, world.err)}`)
  ways.add(reply.type === 'success' ? 'succeeds' : 'fails')
  return reply.type === 'success' ? EXIT.ok : EXIT.denied
}
