import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { formatKeyPath, formatValue, setValue } from '@cordon/config'
import { CordonError, quote, shellWord, show } from '@cordon/policy'
import { findProgram } from '@cordon/sandbox'
import type { Person } from '../approve/approve.ts'
import type { EditableLayer, ProjectOptions } from '../project.ts'
import { changeLayer, type Changed, loadAnywhere, workspaceIfAny } from '../settings.ts'
import { findServer, listServers, type ServerView } from './catalog.ts'
import { looksSecret } from './clients/secrets.ts'
import { importsHere, missingEntry, relativeCode } from './code-files.ts'
import { changeRecords, readRecords } from './clients/records.ts'
import { leftOverLines, leftOvers } from './left-over.ts'
import { digestOfServer, type ServerDefinition, withServer } from './define.ts'
import { installPackage, lookAlike, resolvePackage, type ResolvedPin } from './install/install.ts'
import { type InstalledPackage, type InstallWorld, programPath } from './install/packages.ts'
import { readRunner } from './install/runner.ts'
import { takeOut, type TakenOut } from './take-out.ts'

/** A server cannot be added, changed or removed as asked. Nothing was written. */
class ServerChangeError extends CordonError {
  readonly code = 'SERVER'
}

export interface AddRequest {
  readonly name: string
  readonly layer: EditableLayer
  readonly definition: ServerDefinition
  readonly install: 'packages' | 'nothing'
  /** A server of that name in this layer is replaced. */
  readonly replace: boolean
  /** What other files grant that name is meant for this server. */
  readonly keepAccess: boolean
}

export interface Added extends Changed {
  readonly line: readonly [string, ...string[]]
  readonly installed: InstalledPackage | undefined
  readonly warnings: readonly string[]
}

export interface ChangeWorld extends InstallWorld {
  readonly options: ProjectOptions
  readonly person: Person | undefined
  readonly tell: (text: string) => void
}

/** `cordon mcp add`. A package is installed before anything names it, and nothing of it is started. */
export async function addServer(request: AddRequest, world: ChangeWorld): Promise<Added> {
  const { name, layer, definition } = request
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name) || name === '__proto__')
    throw new ServerChangeError(`${quote(name)} is not a server name\n  fix: use letters, digits, _ and -`)
  await refuseTaken(request, world)
  await refuseLeftOver(request, world)
  const [command, ...args] = definition.line
  const wanted = request.install === 'packages' ? readRunner(command, args) : undefined
  if (wanted && layer === 'workspace')
    throw new ServerChangeError(
      `${show(wanted.name)} is installed in your own place, whose path says nothing to others who use the workspace\n  fix: leave out --shared, or add --no-install`,
    )
  const secret = args.find((word, i) => looksSecret(word, args[i - 1]))
  if (layer === 'workspace' && secret !== undefined)
    throw new ServerChangeError(
      'an argument looks like a secret, and would stand in a file of the workspace\n  fix: leave out --shared, or hand it over in a variable (--env NAME)',
    )
  const installed = wanted && (await installWanted(await resolvePackage(wanted, world), world))
  const line: readonly [string, ...string[]] = installed
    ? [programPath(installed, wanted?.program), ...(wanted?.args ?? [])]
    : definition.line
  const changed = await changeLayer(world.options, layer, (text) =>
    withServer(text, name, { ...definition, line }),
  )
  const alike = wanted && lookAlike(wanted)
  const warnings = [
    ...(alike === undefined
      ? []
      : [`${show(wanted!.name)} is nearly ${alike}: make sure that it is the one you mean`]),
    ...(['docker', 'podman'].includes(basename(command))
      ? [
          `${basename(command)} needs the socket of its daemon, which is as good as all your rights: a confined program does not get it, so this will not start`,
        ]
      : []),
    ...notThere(line, world),
    ...(layer === 'user' ? relativeEverywhere(line) : []),
    ...importsHere(line),
    ...(secret === undefined ? [] : [secretStands(request, secret)]),
  ]
  return { ...changed, line, installed, warnings }
}

