import {
  type Change,
  changeSetting,
  configSchema,
  type EditableLayer,
  type Explanation,
  explainSetting,
  formatOrigin,
  formatValue,
} from '@cordon/host'
import { show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { formatSettings } from '../format/settings.ts'
import {
  cfgOption,
  type CommonOptions,
  type ConfigOptions,
  withCommonOptions,
  withConfigOptions,
} from '../options.ts'
import { compileQuietly, openProject } from '../project.ts'
import { warn } from '../report.ts'
import type { World } from '../world.ts'

export const register: Register = (parser, world) => {
  withCommonOptions(
    parser.command('show').description('print the effective configuration and where it comes from'),
  ).action(async (options: CommonOptions) => {
    const { loaded } = await openProject(world, options)
    world.out.write(
      options.json ? `${JSON.stringify(loaded.values, undefined, 2)}\n` : formatSettings(loaded, world.out),
    )
  })

  withCommonOptions(
    parser.command('explain').description('say where one value comes from and what it overrode'),
  )
    .argument('<key>', 'such as sandbox.mode or conversation.tools.fetch.access.net')
    .action(async (key: string, options: CommonOptions) => {
      const found = explainSetting(await openProject(world, options), key)
      world.out.write(
        options.json ? `${JSON.stringify(found, undefined, 2)}\n` : formatExplanation(key, found, world),
      )
    })

  withConfigOptions(
    parser
      .command('validate')
      .description('check every layer, and compile every policy; exit 2 and say everything that is wrong'),
  ).action(async (options: ConfigOptions) => {
    const project = await openProject(world, options)
    const { bySubject, warnings } = await compileQuietly(world, project)
    warn(world, warnings)
    world.out.write(`the configuration is valid; ${bySubject.size} policies compile\n`)
  })

  parser
    .command('schema')
    .description('print the JSON Schema of the configuration, for editors')
    .action(() => world.out.write(`${JSON.stringify(configSchema(), undefined, 2)}\n`))

  registerSet(parser, world)
}

const registerSet: Register = (parser, world) => {
  parser
    .command('set')
    .description('change one value in a config file, keeping its comments and order')
    .argument('<key>', 'such as sandbox.mode')
    .argument('<value>', 'a TOML value or plain text; +{ … } adds one rule to a rule list')
    .option('--user', "write to the user's own configuration, for all workspaces")
    .option('--user-workspace', "write to the user's own configuration of this workspace")
    .addOption(cfgOption())
    .action((key: string, value: string, options: SetOptions) => {
      const change: Change = { layer: layerOf(options), key, value }
      const file = changeSetting({ cwd: world.cwd, surroundings: world, cfg: options.cfg }, change)
      world.out.write(`changed ${show(file)}\n`)
    })
}

interface SetOptions {
  readonly cfg: readonly string[]
  readonly user?: boolean
  readonly userWorkspace?: boolean
}

const layerOf = ({ user, userWorkspace }: SetOptions): EditableLayer =>
  user ? 'user' : userWorkspace ? 'user-workspace' : 'workspace'

function formatExplanation(
  key: string,
  { value, origin, elements, overrode }: Explanation,
  { out }: World,
): string {
  const at = (place: Explanation['origin']): string =>
    out.style('dim', `${formatOrigin(place)} (${place.layer})`)
  const lines = elements
    ? [`${key}:`, ...elements.map((element) => `  ${formatValue(element.value)}  ${at(element.origin)}`)]
    : [`${key} = ${formatValue(value)}  ${at(origin)}`]
  for (const earlier of overrode)
    lines.push(`  instead of ${formatValue(earlier.value)}  ${at(earlier.origin)}`)
  return `${lines.join('\n')}\n`
}
