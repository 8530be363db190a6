import { realpathSync } from 'node:fs'
import { isAbsolute, normalize, resolve } from 'node:path'
import { type Command as Parser, InvalidArgumentError, Option } from 'commander'
import type { ConversationChoice } from '@cordon/host'
import { show } from '@cordon/policy'
import { UsageError } from './report.ts'
import type { World } from './world.ts'

/** What every command that reads the configuration may be told about it. */
export interface ConfigOptions {
  readonly cfg: readonly string[]
  /** Undefined: whichever the command takes by itself. False: none. */
  readonly id?: string | false
}

/** The conversation that a command takes by itself. */
type OwnChoice = 'last used' | 'none'

/** As the host understands it. */
export const choiceOf = (
  { id }: Pick<ConfigOptions, 'id'>,
  own: OwnChoice = 'last used',
): ConversationChoice => (id === undefined ? own : id === false ? 'none' : { id })

/** `--cfg key=value | file`, on every command that reads the configuration (SPEC 2). */
export const cfgOption = (): Option =>
  repeatable('--cfg <key=value|file>', 'override the configuration; may be repeated, later ones win')

export const repeatable = (flags: string, description: string): Option =>
  new Option(flags, description)
    .argParser((value: string, before: string[]) => [...before, notTheEnd(value)])
    .default([], 'none')

/** What ends the options is the value of none: it was left out. */
function notTheEnd(value: string): string {
  if (value === '--') throw new InvalidArgumentError('its value is missing.')
  return value
}

/** SPEC 4.9, where something is attached. */
export const sensitiveOption = (): Option =>
  new Option('--sensitive', 'attach also what may be secret (.env, keys) in directories and patterns')

export interface JsonOption {
  readonly json?: boolean
}

export const jsonOption = (): Option => new Option('--json', 'print one JSON value for programs')

/** `--id` and `--no-id`: whose layer of the configuration counts (SPEC 2). */
export const idOption = (own = 'in the last used'): Option =>
  new Option('--id <conversation>', `in this conversation, by its id or enough of it; else ${own}`)

/** Both of them, of which one is meant at most. The parser has one value for the two, so it would take the last. */
export function withIdOptions(parser: Parser, own?: string): Parser {
  const given = new Set<string>()
  for (const name of ['id', 'no-id'])
    parser.on(`option:${name}`, () => {
      if (given.add(name).size > 1)
        parser.error('error: --id names a conversation and --no-id none: write one of them')
    })
  return parser
    .addOption(idOption(own))
    .addOption(new Option('--no-id', 'in no conversation: only what is configured in files'))
}

/** A command that reads the configuration as it is in a conversation. */
export const withConfigOptions = (parser: Parser, own: OwnChoice = 'last used'): Parser =>
  withIdOptions(parser.addOption(cfgOption()), own === 'none' ? 'in none' : undefined)

export interface CommonOptions extends ConfigOptions, JsonOption {}

export const withCommonOptions = (parser: Parser): Parser => withConfigOptions(parser).addOption(jsonOption())

export interface WorkspaceOption {
  readonly workspace?: string
}

/** Clients start their servers in any directory, such as the home or `/`, so the workspace can be named. */
export const workspaceOption = (): Option =>
  new Option('--workspace <directory>', 'work there instead of in the current directory')

/**
 * The same world, standing elsewhere. PWD is the way there, as after a `cd`: a link on it that a command may have made is looked
 * for by whoever opens the workspace (decision 0128).
 */
export function standingIn(world: World, { workspace }: WorkspaceOption): World {
  if (workspace === undefined) return world
  const cwd = realOf(resolve(world.cwd, workspace))
  if (cwd === undefined) throw new UsageError(`--workspace ${show(workspace)}: there is no such directory`)
  const env = { ...world.env, PWD: wayTo(workspace, world) }
  return Object.create(world, { cwd: { value: cwd }, env: { value: env } }) as World
}

/** From where the person came to stand. A `..` stays: behind a link it is not what the path says. */
function wayTo(directory: string, { cwd, env: { PWD: came } }: World): string {
  if (isAbsolute(directory)) return resolve(directory)
  const here = came !== undefined && isAbsolute(came) && realOf(came) === cwd ? came : cwd
  return `${here}/${normalize(directory)}`
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}
