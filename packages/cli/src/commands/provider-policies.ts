import { show, suggest } from '@cordon/policy'
import {
  loadPolicies,
  parseCases,
  PolicyRefused,
  runCases,
  type StoredPolicy,
  supposedAt,
} from '@cordon/provider'
import { type Command as Parser, Option } from 'commander'
import type { Register } from '../command.ts'
import {
  caseJson,
  foreseenJson,
  formatCase,
  formatCases,
  formatForeseen,
  formatPolicies,
  policyJson,
} from '../format/provider.ts'
import { jsonOption, repeatable } from '../options.ts'
import {
  asAdmin,
  asFirstAdmin,
  parseCommand,
  providerCommand,
  type ProviderFlags,
  readLocal,
} from '../provider.ts'
import { EXIT, UsageError, writeJson } from '../report.ts'
import { parseStarter, starterText } from '../starters.ts'
import type { World } from '../world.ts'

interface ScopeFlags extends ProviderFlags {
  readonly app?: string
  readonly name: string
}

export const registerPolicies: Register = (parser, world) => {
  const policy = parser.command('policy').description('what apps may do, in Cedar')

  takesFlags(
    providerCommand(policy, 'ls', 'list them').option(
      '--app <name>',
      'those that count for this app: its own, and those for all',
    ),
  ).action(async (flags: Omit<ScopeFlags, 'name'>) => {
    const { policies, apps } = await readAll(world, flags)
    if (flags.app !== undefined && !apps.includes(flags.app)) throw unknownApp(flags.app, apps, policies)
    const all = policies.filter(({ scope }) => flags.app === undefined || ['*', flags.app].includes(scope))
    if (flags.json) return writeJson(world, all.map(policyJson))
    if (all.length === 0) return world.err.write('no policies yet: nothing is permitted\n')
    world.out.write(formatPolicies(all))
  })

  scoped(policy, 'show', 'the text of one').action(async (flags: ScopeFlags) => {
    const found = await find(world, flags)
    if (flags.json) writeJson(world, policyJson(found))
    else world.out.write(found.text)
  })

  scoped(policy, 'set', 'store one; refused unless it loads, with the corrected text')
    .option('--file <file>', 'Cedar text; - is standard input')
    .addOption(repeatable('--starter <starter>', 'a starter policy: filesystem:subdir-read,prefix=/srv/ws'))
    .option('--cases <file>', 'the table that `policy test` runs, as JSON')
    .addOption(new Option('--remove', 'take it away').conflicts(['file', 'starter', 'cases']))
    .action(async (flags: SetFlags) => {
      const text = flags.remove === true ? null : await textOf(world, flags)
      const cases = flags.cases === undefined ? undefined : parseCases(readJson(flags.cases))
      const scope = flags.app ?? '*'
      if (text === null) await find(world, flags) // who mistyped its name would believe that it is gone
      const version = await asFirstAdmin(world, flags, (admin) =>
        admin.setPolicy({ scope, name: flags.name, text, ...(cases ? { cases } : {}) }),
      )
      if (text !== null) warnOf(world, loadPolicies(text))
      if (text !== null) await warnOfCases(world, flags)
      if (flags.json) writeJson(world, { app: flags.app ?? null, name: flags.name, version })
      else world.out.write(`${text === null ? 'removed' : 'set'} ${flags.name}, version ${version}\n`)
    })

  policy
    .command('lint')
    .description('say whether a text would be accepted, and how to write it')
    .argument('<file>', 'Cedar text; - is standard input')
    .addOption(jsonOption())
    .action(async (file: string, { json }: { readonly json?: boolean }) => {
      const loaded = loadPolicies(await readText(world, file))
      if (json) {
        writeJson(world, lintJson(loaded))
        return world.finish(loaded.kind === 'refused' ? EXIT.usage : EXIT.ok)
      }
      if (loaded.kind === 'refused') throw new PolicyRefused(file, loaded)
      warnOf(world, loaded)
      world.out.write(`${loaded.statements.length} statements, version ${loaded.version}\n`)
    })

  scoped(policy, 'test', 'run the cases that are kept beside it').action(async (flags: ScopeFlags) => {
    const results = await resultsOf(world, flags)
    if (results.length === 0) throw noCases(flags)
    if (flags.json) writeJson(world, results.map(caseJson))
    else world.out.write(formatCases(results))
    world.finish(results.every(({ passed }) => passed) ? EXIT.ok : EXIT.denied)
  })

  registerExplain(policy, world)
}

