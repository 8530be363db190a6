import { explainPolicies, isOfProfile, type PolicyView } from '@cordon/host'
import type { Register } from '../command.ts'
import { formatViews } from '../format/policies.ts'
import { type CommonOptions, type ConfigOptions, withCommonOptions, withConfigOptions } from '../options.ts'
import { compileAsking, compileQuietly, openProjectAnywhere } from '../project.ts'
import { warn, writeJson } from '../report.ts'
import { needsOf, viewProfile } from '../run-command.ts'
import type { World } from '../world.ts'

export const register: Register = (parser, world) => {
  withCommonOptions(parser.command('explain').description('show every rule of a policy, and who holds it'))
    .argument(
      '[name]',
      'a tool, an MCP server or a profile, also a shipped one; all that are configured when left out',
    )
    .action(async (name: string | undefined, options: CommonOptions) => {
      const views = await viewsOf(world, name, options)
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

async function viewsOf(
  world: World,
  name: string | undefined,
  options: CommonOptions,
): Promise<readonly PolicyView[]> {
  const project = await openProjectAnywhere(world, options, name === undefined ? 'files' : needsOf(name))
  if (name !== undefined && isOfProfile(undefined, name, project, world))
    return [await viewProfile(world, name, options)]
  const policies = await compileQuietly(world, project)
  warn(world, policies.warnings)
  const views = explainPolicies(project, policies, world, name)
  if (name !== undefined) return views
  const profiles = Object.keys(project.loaded.config.profiles).filter((each) =>
    isOfProfile(undefined, each, project, world),
  )
  const whole = await Promise.all(profiles.map((each) => viewProfile(world, each, options)))
  return views.map((view) => whole.find(({ subject }) => subject === view.subject) ?? view)
}
