import { fileURLToPath } from 'node:url'
import {
  executeTool,
  explainPolicies,
  type Installation,
  listTools,
  NotRunnableError,
  prepareTool,
  type ToolOutcome,
  type ToolView,
  viewTool,
} from '@cordon/host'
import { CordonError, show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { EXIT } from '../exit.ts'
import { formatViews } from '../format/policies.ts'
import { contentBytes, formatFailure, formatTools, runText, warningsOf } from '../format/tool.ts'
import { type CommonOptions, withCommonOptions } from '../options.ts'
import { compileQuietly, openProject } from '../project.ts'
import { warn } from '../report.ts'
import type { Stream, World } from '../world.ts'

export const register: Register = (parser, world) => {
  registerRun(parser, world)

  withCommonOptions(parser.command('ls').description('list the tools there are')).action(
    async (options: CommonOptions) => {
      const { loaded } = await openProject(world, options)
      const tools = listTools(loaded.config)
      world.out.write(
        options.json ? `${JSON.stringify(tools, undefined, 2)}\n` : formatTools(tools, world.out),
      )
    },
  )

  withCommonOptions(parser.command('show').description('show one tool: its arguments, command and policy'))
    .argument('<name>', 'a tool')
    .action(async (name: string, options: CommonOptions) => {
      const project = await openProject(world, options)
      const view = viewTool(project.loaded.config, name, installation(world))
      const policies = await compileQuietly(world, project)
      // A builtin tool runs inside Cordon and has no policy of its own.
      const policy = view.source === 'builtin' ? [] : explainPolicies(project, policies, world, name)
      world.out.write(
        options.json
          ? `${JSON.stringify({ ...view, policy: policy[0]?.holdings ?? null }, undefined, 2)}\n`
          : formatView(view, world.out) + formatViews(policy, world.out),
      )
    })
}

interface RunOptions extends CommonOptions {
  readonly args: string
}

const registerRun: Register = (parser, world) => {
  withCommonOptions(parser.command('run').description('run a tool once, under its own policy'))
    .argument('<name>', 'a tool')
    .option('--args <json>', 'its arguments, a JSON object; - reads them from standard input', '{}')
    .action(async (name: string, options: RunOptions) => {
      const project = await openProject(world, options)
      const { pid, uid, home, session, env } = world
      const compiler = { pid, uid, home, session, person: world.person }
      const prepared = await prepareOrRefuse(
        () => prepareTool(project, name, compiler, installation(world)),
        world,
      )
      if (!prepared) return
      warn(world, prepared.warnings)
      const { root, workspace, loaded } = project
      const cancel = new AbortController()
      let by: NodeJS.Signals | undefined
      const given = await readArguments(options.args, world)
      const stop = world.onInterrupt((signal) => {
        by = signal
        cancel.abort()
      })
      const outcome = await executeTool(
        {
          tool: prepared.tool,
          arguments: given,
          policy: prepared.policy,
          answers: {
            configured: prepared.tool.config.questions,
            respondent: options.args === '-' ? undefined : world.respondent,
          },
          signal: cancel.signal,
        },
        {
          root,
          home,
          env,
          sandbox: loaded.config.sandbox,
          workspaceId: workspace.id,
          ...(prepared.journalKey === undefined ? {} : { journalKey: prepared.journalKey }),
        },
      )
      stop()
      print(outcome, options, world)
      if (by) world.dieBy(by)
    })
}

/** What cannot be run here is a no (exit 1), not a wrong question (exit 2). */
async function prepareOrRefuse<T>(prepare: () => Promise<T>, world: World): Promise<T | undefined> {
  try {
    return await prepare()
  } catch (error) {
    if (!(error instanceof NotRunnableError)) throw error
    world.err.write(`${world.err.style('red', 'cordon:')} ${error.message}\n`)
    world.finish(EXIT.denied)
    return undefined
  }
}

/** Decision 0104: the bundle lies beside this one. */
const installation = ({ node }: World): Installation => ({
  node,
  tools: fileURLToPath(new URL('./tools.cjs', import.meta.url)),
})

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

/** Content on standard output; why there is none on standard error. */
function print(outcome: ToolOutcome, { json }: RunOptions, world: World): void {
  const { reply, notes } = outcome
  warn(world, warningsOf(outcome))
  if (json) world.out.write(`${JSON.stringify({ ...reply, notes }, undefined, 2)}\n`)
  else if (reply.type === 'success') world.out.write(contentBytes(reply.content, world.out))
  if (reply.type === 'error')
    world.err.write(`${world.err.style('red', 'cordon:')} ${formatFailure(outcome, world.err)}`)
  world.finish(reply.type === 'success' ? EXIT.ok : EXIT.denied)
}

function formatView(view: ToolView, { style }: Pick<Stream, 'style'>): string {
  const { name, source, run, enabled, description, command, parameters } = view
  const lines = [
    `${style('bold', name)}${description === undefined ? '' : `: ${show(description)}`}`,
    `  source:    ${source}${enabled ? '' : ' (disabled)'}`,
    `  run mode:  ${runText(run)}`,
    ...(command === undefined ? [] : [`  command:   ${JSON.stringify(command)}`]),
    ...(parameters === undefined
      ? []
      : [
          '  arguments:',
          ...JSON.stringify(parameters, undefined, 2)
            .split('\n')
            .map((line) => `    ${line}`),
        ]),
  ]
  return `${lines.join('\n')}\n\n`
}
