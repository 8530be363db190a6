import {
  type Change,
  changeSetting,
  configSchema,
  type EditableLayer,
  explainSetting,
  waitingValues,
  withWaiting,
} from '@cordon/host'
import { show } from '@cordon/policy'
import { Option } from 'commander'
import type { Register } from '../command.ts'
import { explanationJson, formatExplanation, formatSettings, formatWaiting } from '../format/settings.ts'
import {
  cfgOption,
  type CommonOptions,
  type ConfigOptions,
  withCommonOptions,
  withConfigOptions,
} from '../options.ts'
import { compileQuietly, openProjectAnywhere, trustTerms } from '../project.ts'
import { warn, writeJson } from '../report.ts'
import type { World } from '../world.ts'

export const register: Register = (parser, world) => {
  withCommonOptions(
    parser.command('show').description('print the effective configuration and where it comes from'),
  ).action(async (options: CommonOptions) => {
    const { loaded, waiting } = await openProjectAnywhere(world, options, 'nothing')
    if (options.json) writeJson(world, { ...loaded.values, waiting: waitingValues(waiting, []) })
    else world.out.write(formatSettings(loaded, world.out) + formatWaiting(waiting, world.out))
  })

  withCommonOptions(
    parser.command('explain').description('say where one value comes from and what it overrode'),
  )
    .argument('<key>', 'such as sandbox.mode or conversation.tools.fetch.access.net')
    .action(async (key: string, options: CommonOptions) => {
      const found = explainSetting(await openProjectAnywhere(world, options, 'nothing'), key)
      if (options.json) writeJson(world, explanationJson(found))
      else world.out.write(formatExplanation(key, found, world.out))
    })

  withConfigOptions(
    parser
      .command('validate')
      .description('check every layer, and compile every policy; exit 2 and say everything that is wrong'),
  ).action(async (options: ConfigOptions) => {
    // SPEC 2.1: also what nobody has trusted yet is checked; none of it takes effect.
    const project = withWaiting(await openProjectAnywhere(world, options, 'nothing'))
    const { bySubject, warnings } = await compileQuietly(world, project)
    warn(world, warnings)
    world.out.write(`the configuration is valid; ${bySubject.size} policies compile\n`)
  })

  parser
    .command('schema')
    .description('print the JSON Schema of the configuration, for editors')
    .action(() => writeJson(world, configSchema()))

  registerSet(parser, world)
  registerUnset(parser, world)
}

const registerSet: Register = (parser, world) => {
  parser
    .command('set')
    .description('change one value in a config file, keeping its comments and order')
    .argument('<key>', 'such as sandbox.mode')
    .argument('<value>', 'a TOML value or plain text; +{ … } adds one rule to a rule list')
    .addOption(userOption("write to the user's own configuration, for all workspaces"))
    .option('--user-workspace', "write to the user's own configuration of this workspace")
    .addOption(cfgOption())
    .action(async (key: string, value: string, options: SetOptions) => {
      await change(world, options, { layer: layerOf(options), key, value })
    })
}

const registerUnset: Register = (parser, world) => {
  parser
    .command('unset')
    .description('take one key out of a config file, keeping all else')
    .argument('<key>', 'such as sandbox.mode, or a whole rule list')
    .addOption(userOption("in the user's own configuration, for all workspaces"))
    .option('--user-workspace', "in the user's own configuration of this workspace")
    .addOption(cfgOption())
    .action((key: string, options: SetOptions) =>
      change(world, options, { layer: layerOf(options), key, value: undefined }),
    )
}

/** One file is edited. */
const userOption = (description: string): Option =>
  new Option('--user', description).conflicts('userWorkspace')

async function change(world: World, { cfg }: SetOptions, edit: Change): Promise<void> {
  // An edit of the files needs them; one of a person's own place does not.
  const trust = trustTerms(world, edit.layer === 'workspace' ? 'files' : 'nothing')
  // A person's own for a directory needs no mark in it, as `run` and `mcp` need none; a file of the workspace is in the mark.
  const unmarked = edit.layer === 'user-workspace' ? 'allow' : 'refuse'
  const place = { cwd: world.cwd, surroundings: world, cfg, trust, unmarked } as const
  const { file, notices } = await changeSetting(place, edit)
  warn(world, notices)
  world.out.write(`changed ${show(file)}\n`)
}

interface SetOptions {
  readonly cfg: readonly string[]
  readonly user?: boolean
  readonly userWorkspace?: boolean
}

const layerOf = ({ user, userWorkspace }: SetOptions): EditableLayer =>
  user ? 'user' : userWorkspace ? 'user-workspace' : 'workspace'
