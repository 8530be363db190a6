import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROVIDER_DIR, userDataDir } from '@cordon/host'
import { show } from '@cordon/policy'
import { Admin, type Command, COMMANDS, type DatabaseChoice, toolNameOf } from '@cordon/provider'
import { type Command as Parser, Option } from 'commander'
import { jsonOption } from './options.ts'
import { UsageError } from './report.ts'
import type { World } from './world.ts'

export interface ProviderFlags {
  readonly database?: string
  readonly dir?: string
  readonly json?: boolean
}

/** Every command of the provider says where its state is; by default in the user's own data. */
export const withProviderOptions = (parser: Parser): Parser =>
  parser
    .addOption(
      new Option('--database <url>', 'a PostgreSQL that several providers share, instead of a file').env(
        'CORDON_PROVIDER_DATABASE',
      ),
    )
    .addOption(dirOption())

/** For the commands of an agent on this host: all they need to be told is where its wallet is. */
export const dirOption = (): Option =>
  new Option('--dir <directory>', 'where the key, the embedded database and the wallets are kept').env(
    PROVIDER_DIR,
  )

/** Where browsers find the provider: a host name, as passkeys need one. */
export const originOption = (): Option =>
  new Option('--origin <url>', 'where browsers find the provider; anything but localhost needs https')
    .env('CORDON_PROVIDER_ORIGIN')
    .default('http://localhost:7420')

export const providerCommand = (parser: Parser, name: string, summary: string): Parser =>
  withProviderOptions(parser.command(name).description(summary)).addOption(jsonOption())

export const providerDir = (world: World, { dir }: ProviderFlags): string =>
  dir ?? join(userDataDir(world), 'provider')

export function databaseChoice(world: World, flags: ProviderFlags): DatabaseChoice {
  const { database } = flags
  if (database === undefined) return { file: join(providerDir(world, flags), 'provider.db') }
  if (/^postgres(?:ql)?:\/\//.test(database)) return { url: database }
  throw new UsageError('--database expects a URL that begins with postgres://')
}

/**
 * With everything closed at the end, however it ended. A provider that is not there is not made by being looked at or
 * changed: most often its directory is misspelt.
 */
export async function asAdmin<T>(
  world: World,
  flags: ProviderFlags,
  act: (admin: Admin) => Promise<T>,
): Promise<T> {
  const choice = databaseChoice(world, flags)
  if ('file' in choice && !existsSync(choice.file))
    throw new UsageError(
      flags.dir === undefined
        ? 'there is no provider yet\n  fix: `cordon provider serve` starts one'
        : `there is no provider in ${show(flags.dir)}\n  fix: another --dir, or \`cordon provider serve\` starts one there`,
    )
  return asFirstAdmin(world, flags, act)
}

/** For what may be the first thing that is done to a provider: afterwards there is one. */
export async function asFirstAdmin<T>(
  world: World,
  flags: ProviderFlags,
  act: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = await Admin.open({
    choice: databaseChoice(world, flags),
    dir: providerDir(world, flags),
    by: `uid ${world.uid ?? 'unknown'} at the terminal`,
  })
  try {
    return await act(admin)
  } finally {
    await admin.close()
  }
}

/** A file that was named on the command line. */
export function readLocal(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new UsageError(`cannot read ${show(file)}: ${(error as Error).message}`)
  }
}

/** `file_read`, `filesystem_file_read` or `/filesystem/file/read` */
export function parseCommand(name: string): Command {
  const short = (command: Command): string => toolNameOf(command).replace('filesystem_', '')
  const found = COMMANDS.find((command) => [command, toolNameOf(command), short(command)].includes(name))
  if (found) return found
  throw new UsageError(`there is no command ${show(name)}; there are: ${COMMANDS.map(short).join(', ')}`)
}

/** `90s`, `15m`, `12h`, `30d` */
export function parseDuration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count === undefined || unit === undefined)
    throw new UsageError(`${JSON.stringify(text)} is not a duration: write 90s, 15m, 12h or 30d`)
  return Number(count) * SECONDS[unit]!
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }
