import { type Command as Parser, Option } from 'commander'

/** `--cfg key=value | file`, on every command that reads the configuration (SPEC 2). */
export const cfgOption = (): Option =>
  new Option('--cfg <key=value|file>', 'override the configuration; may be repeated, later ones win')
    .argParser((value: string, before: string[]) => [...before, value])
    .default([], 'none')

export const jsonOption = (): Option => new Option('--json', 'print one JSON value for programs')

/** What `--json` and `--cfg` look like to a command's action. */
export interface CommonOptions {
  readonly cfg: readonly string[]
  readonly json?: boolean
}

export const withCommonOptions = (parser: Parser): Parser =>
  parser.addOption(cfgOption()).addOption(jsonOption())
