import { changeMounts, listMounts, type MountFlag } from '@cordon/host'
import type { Register } from '../command.ts'
import { formatMounting, formatMounts, mountingJson, mountJson, NOTHING_MOUNTED } from '../format/mounts.ts'
import {
  cfgOption,
  choiceOf,
  type CommonOptions,
  idOption,
  jsonOption,
  withCommonOptions,
} from '../options.ts'
import { openProject, trustTerms } from '../project.ts'
import { EXIT, UsageError, writeJson } from '../report.ts'
import type { World } from '../world.ts'

export const register: Register = (parser, world) => {
  parser
    .command('add')
    .description('link a place outside into the workspace, and grant it to tools')
    .argument('<mounts...>', '[TOOL:]NAME=PATH[:ro|:rw]')
    .addOption(idOption())
    .addOption(cfgOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Read-only for all enabled local tools, or for the one that is named; :rw needs
the name of a tool.

Examples:
  cordon mount add fork=~/code/forks/serde-yaml
  cordon mount add fs_modify_file:fork=~/code/forks/serde-yaml:rw`,
    )
    .action((mounts: readonly string[], options: CommonOptions) =>
      change(
        world,
        options,
        mounts.map((text): MountFlag => ({ kind: 'mount', text })),
      ),
    )

  withCommonOptions(
    parser.command('ls').description('list what is mounted, for whom, and whether it works'),
  ).action(async (options: CommonOptions) => {
    const mounts = await listMounts(await openProject(world, options), world)
    if (options.json) writeJson(world, mounts.map(mountJson))
    else if (mounts.length > 0) world.out.write(formatMounts(mounts, world.out))
    else world.err.write('no mounts\n')
  })

  parser
    .command('rm')
    .description('take mounts back: the link, its approval, and the rules of every tool')
    .argument('[names...]', 'as in `mount ls`, relative to the current directory')
    .option('--all', 'every mount')
    .addOption(idOption())
    .addOption(cfgOption())
    .addOption(jsonOption())
    .action((names: readonly string[], options: CommonOptions & { readonly all?: boolean }) => {
      if ((names.length === 0) === !options.all)
        throw new UsageError('name the mounts to remove, or write --all to remove every one')
      const wanted = options.all ? [undefined] : names
      return change(
        world,
        options,
        wanted.map((name): MountFlag => ({ kind: 'no-mount', name })),
      )
    })
}

async function change(world: World, options: CommonOptions, flags: readonly MountFlag[]): Promise<void> {
  const outcome = await changeMounts({
    options: { cwd: world.cwd, surroundings: world, cfg: options.cfg, trust: trustTerms(world, 'files') },
    user: world,
    conversation: choiceOf(options),
    flags,
    audience: { person: world.person, tell: (text) => world.err.write(text) },
  })
  if (outcome.kind === 'refused') {
    world.err.write('nothing was changed\n')
    return world.finish(EXIT.denied)
  }
  if (outcome.kind === 'nothing')
    return options.json ? writeJson(world, NOTHING_MOUNTED) : world.err.write('no mounts\n')
  if (options.json) writeJson(world, mountingJson(outcome))
  else world.out.write(formatMounting(outcome))
}
