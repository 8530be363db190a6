import { resolve } from 'node:path'
import {
  addServer,
  type EditableLayer,
  type EntryStyle,
  findServer,
  grantedNames,
  importsHere,
  cordonOnPath,
  looksSecret,
  listServers,
  needsDirectory,
  parseAllowNet,
  performImport,
  planImport,
  type ProjectOptions,
  readRecords,
  removeServer,
  type ChangeWorld,
  surveyClients,
  surveyNamed,
  undoImports,
  updateServer,
  workspaceIfAny,
} from '@cordon/host'
import { show } from '@cordon/policy'
import type { Command as Parser } from 'commander'
import type { Register } from '../command.ts'
import {
  formatAdded,
  formatImport,
  formatRemoved,
  formatServer,
  formatServers,
  formatUndone,
  formatUpdated,
  importJson,
  serverJson,
} from '../format/mcp-servers.ts'
import { cfgOption, jsonOption, type JsonOption, repeatable } from '../options.ts'
import { trustTerms } from '../project.ts'
import { EXIT, UsageError, warn, writeJson } from '../report.ts'
import type { World } from '../world.ts'

/** The part of `cordon mcp` that is about which servers there are (SPEC 5.5). */
export const registerServers: Register = (parser, world) => {
  registerImport(parser, world)
  registerAdd(parser, world)

  parser
    .command('ls')
    .description('list the configured servers: what they may, where they are defined, what waits')
    .addOption(cfgOption())
    .addOption(jsonOption())
    .action(async (options: ServerOptions) => {
      const catalog = await listServers(placeOf(world, options))
      warn(world, catalog.notices)
      if (options.json) writeJson(world, catalog.servers.map(serverJson))
      else if (catalog.servers.length > 0) world.out.write(formatServers(catalog.servers, world.out))
      else world.err.write('no servers; `cordon mcp import` takes over those of a client\n')
    })

  parser
    .command('show')
    .description('show one server: its command line, its package, its access, and who starts it')
    .argument('<name>', 'a server')
    .addOption(cfgOption())
    .addOption(jsonOption())
    .action(async (name: string, options: ServerOptions) => {
      const catalog = await listServers(placeOf(world, options))
      warn(world, catalog.notices)
      const server = findServer(catalog, name)
      warn(world, importsHere(server.line))
      if (options.json) writeJson(world, serverJson(server))
      else world.out.write(formatServer(server, world.out))
    })

  parser
    .command('rm')
    .description('take a server out of the configuration')
    .argument('<name>', 'a server')
    .option('--force', 'also when a client starts it through Cordon')
    .addOption(cfgOption())
    .action(async (name: string, options: ServerOptions & { readonly force?: boolean }) => {
      const removed = await removeServer(name, {
        options: placeOf(world, options),
        force: options.force === true,
      })
      warn(world, removed.notices)
      world.out.write(formatRemoved(name, removed, world.home))
    })

  parser
    .command('update')
    .description('install another version of the package that a server is, and start that from now on')
    .argument('<name>', 'a server')
    .argument('[version]', 'a version, a range or a tag; by default the newest')
    .option('--yes', 'without asking: for scripts, after a person has looked')
    .addOption(cfgOption())
    .action(
      async (
        name: string,
        version: string | undefined,
        options: ServerOptions & { readonly yes?: boolean },
      ) => {
        const yes = options.yes === true
        const updated = await updateServer(name, version, {
          ...serverWorld(world, placeOf(world, options), 'not run'),
          yes,
        })
        world.out.write(formatUpdated(name, updated))
        if (updated.kind === 'refused') world.finish(EXIT.denied)
      },
    )
}

interface ServerOptions extends JsonOption {
  readonly cfg: readonly string[]
}

interface LayerOptions {
  readonly user?: boolean
  readonly userWorkspace?: boolean
  readonly shared?: boolean
}

const withLayerOptions = (parser: Parser): Parser =>
  parser
    .option('--user', "in the user's own configuration, for all workspaces")
    .option('--user-workspace', "in the user's own configuration of this workspace")
    .option('--shared', 'in the file of the workspace, which others share')

function layerOf({ user, userWorkspace, shared }: LayerOptions): EditableLayer | undefined {
  const chosen = [user && 'user', userWorkspace && 'user-workspace', shared && 'workspace'].filter(
    (layer): layer is EditableLayer => typeof layer === 'string',
  )
  if (chosen.length > 1) throw new UsageError('choose one of --user, --user-workspace and --shared')
  return chosen[0]
}

