import { basename, dirname, resolve } from 'node:path'
import {
  acceptServer,
  askPaged,
  askToTrust,
  formatWarning,
  invalidText,
  problemsOf,
  readChosenLayer,
  reviewText,
  serverChangeText,
  serverText,
  surveyTrust,
  type TrustSurvey,
  type Waiting,
} from '@cordon/host'
import { below, shellWord, show } from '@cordon/policy'
import type { Command as Parser } from 'commander'
import type { Register } from '../command.ts'
import {
  digestJson,
  formatGranted,
  formatRows,
  serverJson,
  serverPath,
  type TrustRow,
  trustRows,
  viewJson,
} from '../format/trust.ts'
import { choiceOf, jsonOption, type JsonOption, repeatable, withIdOptions } from '../options.ts'
import { EXIT, UsageError, writeJson } from '../report.ts'
import type { World } from '../world.ts'

interface TrustOptions extends JsonOption {
  readonly cfg: readonly string[]
  readonly id?: string | false
}

export const register: Register = (parser, world) => {
  withTrustOptions(parser)
    .option('--yes', 'trust all that waits without asking: for scripts, after a person has looked')
    .addHelpText(
      'after',
      `
What came with the files of a workspace grants nothing until you trust it: its
.cordon/config.toml, and each .cordon.toml from its root to the current
directory. Without a subcommand, shows what waits and asks about each.

Exit code: 0 when nothing waits any more, 1 when something does or cannot be
read, 2 when something waits and nobody can be asked.`,
    )
    .hook('preSubcommand', refuseOwnOptions)
    .action((options: TrustOptions & { readonly yes?: boolean }) => trust(world, options))

  withTrustOptions(
    parser.command('ls').description('list what speaks for the files, and whether it is trusted'),
  ).action(async (options: TrustOptions) => {
    const rows = trustRows(await survey(world, options))
    if (options.json) writeJson(world, rows)
    else if (rows.length > 0) world.out.write(formatRows(rows, world.out))
    else world.err.write('no file speaks here\n')
  })

  withTrustOptions(
    parser
      .command('show')
      .description('show what a file would grant, and what changed; by default all that wait'),
  )
    .argument('[file]', 'a config file of the workspace; or an MCP server, as `trust ls` names it')
    .action((file: string | undefined, options: TrustOptions) => showTrust(world, file, options))

  withTrustOptions(parser.command('revoke').description('trust a file no longer, or none'))
    .argument(
      '[file]',
      'a config file of the workspace, there or gone; or an MCP server, as `trust ls` names it',
    )
    .option('--all', 'every file of this workspace')
    .action((file: string | undefined, options: TrustOptions & { readonly all?: boolean }) =>
      revoke(world, file, options),
    )
}

/** What stands before a subcommand is for `cordon trust` alone, and would be lost. */
function refuseOwnOptions(parser: Parser, subcommand: Parser): void {
  const lost = parser.options.find((option) => parser.getOptionValueSource(option.attributeName()) === 'cli')
  if (!lost) return
  const takes = subcommand.options.some(({ long }) => long === lost.long)
  parser.error(
    takes
      ? `error: write ${lost.long} behind ${subcommand.name()}: cordon trust ${subcommand.name()} ${lost.long}`
      : `error: ${lost.long} is for cordon trust alone, and not for ${subcommand.name()}`,
  )
}

const withTrustOptions = (parser: Parser): Parser =>
  withIdOptions(
    parser.addOption(
      repeatable('--cfg <file>', 'look also at this file of the workspace, which --cfg names elsewhere'),
    ),
  ).addOption(jsonOption())

async function survey(world: World, options: TrustOptions, cwd = world.cwd): Promise<TrustSurvey> {
  const { cfg } = options
  // Any mark counts here: a clone is looked at before it is used, and a yes is what records it as this user's.
  const place = { cwd, surroundings: world, cfg, unmarked: 'allow', marks: 'any', pid: world.pid } as const
  const conversation = await readChosenLayer(place, world, choiceOf(options))
  const found = await surveyTrust({ ...place, conversation })
  for (const warning of found.warnings)
    world.err.write(`${world.err.style('yellow', 'warning:')} ${warning}\n`)
  for (const problem of found.unreadable) world.err.write(`${formatWarning(problem)}\n`)
  return found
}