const lintJson = (loaded: ReturnType<typeof loadPolicies>): object =>
  loaded.kind === 'loaded'
    ? { ok: true, problems: [], corrected: null, warnings: loaded.warnings }
    : { ok: false, problems: loaded.problems, corrected: loaded.corrected ?? null, warnings: [] }

/** What is accepted and may not hold as it looks. */
function warnOf(world: World, loaded: ReturnType<typeof loadPolicies>): void {
  if (loaded.kind === 'refused') return
  for (const { line, message } of loaded.warnings) world.err.write(`warning: line ${line}: ${message}\n`)
}

interface SetFlags extends ScopeFlags {
  readonly file?: string
  readonly starter: readonly string[]
  readonly cases?: string
  readonly remove?: boolean
}

const scoped = (
  ...[parser, name, summary]: Parameters<typeof providerCommand>
): ReturnType<typeof providerCommand> =>
  takesFlags(
    providerCommand(parser, name, summary)
      .option('--app <name>', 'of this app; without it, of all')
      .option('--name <name>', 'which of its policies', 'main'),
  )

/** A bare name could be an app's or a policy's. */
const takesFlags = (parser: Parser): Parser =>
  parser.allowExcessArguments().hook('preAction', (_, { args: [name] }) => {
    if (name !== undefined)
      throw new UsageError(
        `${show(name)} is given as neither an app nor a policy\n  hint: --app ${show(name)}, if it is an app`,
      )
  })

async function find(world: World, flags: ScopeFlags): Promise<StoredPolicy> {
  const { policies, apps } = await readAll(world, flags)
  const found = policies.find(({ scope, name }) => scope === (flags.app ?? '*') && name === flags.name)
  if (found) return found
  throw flags.app !== undefined && !apps.includes(flags.app)
    ? unknownApp(flags.app, apps, policies)
    : unknownPolicy(flags, apps, policies)
}

interface AllOfThem {
  readonly policies: readonly StoredPolicy[]
  readonly apps: readonly string[]
}

const readAll = (world: World, flags: ProviderFlags): Promise<AllOfThem> =>
  asAdmin(world, flags, async (admin) => ({
    policies: await admin.policies(),
    apps: (await admin.apps()).map(({ id }) => id),
  }))

function unknownApp(app: string, apps: readonly string[], policies: readonly StoredPolicy[]): UsageError {
  const near = suggest(app, apps)
  const hint = policies.some(({ name }) => name === app)
    ? `\n  hint: a policy has that name: --name ${show(app)}`
    : near === undefined
      ? ''
      : `\n  hint: there is ${show(near)}`
  return new UsageError(`there is no app ${show(app)}; \`cordon provider app ls\` lists them${hint}`)
}

function unknownPolicy(
  { app, name }: ScopeFlags,
  apps: readonly string[],
  policies: readonly StoredPolicy[],
): UsageError {
  const whose = app === undefined ? 'for all apps' : `of ${show(app)}`
  const names = policies.filter(({ scope }) => scope === (app ?? '*')).map((each) => show(each.name))
  const other = apps.includes(name)
    ? name
    : app === undefined && policies.find((each) => each.name === name)?.scope
  const hint = other ? `\n  hint: --app ${show(other)}` : ''
  return new UsageError(
    `there is no policy ${show(name)} ${whose}; ${names.length > 0 ? `there are: ${names.join(', ')}` : 'there are none'}${hint}`,
  )
}