/** An edit of the files needs them; one of a person's own place does not (SPEC 2.1). */
const placeOf = (
  world: World,
  { cfg }: Pick<ServerOptions, 'cfg'>,
  needs: 'files' | 'nothing' = 'nothing',
): ProjectOptions => ({
  cwd: world.cwd,
  surroundings: world,
  cfg,
  trust: trustTerms(world, needs),
  // As `mcp serve` finds it; into a workspace's file is written where there is a mark.
  ...(needs === 'nothing' ? { unmarked: 'allow' } : {}),
})

const serverWorld = (world: World, options: ProjectOptions, scripts: ChangeWorld['scripts']): ChangeWorld => {
  const stop = new AbortController()
  world.onInterrupt(() => stop.abort())
  return {
    surroundings: world,
    pid: world.pid,
    signal: stop.signal,
    scripts,
    options,
    person: world.person,
    tell: (text) => world.err.write(text),
  }
}

interface ImportOptions extends ServerOptions, LayerOptions {
  readonly write?: boolean
  readonly undo?: boolean
  readonly dryRun?: boolean
  readonly install: boolean
  readonly ask?: boolean
  readonly for?: string
}

const registerImport: Register = (parser, world) => {
  withLayerOptions(
    parser
      .command('import')
      .description("take over the servers of a client's file, with the smallest access that is known")
      .argument('[file]', 'a file of a client; by default all of yours that are found')
      .option('--write', "change the client's file so that it starts them through Cordon; a backup is kept")
      .option('--undo', 'take back what an import wrote, there and here')
      .option('--dry-run', 'only say what would be done')
      .option('--no-install', 'keep npx, uvx and pipx as they are, and install nothing')
      .option('--ask', 'let Cordon ask before a call as well, not the client alone')
      .option('--for <directory>', 'their workspace, for a client that starts servers in no project'),
  )
    .addOption(cfgOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Looks for Claude Code, Claude Desktop, Cursor, VS Code, Gemini CLI and Codex.
Files of a project (.mcp.json, .cursor/mcp.json, …) may have come with a clone,
and are read when you name them. The values of variables stay in the client's file.

Examples:
  cordon mcp import --dry-run
  cordon mcp import --write
  cordon mcp import --undo`,
    )
    .action((file: string | undefined, options: ImportOptions) =>
      options.undo ? undo(world, file, options) : importServers(world, file, options),
    )
}

async function importServers(world: World, file: string | undefined, options: ImportOptions): Promise<void> {
  if (options.dryRun && options.write)
    throw new UsageError('--dry-run writes nothing, so it cannot be with --write')
  const layer = layerOf(options)
  const place = placeOf(world, options, layer === 'workspace' ? 'files' : 'nothing')
  const root = workspaceIfAny(place)?.root
  const where = { cwd: world.cwd, root, surroundings: world, program: world.program }
  const survey = file === undefined ? surveyClients(where) : surveyNamed(file, where)
  const catalog = await listServers(place)
  const plan = planImport(survey, {
    records: readRecords(world),
    taken: catalog.servers.map(({ name }) => name),
    granted: await grantedNames(place),
    layer,
    install: options.install ? 'packages' : 'nothing',
  })
  const style: EntryStyle = {
    program: world.program,
    asks: options.ask ? 'both' : 'client',
    directory: options.for === undefined ? undefined : resolve(world.cwd, options.for),
  }
  const write = options.write === true
  const importing = { ...serverWorld(world, place, 'not run'), root, style, write }
  const done = options.dryRun ? undefined : await performImport(plan, importing)
  if (options.json) writeJson(world, importJson(survey, plan, done))
  else
    world.out.write(
      formatImport(survey, plan, done, {
        root,
        home: world.home,
        style,
        write,
        isOnPath: cordonOnPath(world.cwd, world) !== undefined,
      }),
    )
  const failed = done?.some(({ servers }) => servers.some((server) => server.failed !== undefined)) ?? false
  const unchanged =
    write &&
    (done?.some((each) => each.servers.length > 0 && needsDirectory(each.file.place, style)) ?? false)
  if (failed || unchanged || survey.problems.length > 0) world.finish(EXIT.denied)
}

/** What an import is told of how to write: an undo has no use for any of it. */
const NOT_WITH_UNDO: readonly [(options: ImportOptions) => boolean, flag: string, why: string][] = [
  [({ write }) => write === true, '--write', 'takes back what was written'],
  [({ dryRun }) => dryRun === true, '--dry-run', 'has no dry run'],
  [({ ask }) => ask === true, '--ask', 'writes no entry'],
  [(options) => options.for !== undefined, '--for', 'writes no entry'],
  [({ install }) => !install, '--no-install', 'installs nothing'],
  [({ user }) => user === true, '--user', 'knows where it was written'],
  [({ userWorkspace }) => userWorkspace === true, '--user-workspace', 'knows where it was written'],
  [({ shared }) => shared === true, '--shared', 'knows where it was written'],
]

async function undo(world: World, file: string | undefined, options: ImportOptions): Promise<void> {
  for (const [isGiven, flag, why] of NOT_WITH_UNDO)
    if (isGiven(options)) throw new UsageError(`--undo ${why}, so it cannot be with ${flag}`)
  const place = placeOf(world, options)
  const undone = await undoImports(file === undefined ? undefined : resolve(world.cwd, file), {
    surroundings: world,
    options: place,
    pid: world.pid,
  })
  if (options.json) writeJson(world, undone)
  else if (undone.length > 0) world.out.write(formatUndone(undone, world.home))
  else world.err.write('nothing was imported from there\n')
  if (undone.some(({ left }) => left.length > 0)) world.finish(EXIT.denied)
}

interface AddOptions extends ServerOptions, LayerOptions {
  readonly env: readonly string[]
  readonly allowNet: readonly string[]
  readonly read: readonly string[]
  readonly writePath: readonly string[]
  readonly stateless?: boolean
  readonly optional?: boolean
  readonly scripts?: boolean
  readonly replace?: boolean
  readonly keepAccess?: boolean
  readonly install: boolean
}

const registerAdd: Register = (parser, world) => {
  withLayerOptions(
    parser
      .command('add')
      .description('add a server; what npx, uvx or pipx would fetch is installed now, pinned')
      .usage('[options] <name> -- <command...>')
      .showHelpAfterError(
        '(the command stands behind --, with options of its own: cordon mcp add NAME -- COMMAND)',
      )
      .argument('<name>', 'letters, digits, _ and -')
      .argument('<command...>', 'after --: the program and its arguments')
      .addOption(repeatable('--env <name>', 'let it see this variable'))
      .addOption(repeatable('--allow-net <host>', '[scheme://]host[:port][/path] that it may reach'))
      .addOption(repeatable('--read <path>', 'below the workspace: only what is named, to read'))
      .addOption(repeatable('--write-path <path>', 'the same, to read and write'))
      .option('--stateless', 'a fresh process for every call; access is then declared by tool')
      .option('--optional', 'go on without it when it does not start')
      .option('--scripts', 'let install scripts run: confined, with the registry as their only host')
      .option('--no-install', 'keep npx, uvx and pipx as they are')
      .option('--replace', 'in place of a server of that name')
      .option('--keep-access', 'it shall have what other files grant that name already'),
  )
    .addOption(cfgOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Without options it has the workspace, no network and a minimal environment.

Examples:
  cordon mcp add memory -- npx -y @modelcontextprotocol/server-memory
  cordon mcp add github --env GITHUB_TOKEN --allow-net api.github.com -- npx -y some-server`,
    )
    .action((name: string, line: readonly string[], options: AddOptions) => add(world, name, line, options))
}