async function trust(world: World, options: TrustOptions & { readonly yes?: boolean }): Promise<void> {
  const found = await survey(world, options)
  const reviewer = options.yes ? undefined : world.reviewer
  const changed = found.servers.filter((seen) => serverChangeText(seen) !== undefined)
  if (found.waiting.length + changed.length > 0 && !options.yes && !reviewer)
    throw new UsageError(
      `${[...found.waiting.map(({ path }) => show(path)), ...changed.map(({ server }) => serverPath(server))].join(', ')}: nobody can be asked without a terminal\n` +
        `  fix: look with \`cordon trust show${wordsOf(options)}\`, then run \`cordon trust --yes${wordsOf(options)}\``,
    )
  const trusted: (Waiting & { readonly problems: readonly string[] })[] = []
  for (const [i, item] of found.waiting.entries()) {
    const beside = reviewer ? trusted : found.waiting.filter((other) => other !== item)
    const others = {
      counting: [...found.inEffect, ...beside.flatMap(({ sources }) => sources)],
      all: !reviewer || i === found.waiting.length - 1,
    }
    if (reviewer && !(await askToTrust(item, reviewer, others))) {
      if (!options.json) world.out.write(`${show(item.path)} is not trusted; nothing changed\n`)
      continue
    }
    // What was shown, or read a moment ago: whatever the file holds by now, this text is what is trusted.
    await found.store.trust([item])
    const problems = problemsOf(item, others)
    trusted.push({ ...item, problems })
    if (!options.json)
      world.out.write(
        `trusted ${show(item.path)}\n${reviewer ? '' : invalidText(problems) + formatGranted(item)}`,
      )
  }
  const servers = await trustServers(world, found, options, reviewer)
  const left = found.waiting.filter(({ path }) => !trusted.some((item) => item.path === path))
  if (options.json)
    writeJson(world, {
      trusted: trusted.map((item) => ({ ...digestJson(item), problems: item.problems })),
      waiting: left.map(digestJson),
      servers,
    })
  else if (found.waiting.length + servers.trusted.length + servers.waiting.length === 0)
    world.out.write(nothingWaits(found))
  const waits = left.length + found.unreadable.length + servers.waiting.length > 0
  world.finish(waits ? EXIT.denied : EXIT.ok)
}

/** A file that is not even read cannot be trusted; why, was said before. */
const nothingWaits = ({ unreadable }: TrustSurvey): string =>
  unreadable.length === 0
    ? 'nothing waits for trust\n'
    : `not to be trusted before that is mended: ${unreadable.map(({ origin }) => show(origin.label)).join(', ')}\n`

/** What chose the files that were looked at, to be typed again. */
const wordsOf = ({ cfg, id }: TrustOptions): string =>
  [
    ...cfg.map((file) => ` --cfg ${shellWord(file)}`),
    id === undefined ? '' : id === false ? ' --no-id' : ` --id ${shellWord(id)}`,
  ].join('')

/** MCP servers that are not what they were: the difference, and whether the assistant may have it. */
async function trustServers(
  world: World,
  { servers, store }: TrustSurvey,
  options: TrustOptions & { readonly yes?: boolean },
  reviewer: World['reviewer'],
): Promise<Readonly<Record<'trusted' | 'waiting', readonly string[]>>> {
  const trusted: string[] = []
  const waiting: string[] = []
  for (const seen of servers) {
    const text = serverChangeText(seen)
    if (text === undefined) continue
    const accepted =
      options.yes ||
      (reviewer !== undefined &&
        (await askPaged(
          async (page) => (await reviewer.reviews(page)) === 'yes',
          text,
          'Accept it as it is now? [y/N] ',
        )))
    if (accepted) await acceptServer(store, seen)
    ;(accepted ? trusted : waiting).push(seen.server)
    if (!options.json)
      world.out.write(
        accepted
          ? `accepted MCP server ${show(seen.server)}\n`
          : `MCP server ${show(seen.server)} stays as it was\n`,
      )
  }
  return { trusted, waiting }
}

