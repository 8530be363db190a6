import { type Command as Parser, Option } from 'commander'
import type { ConfigOptions } from './config-options.ts'

export { choiceOf, type ConfigOptions } from './config-options.ts'

/** `--cfg key=value | file`, on every command that reads the configuration (SPEC 2). */
export const cfgOption = (): Option =>
  repeatable('--cfg <key=value|file>', 'override the configuration; may be repeated, later ones win')

export const repeatable = (flags: string, description: string): Option =>
  new Option(flags, description)
    .argParser((value: string, before: string[]) => [...before, value])
    .default([], 'none')

export const jsonOption = (): Option => new Option('--json', 'print one JSON value for programs')

/** `--id` and `--no-id`: whose layer of the configuration counts (SPEC 2). */
export const idOption = (): Option =>
  new Option('--id <conversation>', 'in this conversation, by its id or enough of it; else in the last used')

export const noIdOption = (): Option =>
  new Option('--no-id', 'in no conversation: only what is configured in files')

/** A command that reads the configuration as it is in a conversation. */
export const withConfigOptions = (parser: Parser): Parser =>
  parser.addOption(cfgOption()).addOption(idOption()).addOption(noIdOption())

export interface CommonOptions extends ConfigOptions {
  readonly json?: boolean
}

export const withCommonOptions = (parser: Parser): Parser => withConfigOptions(parser).addOption(jsonOption())
