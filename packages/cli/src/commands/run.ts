import { type Command as Parser, InvalidArgumentError, Option } from 'commander'
import type { Register } from '../command.ts'
import { cfgOption, repeatable, withIdOptions } from '../options.ts'
import { runCommand, type RunOptions, showRun } from '../run-command.ts'
import type { World } from '../world.ts'

export const register: Register = (parser, world) => {
  withRunOptions(parser)
    .addHelpText('after', HELP)
    .action((words: string[], options: ShowableOptions) => runOrShow(parser, world, words, options))
}

export interface ShowableOptions extends RunOptions {
  readonly show?: boolean
}

/** Also of `cordon mcp wrap`. */
export function runOrShow(
  parser: Parser,
  world: World,
  [program, ...args]: readonly string[],
  { show, ...options }: ShowableOptions,
): Promise<void> {
  if (show) return showRun(world, [program ?? '/bin/sh', ...args], options)
  if (program === undefined) return parser.error("error: missing required argument 'command'")
  return runCommand(world, [program, ...args], options)
}

/** Also of `cordon mcp wrap`. */
export function withRunOptions(parser: Parser): Parser {
  const declared = parser
    .usage('[options] -- <command> [args...]')
    .argument('[command...]', 'the program and its arguments')
    .addOption(new Option('--tool <name>', "use a tool's policy").conflicts('profile').argParser(onlyOne))
    .addOption(repeatable('--profile <name>', 'use a profile: a shipped one (cordon profile ls) or your own'))
    .addOption(repeatable('--read <path>', 'grant reading a file or directory'))
    .addOption(repeatable('--write <path>', 'grant reading and writing a file or directory'))
    .addOption(repeatable('--execute <path>', 'grant reading and executing a file or directory'))
    .addOption(repeatable('--allow-net <host>', 'grant [scheme://]host[:port][/path]'))
    .addOption(repeatable('--env <name>', 'pass a variable on'))
    .option(
      '--unix-sockets',
      'allow unix sockets of its own; of the host, only one that lies in a granted place',
    )
    .addOption(cfgOption())
  return withIdOptions(declared, 'in none, or with --tool or --profile in the last used')
    .option('--here', 'take just the current directory as the workspace')
    .option('--show', 'print what the command would have, and start nothing')
    .option('--why', 'pass its output through us, so that more can be explained; at a terminal')
    .addOption(
      new Option('--json-fd <n>', 'write the outcome as one JSON object to this file descriptor').argParser(
        parseFd,
      ),
    )
    .option('-q, --quiet', 'say only what is not held, what files wanted, and what the command says')
    .passThroughOptions()
}

const HELP = `
Without options the command may read, write and execute in the workspace (the
directory marked by cordon init, else the git repository around, else the
current directory), and read what the system has installed. It has no network, a
minimal environment, and an empty private home and /tmp. Exit code, signals and
streams pass through.

A <path> must exist before it can be granted. One outside the workspace adds to
this. One in it replaces the default there: only what is named is left.

Examples:
  cordon run -- npm test
  cordon run --read ~/shared --write ../other -- make
  cordon run --read . --write build -- make
  cordon run --allow-net api.github.com -- ./fetch-issues.sh`

/** Of two policies none would be the one that was meant; profiles add up. */
function onlyOne(name: string, before: string | undefined): string {
  if (before !== undefined) throw new InvalidArgumentError('it is given twice, and one policy is used.')
  return name
}

/** The first three are the command's. */
function parseFd(text: string): number {
  if (!/^(?:[3-9]|[1-9]\d{1,3})$/.test(text))
    throw new InvalidArgumentError('a number from 3 on, as in `3> outcome.json`.')
  return Number(text)
}
