import { type Command as Parser, Option } from 'commander'
import type { Register } from '../command.ts'
import { cfgOption, idOption, noIdOption, repeatable } from '../options.ts'
import { runCommand, type RunOptions } from '../run-command.ts'

export const register: Register = (parser, world) => {
  declare(parser).action((command: [string, ...string[]], options: RunOptions) =>
    runCommand(world, command, options),
  )
}

function declare(parser: Parser): Parser {
  return parser
    .usage('[options] -- <command> [args...]')
    .argument('<command...>', 'the program and its arguments')
    .addOption(new Option('--tool <name>', "use a tool's policy").conflicts('profile'))
    .option('--profile <name>', 'use the policy of [profiles.<name>.access]')
    .addOption(repeatable('--read <path>', 'grant reading a path of the workspace'))
    .addOption(repeatable('--write <path>', 'grant reading and writing a path of the workspace'))
    .addOption(repeatable('--execute <path>', 'grant reading and executing a path of the workspace'))
    .addOption(repeatable('--allow-net <host[:port][/path]>', 'grant a host, or a part of one'))
    .addOption(repeatable('--env <name>', 'pass a variable on'))
    .addOption(cfgOption())
    .addOption(idOption())
    .addOption(noIdOption())
    .option('-q, --quiet', 'say nothing but what the command says')
    .passThroughOptions()
    .addHelpText(
      'after',
      `
Without options the command may read, write and execute in the workspace, and
read what the system has installed. It has no network, a minimal environment,
and an empty private home and /tmp. Exit code, signals and streams pass through.
A <path> is in the workspace, and exists: what does not cannot be granted.

Examples:
  cordon run -- npm test
  cordon run --read . --write build -- make
  cordon run --allow-net api.github.com -- ./fetch-issues.sh`,
    )
}
