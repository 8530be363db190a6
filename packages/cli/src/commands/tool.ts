import { explainPolicies, listTools, viewTool } from '@cordon/host'
import type { Register } from '../command.ts'
import { formatViews } from '../format/policies.ts'
import { formatTools, formatView } from '../format/tool.ts'
import { type CommonOptions, withCommonOptions } from '../options.ts'
import { compileQuietly, installation, openProject } from '../project.ts'
import { writeJson } from '../report.ts'
import { registerRun } from './tool-run.ts'

export const register: Register = (parser, world) => {
  registerRun(parser, world)

  withCommonOptions(parser.command('ls').description('list the tools there are')).action(
    async (options: CommonOptions) => {
      const { loaded } = await openProject(world, options)
      const tools = listTools(loaded.config)
      if (options.json) writeJson(world, tools)
      else {
        world.out.write(formatTools(tools, world.out))
        const servers = Object.keys(loaded.config.providers.mcp).length
        if (servers > 0)
          world.err.write(
            `and the tools of ${servers} MCP ${servers === 1 ? 'server' : 'servers'}, for \`cordon query\` and \`cordon mcp serve\`: see \`cordon mcp ls\`\n`,
          )
      }
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
      if (options.json) writeJson(world, { ...view, policy: policy[0]?.holdings ?? null })
      else
        world.out.write(formatView(view, world.out) + formatViews(policy, world.out, { guarded: 'counted' }))
    })
}