/** A token that was typed where its name belongs. Names in capitals are never taken for one. */
const isNoVariable = (name: string): boolean => !/^[A-Z][A-Z0-9_]*$/.test(name) && looksSecret(name)

async function add(world: World, name: string, line: readonly string[], options: AddOptions): Promise<void> {
  world.requireExactWords(line)
  const assigned = options.env.find((variable) => variable.includes('='))
  if (assigned !== undefined)
    throw new UsageError(
      `--env ${show(assigned.slice(0, assigned.indexOf('=')))}=…: a value here would stand in a file; write the name, and set the variable where the server is started`,
    )
  if (options.scripts && !options.install)
    throw new UsageError('--scripts is about what is installed, so it cannot be with --no-install')
  if (options.env.some(isNoVariable))
    throw new UsageError(
      '--env takes the name of a variable, and this looks like a value: write the name, and set the variable where the server is started',
    )
  const layer = layerOf(options) ?? 'user'
  const place = placeOf(world, options, layer === 'workspace' ? 'files' : 'nothing')
  const [command = '', ...args] = line
  const added = await addServer(
    {
      name,
      layer,
      install: options.install ? 'packages' : 'nothing',
      replace: options.replace === true,
      keepAccess: options.keepAccess === true,
      definition: {
        line: [command, ...args],
        variables: options.env,
        hosts: options.allowNet.map(parseAllowNet),
        paths: [
          ...options.read.map((path) => ({ path, read: true })),
          ...options.writePath.map((path) => ({ path, read: true, write: true })),
        ],
        ...(options.stateless ? { stateful: false } : {}),
        ...(options.optional ? { optional: true } : {}),
      },
    },
    serverWorld(world, place, options.scripts ? 'confined' : 'not run'),
  )
  warn(world, [...added.notices, ...added.warnings])
  if (options.json)
    writeJson(world, { name, file: added.file, line: added.line, package: added.installed ?? null })
  else world.out.write(formatAdded(name, added, { root: workspaceIfAny(place)?.root, home: world.home }))
}
