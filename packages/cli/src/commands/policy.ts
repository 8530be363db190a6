import { explainPolicies } from '@cordon/host'
import type { Register } from '../command.ts'
import { formatViews } from '../format/policies.ts'
import { type CommonOptions, type ConfigOptions, withCommonOptions, withConfigOptions } from '../options.ts'
import { compileAsking, compileQuietly, openProjectAnywhere } from '../project.ts'
import { warn, writeJson } from '../report.ts'

export const register: Register = (parser, world) => {
  withCommonOptions(parser.command('explain').description('show every rule of a policy, and who holds it'))
    .argument('[name]', 'a tool, an MCP server or a profile; all of them when left out')
    .action(async (name: string | undefined, options: CommonOptions) => {
      const project = await openProjectAnywhere(world, options)
      const policies = await compileQuietly(world, project)
      warn(world, policies.warnings)
      const views = explainPolicies(project, policies, world, name)
      if (options.json) writeJson(world, views)
      else world.out.write(formatViews(views, world.out))
    })

  withConfigOptions(
    parser
      .command('compile')
      .description('compile every policy, and at a terminal ask about mounts that are not approved yet'),
  ).action(async (options: ConfigOptions) => {
    const project = await openProjectAnywhere(world, options)
    const policies = await compileAsking(world, project)
    warn(world, policies.warnings)
    world.out.write(`${policies.bySubject.size} policies compiled\n`)
  })
}
