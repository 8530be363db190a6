import {
  copyProfile,
  findProfile,
  listProfiles,
  shippedProfiles,
  SHIPPED_NAMES,
  openAmbientProject,
} from '@cordon/host'
import { show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { formatProfile, formatProfiles, profileJson } from '../format/profiles.ts'
import { cfgOption, jsonOption, type JsonOption } from '../options.ts'
import { trustTerms } from '../project.ts'
import { warn, writeJson } from '../report.ts'
import type { World } from '../world.ts'

interface ProfileOptions extends JsonOption {
  readonly cfg: readonly string[]
}

export const register: Register = (parser, world) => {
  parser
    .command('ls')
    .description('list the profiles that cordon run --profile takes')
    .addOption(cfgOption())
    .addOption(jsonOption())
    .action(async (options: ProfileOptions) => {
      const profiles = listProfiles(await open(world, options))
      if (options.json) writeJson(world, profiles.map(profileJson))
      else world.out.write(formatProfiles(profiles))
    })

  parser
    .command('show')
    .description('show what one profile grants')
    .argument('<name>', 'as in cordon profile ls')
    .addOption(cfgOption())
    .addOption(jsonOption())
    .action(async (name: string, options: ProfileOptions) => {
      const profile = findProfile(await open(world, options), name)
      if (options.json) writeJson(world, profileJson(profile))
      else world.out.write(formatProfile(profile, world.out))
    })

  parser
    .command('copy')
    .description('write a shipped profile into your own configuration, to change it there')
    .argument('<name>', 'a shipped profile')
    .argument('[new-name]', 'what yours is called; my-<name> when left out')
    .action(async (name: string, under: string | undefined) => {
      const mine = under ?? `my-${name}`
      const place = { cwd: world.cwd, surroundings: world, cfg: [], unmarked: 'allow' } as const
      const { file, notices } = await copyProfile(name, mine, {
        ...place,
        trust: trustTerms(world, 'nothing'),
      })
      warn(world, notices)
      world.out.write(
        `wrote [profiles.${show(mine)}] to ${show(file)}; use it with --profile ${show(mine)}\n`,
      )
    })
}

/** Any directory will do: the shipped profiles and a person's own are there everywhere. */
async function open(world: World, { cfg }: ProfileOptions): ReturnType<typeof openAmbientProject> {
  const place = { cwd: world.cwd, surroundings: world, cfg, unmarked: 'allow' } as const
  const trust = trustTerms(world, 'nothing')
  const project = await openAmbientProject({ ...place, trust, shipped: shippedProfiles(SHIPPED_NAMES) })
  warn(world, project.notices)
  return project
}
