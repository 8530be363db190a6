import {
  changeMounts,
  listMounts,
  type MountFlag,
  type MountOutcome,
  type MountPlan,
  type MountView,
} from '@cordon/host'
import { show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { writeJson } from '../conversations.ts'
import { EXIT } from '../exit.ts'
import { formatTable } from '../format/table.ts'
import { wrapList } from '../format/text.ts'
import {
  cfgOption,
  choiceOf,
  type CommonOptions,
  idOption,
  jsonOption,
  withCommonOptions,
} from '../options.ts'
import { openProject } from '../project.ts'
import { UsageError } from '../usage.ts'
import type { Stream, World } from '../world.ts'

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
    options: { cwd: world.cwd, surroundings: world, cfg: options.cfg },
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
    return options.json ? writeJson(world, NOTHING) : world.err.write('no mounts\n')
  if (options.json) writeJson(world, outcomeJson(outcome))
  else world.out.write(formatOutcome(outcome))
}

type Done = Extract<MountOutcome, { kind: 'done' }>

export function formatOutcome({ conversation, started, plan }: Done): string {
  return [
    ...plan.steps.map(formatStep),
    `in ${started === 'new' ? 'the new ' : ''}conversation ${conversation.id}`,
    '',
  ].join('\n')
}

function formatStep(step: MountPlan['steps'][number]): string {
  if (step.kind === 'mount') {
    const whom = step.added.length === 0 ? ['as before'] : names(step.added)
    return lines(`mounted ${show(step.name)} → ${show(step.target)} (${step.mode})`, whom)
  }
  const kept = step.link === 'not a link' ? '; what has that name is not a link, and was left as it is' : ''
  return lines(`unmounted ${show(step.name)}${kept}`, names(step.removed))
}

const lines = (first: string, rest: readonly string[]): string =>
  [first, ...wrapList(rest, 76).map((line) => `  ${line}`)].join('\n')

const names = (subjects: readonly { readonly name: string }[]): string[] =>
  subjects.map(({ name }) => show(name))

const NOTHING = { conversation: null, new: false, steps: [] }

const outcomeJson = ({ conversation, started, plan }: Done): Record<string, unknown> => ({
  conversation: conversation.id,
  new: started === 'new',
  steps: plan.steps.map((step) =>
    step.kind === 'mount'
      ? {
          mounted: step.name,
          target: step.target,
          mode: step.mode,
          link: step.link === 'make' ? 'made' : 'kept',
          tools: step.tools,
          added: step.added.map(({ name }) => name),
        }
      : {
          unmounted: step.name,
          link: step.link === 'remove' ? 'removed' : step.link,
          tools: step.removed.map(({ name }) => name),
        },
  ),
})

const mountJson = ({ name, target, tools, mode, state, reason }: MountView): Record<string, unknown> => ({
  name,
  target: target ?? null,
  tools,
  mode,
  state,
  reason: reason ?? null,
})

/** The tools come last, because they are many; what is wrong with a mount is said below the table. */
export function formatMounts(mounts: readonly MountView[], { style }: Pick<Stream, 'style'>): string {
  const rows = mounts.flatMap(({ name, target, tools, mode, state }) => {
    const [first = '', ...more] = wrapList(tools.map(show), 44)
    const row = [show(name), target === undefined ? '-' : show(target), mode, state, first]
    return [row, ...more.map((line) => ['', '', '', '', line])]
  })
  const [head = '', ...body] = formatTable([['NAME', 'TARGET', 'MODE', 'STATE', 'TOOLS'], ...rows]).split(
    '\n',
  )
  const reasons = mounts.flatMap(({ name, state, reason }) =>
    reason === undefined ? [] : [`${style('yellow', `${state}:`)} ${show(name)}: ${show(reason)}\n`],
  )
  return `${style('bold', head)}\n${body.join('\n')}${reasons.length === 0 ? '' : `\n${[...new Set(reasons)].join('')}`}`
}
