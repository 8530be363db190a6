import { Command as Parser, CommanderError } from 'commander'
import { type Command, type Register, RUN } from './command.ts'
import { EXIT, reportError, reportRunError, RUN_EXIT } from './report.ts'
import type { World } from './world.ts'

/** Parses the command line, loads the one command it names and runs it. Never throws. */
export async function run(commands: readonly Command[], world: World, version: string): Promise<void> {
  const typed = typedCommand(commands, world.argv)
  await reporting(world, typed?.name === RUN.name, async () => {
    const parser = topLevel(world, version)
    let words = world.argv
    for (const command of commands) {
      const sub = parser.command(command.name).description(command.summary)
      if (command.alias !== undefined) sub.alias(command.alias)
      if (command !== typed) continue
      const { register, prepare } = await command.load()
      register(sub, world)
      words = prepare?.(words) ?? words
    }
    if (words.length === 0) return parser.outputHelp()
    // Of a command that there is not, Commander would show all of the help, and say nothing of it.
    if (words[0] === 'help' && /^\w/.test(words[1] ?? '') && !typed && words[1] !== 'help')
      words = words.slice(1)
    await parser.parseAsync(words, { from: 'user' })
  })
}

/**
 * The same for a program that is one command, which is the first word: what would find it among others need not be made for
 * every start (decision 0296).
 */
export async function runAlone(
  { name, summary }: Pick<Command, 'name' | 'summary'>,
  register: Register,
  world: World,
): Promise<void> {
  await reporting(world, name === RUN.name, async () => {
    const parser = styled(new Parser(`cordon ${name}`), world).description(summary)
    register(parser, world)
    await parser.parseAsync(world.argv.slice(1), { from: 'user' })
  })
}

async function reporting(world: World, isRun: boolean, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    // Help ends parsing by throwing, with exit code 0; every other CommanderError is a wrong command line.
    if (error instanceof CommanderError)
      world.finish(error.exitCode === 0 ? EXIT.ok : isRun ? RUN_EXIT.failed : EXIT.usage)
    else world.finish((isRun ? reportRunError : reportError)(world, error))
  }
}

/** `cordon why …` and `cordon help why` both need the real module; for the rest a line of help is enough. */
function typedCommand(commands: readonly Command[], argv: readonly string[]): Command | undefined {
  const words = argv.filter((word) => !word.startsWith('-'))
  const name = words[0] === 'help' ? words[1] : words[0]
  return commands.find((command) => command.name === name || (name !== undefined && command.alias === name))
}

const topLevel = (world: World, version: string): Parser =>
  styled(new Parser('cordon'), world)
    .description('Gives the tools of AI agents exactly the access you granted, and proves it.')
    .version(version, '-V, --version', 'print the version')
    .enablePositionalOptions()

const styled = (parser: Parser, world: World): Parser =>
  parser
    .helpOption('-h, --help', 'show help')
    .exitOverride()
    // Where little room is left for words, they are still broken between words.
    .configureHelp({ styleTitle: (text) => world.out.style('bold', text), minWidthToWrap: 20 })
    .configureOutput({
      writeOut: (text) => world.out.write(text),
      writeErr: (text) => world.err.write(text),
      outputError: (text, write) => write(text.replace(/^error:/, world.err.style('red', 'cordon:'))),
    })
    .showHelpAfterError('(run with --help for the usage)')