/** It may be installed later, and is looked for at every start: said, and not refused (decision 0500). */
function notThere(line: readonly [string, ...string[]], { options, surroundings }: ChangeWorld): string[] {
  const cwd = workspaceIfAny(options)?.root ?? options.cwd
  const added = 'the server is added, and starts once it is'
  try {
    findProgram(line[0], cwd, surroundings.env['PATH'] ?? '')
  } catch (error) {
    if (error instanceof CordonError) return [`${error.message}: ${added} there`]
    throw error
  }
  const entry = missingEntry(line, cwd)
  return entry === undefined
    ? []
    : [`${show(line[0])} is to run ${show(entry)}, which is not there: ${added}`]
}

/** In every clone it would start the clone's own. */
function relativeEverywhere(line: readonly string[]): string[] {
  const file = relativeCode(line)
  return file === undefined
    ? []
    : [
        `${show(file)} is a relative path, and this server is for all workspaces: in each it is another program; --user-workspace adds it for this one alone`,
      ]
}

/** Never with the value: what was typed stands in enough places already. */
function secretStands({ name, layer, definition: { line } }: AddRequest, secret: string): string {
  const variable = /^([A-Z_][A-Z0-9_]*)=/.exec(secret)?.[1] ?? 'NAME'
  const where = layer === 'user-workspace' ? ' --user-workspace' : ''
  return [
    'an argument looks like a secret: it stands in your configuration now, and in the list of processes while the server runs',
    `  fix: where the server takes it from a variable, name that, and set it where the server is started: cordon mcp add ${name} --replace${where} --env ${variable} -- ${shellWord(line[0])} …`,
  ].join('\n')
}

async function refuseTaken({ name, replace }: AddRequest, { options }: ChangeWorld): Promise<void> {
  const { loaded } = await loadAnywhere(options)
  const origin = loaded.origin(['providers', 'mcp', name, 'command'])
  if (origin && !replace)
    throw new ServerChangeError(
      `there is a server ${quote(name)} already (${origin.label})\n  fix: choose another name, or add --replace`,
    )
}

/** SPEC 5.5: a grant was given to a program, and goes to another one of its name only by a person's word (decision 0328). */
async function refuseLeftOver(
  { name, layer, keepAccess }: AddRequest,
  { options, person }: ChangeWorld,
): Promise<void> {
  const left = keepAccess ? [] : await leftOvers(name, layer, options)
  if (left.length === 0) return
  const said = [
    `the configuration grants ${quote(name)} something already, from before or for another server:`,
    ...leftOverLines(left, options.surroundings.home),
  ].join('\n')
  if (await person?.confirms(`${said}\nShall the new server have it? [y/N] `)) return
  throw new ServerChangeError(
    `${person ? `${quote(name)} was not added` : said}\n  fix: take it out, choose another name, or add --keep-access if it is meant for this one`,
  )
}

const installWanted = (pin: ResolvedPin, world: ChangeWorld): Promise<InstalledPackage> => {
  world.tell(`installing ${show(`${pin.name} ${pin.version}`)}\n`)
  return installPackage(pin, world)
}

/** `cordon mcp rm`: out of the layer that defines it. One that a client starts would only fail there. */
export async function removeServer(
  name: string,
  { options, force }: { readonly options: ProjectOptions; readonly force: boolean },
): Promise<Changed & TakenOut> {
  const server = await findOrSayLeft(name, options)
  const layer = editable(server)
  const client = server.clients.find(({ written }) => written)
  if (client && !force)
    throw new ServerChangeError(
      `${client.title} starts ${quote(name)} through Cordon (${show(client.file)})\n  fix: cordon mcp import --undo, which takes it back there as well; or add --force`,
    )
  return takeOut(name, layer, editing(options, layer))
}

/** SPEC 2.1: an edit of the workspace's file needs the files, one of a person's own does not. */
const editing = (options: ProjectOptions, layer: EditableLayer): ProjectOptions =>
  layer === 'workspace'
    ? { ...options, unmarked: 'refuse', trust: options.trust && { ...options.trust, needs: 'files' } }
    : options