async function resultsOf(world: World, flags: ScopeFlags): Promise<ReturnType<typeof runCases>> {
  const { text, cases, name } = await find(world, flags)
  const loaded = loadPolicies(text)
  if (loaded.kind === 'refused') throw new PolicyRefused(name, loaded)
  return runCases(loaded, cases)
}

/** A step of somebody's CI that lost its cases must not stay green. */
function noCases({ app, name }: ScopeFlags): UsageError {
  const which = `${app === undefined ? '' : ` --app ${app}`}${name === 'main' ? '' : ` --name ${show(name)}`}`
  return new UsageError(
    `no cases are kept beside it, so nothing was tested\n  fix: cordon provider policy set${which} --file FILE --cases CASES`,
  )
}

/** It is stored and counts: whoever wrote the cases is told at once which of them it does not keep. */
async function warnOfCases(world: World, flags: ScopeFlags): Promise<void> {
  const wrong = (await resultsOf(world, flags)).filter(({ passed }) => !passed)
  if (wrong.length > 0)
    world.err.write(`warning: it does not decide as its cases say\n${wrong.map(formatCase).join('')}`)
}

async function textOf(world: World, { file, starter }: SetFlags): Promise<string> {
  if ((file === undefined) === (starter.length === 0)) throw new UsageError('give either --file or --starter')
  return file === undefined ? starterText(starter.map(parseStarter)) : readText(world, file)
}

const readText = async (world: World, file: string): Promise<string> =>
  file === '-' ? world.readInput() : readLocal(file).toString('utf8')

function readJson(file: string): unknown {
  try {
    return JSON.parse(readLocal(file).toString('utf8'))
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${show(file)} is not JSON: ${(error as Error).message}`)
  }
}

interface ExplainFlags extends ProviderFlags {
  readonly app: string
  readonly agent?: string
  readonly destination?: string
  readonly size?: string
  readonly directory?: boolean
  readonly missing?: boolean
  readonly cosigned?: boolean
}

function parseSize(text = '0'): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError('--size expects a number of bytes')
}

const registerExplain: Register = (parser, world) => {
  providerCommand(parser, 'explain', 'say what would be decided, and which statements decide')
    .argument('<command>', 'file_read, dir_list, /filesystem/file/write …')
    .argument('<path>')
    .requiredOption('--app <name>', 'who asks')
    .option('--agent <did>', 'who signed; by default the app itself')
    .option('--destination <path>', 'of move and copy')
    .option('--size <bytes>', 'of the file')
    .option('--directory', 'it is a directory; what dir_… is about is one anyway')
    .option('--missing', 'there is nothing yet')
    .option('--cosigned', 'a person has signed for it')
    .action(async (name: string, path: string, flags: ExplainFlags) => {
      const command = parseCommand(name)
      if (/(?:move|copy)$/.test(command) !== (flags.destination !== undefined))
        throw new UsageError('move and copy have a --destination, and nothing else has one')
      const resource = supposedAt(command, {
        path,
        isDirectory: flags.directory === true,
        exists: flags.missing !== true,
        size: parseSize(flags.size),
      })
      const told = await asAdmin(world, flags, async (admin) => {
        const { id, did } = await admin.app(flags.app)
        return admin.explain({
          app: id,
          agent: flags.agent ?? did,
          command,
          resource,
          ...(flags.destination === undefined
            ? {}
            : { destination: supposedAt(command, { path: flags.destination, exists: false }) }),
          cosigned: flags.cosigned === true,
        })
      })
      if (flags.json) writeJson(world, foreseenJson(told))
      else world.out.write(formatForeseen(told))
      world.finish(told.answer === 'allow' ? EXIT.ok : EXIT.denied)
    })
}