async function showTrust(world: World, file: string | undefined, options: TrustOptions): Promise<void> {
  if (file === undefined) {
    const found = await survey(world, options)
    const { waiting, servers } = found
    if (options.json)
      return writeJson(
        world,
        waiting.map((item) => viewJson(item, problemsIn(item, found))),
      )
    const texts = [
      ...waiting.map((item) => reviewText(item, problemsIn(item, found), 'whole')),
      ...servers.flatMap((seen) => serverChangeText(seen) ?? []),
    ]
    world.out.write(texts.join('\n') || nothingWaits(found))
    return
  }
  // A `.cordon.toml` counts in its directory and below, so it is looked at from there.
  const at = resolve(world.cwd, file)
  const found = await survey(world, options, basename(at) === '.cordon.toml' ? dirname(at) : world.cwd)
  const seen = found.servers.find(({ server }) => serverPath(server) === file)
  if (seen && options.json) return writeJson(world, serverJson(seen))
  if (seen) {
    world.out.write(serverText(seen) + (serverChangeText(seen) ?? ''))
    return
  }
  const path = pathOf(found, world, file)
  const waiting = found.waiting.find((item) => item.path === path)
  const trusted = found.trusted.find((item) => item.path === path)
  const item = waiting ?? trusted
  if (!item) throw unknownFile(file, trustRows(found))
  const problems = waiting ? problemsIn(waiting, found) : []
  if (options.json) return writeJson(world, viewJson(item, problems))
  world.out.write(
    waiting
      ? reviewText(waiting, problems, 'whole')
      : `${show(path)} is trusted (${show(trusted!.was.trusted_at)}). It grants:\n\n${formatGranted(item)}`,
  )
}

/** Of one that is looked at alone: what is missing of a tool may be in another one that waits. */
const problemsIn = (item: Waiting, { waiting, inEffect }: TrustSurvey): readonly string[] =>
  problemsOf(item, { counting: inEffect, all: waiting.length === 1 })

async function revoke(
  world: World,
  file: string | undefined,
  options: TrustOptions & { readonly all?: boolean },
): Promise<void> {
  if ((file === undefined) === !options.all)
    throw new UsageError('name the file that is not to be trusted any more, or write --all for every one')
  const found = await survey(world, options)
  const revoked = [
    ...(await found.store.distrust(file === undefined ? 'all' : [pathOf(found, world, file)])),
    ...(
      await found.store.forgetServers(
        file === undefined
          ? 'all'
          : found.servers.map(({ server }) => server).filter((name) => serverPath(name) === file),
      )
    ).map(serverPath),
  ]
  if (revoked.length === 0 && file !== undefined) throw notTrusted(file, trustRows(found))
  if (options.json) writeJson(world, { revoked })
  else
    world.out.write(
      revoked.map((path) => `no longer trusted: ${show(path)}\n`).join('') || 'nothing was trusted\n',
    )
}

/** As it is typed, from where one stands; or as `trust ls` prints it. */
function pathOf(found: TrustSurvey, { cwd }: World, file: string): string {
  const known = [...found.trusted, ...found.waiting, ...found.elsewhere.map(({ was }) => was)]
  const typed = below(found.root, resolve(cwd, file)) ?? file
  return known.some(({ path }) => path === typed) ? typed : file
}

function notTrusted(file: string, rows: readonly TrustRow[]): UsageError {
  const trusted = rows.filter(({ sha256 }) => sha256 !== null).map(({ path }) => show(path))
  return new UsageError(
    `${show(file)} is not trusted, so nothing changed; ${trusted.length > 0 ? `trusted: ${trusted.join(', ')}` : 'nothing is trusted here'}`,
  )
}

function unknownFile(file: string, rows: readonly TrustRow[]): UsageError {
  const known = rows.map(({ path }) => show(path)).join(', ')
  return new UsageError(
    `${show(file)} is no file that is trusted or waits; ${known ? `there are: ${known}` : 'there is none'}`,
  )
}