async function findOrSayLeft(name: string, options: ProjectOptions): Promise<ServerView> {
  const catalog = await listServers(options)
  if (!catalog.servers.some((server) => server.name === name)) {
    const left = await leftOvers(name, 'user', options)
    const own = await leftOvers(name, 'workspace', options)
    const all = [...left, ...own.filter(({ layer }) => layer === 'user')]
    if (all.length > 0)
      throw new ServerChangeError(
        [
          `there is no server ${quote(name)}, only what is granted to that name:`,
          ...leftOverLines(all, options.surroundings.home),
        ].join('\n'),
      )
  }
  return findServer(catalog, name)
}

function editable({ name, layer, defined, state }: ServerView): EditableLayer {
  if (state === 'waits for trust')
    throw new ServerChangeError(
      `${quote(name)} is defined in ${show(defined)}, which nobody has trusted\n  fix: cordon trust, or edit it there`,
    )
  if (layer === 'user' || layer === 'workspace' || layer === 'user-workspace') return layer
  throw new ServerChangeError(`${quote(name)} is defined in ${show(defined)}\n  fix: edit it there`)
}

export type Updated =
  | { readonly kind: 'current'; readonly installed: InstalledPackage }
  | { readonly kind: 'refused'; readonly from: InstalledPackage; readonly to: ResolvedPin }
  | {
      readonly kind: 'updated'
      readonly from: InstalledPackage
      readonly to: InstalledPackage
      readonly file: string
    }

/**
 * `cordon mcp update`: another version of the same package, by a person's word. The new one is installed beside the old
 * one, so that what runs is not changed under its feet.
 */
export async function updateServer(
  name: string,
  version: string | undefined,
  world: ChangeWorld & { readonly yes: boolean },
): Promise<Updated> {
  const server = findServer(await listServers(world.options), name)
  const layer = editable(server)
  const { installed } = server
  if (!installed)
    throw new ServerChangeError(
      `${quote(name)} is no package that Cordon installed, so there is nothing to update`,
    )
  const same = { ...world, scripts: installed.scripts }
  const { from, name: pkg } = installed
  const pin = await resolvePackage({ from, name: pkg, version, program: undefined, args: [] }, same)
  if (pin.version === installed.version && pin.integrity === installed.integrity)
    return { kind: 'current', installed }
  const question = `${name}: ${show(pkg)} ${show(installed.version)} → ${show(pin.version)} (${show(pin.integrity)})\nStart the new one from now on? [y/N] `
  if (!world.yes && !(await world.person?.confirms(question)))
    return { kind: 'refused', from: installed, to: pin }
  const to = await installWanted(pin, same)
  const program = Object.entries(installed.programs).find(
    ([, path]) => server.line[0] === `${installed.dir}/${path}`,
  )
  const command = programPath(to, program?.[0])
  let written = ''
  const { file } = await changeLayer(editing(world.options, layer), layer, (text) => {
    written = setValue(text, formatKeyPath(['providers', 'mcp', name, 'command']), formatValue(command))
    return written
  })
  await followImports(name, server.line, [command, ...server.line.slice(1)], written, world)
  return { kind: 'updated', from: installed, to, file }
}

/** What was imported stays known under its new command line, and with it where its variables are. */
async function followImports(
  name: string,
  before: readonly string[],
  line: readonly string[],
  text: string,
  { surroundings, pid }: ChangeWorld,
): Promise<void> {
  const isMeant = (server: { readonly name: string; readonly line: readonly string[] }): boolean =>
    server.name === name && isDeepStrictEqual([...server.line], [...before])
  if (!readRecords(surroundings).some((record) => record.servers.some(isMeant))) return
  await changeRecords(surroundings, pid, async (records, write) => {
    const sha256 = digestOfServer(text, name)
    write(
      records.map((record) => ({
        ...record,
        servers: record.servers.map((server) => (isMeant(server) ? { ...server, line, sha256 } : server)),
      })),
    )
  })
}
