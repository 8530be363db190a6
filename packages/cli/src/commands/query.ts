import { Option } from 'commander'
import type { MountFlag } from '@cordon/host'
import type { Register } from '../command.ts'
import { cfgOption, idOption, repeatable, sensitiveOption } from '../options.ts'
import type { QueryFlags } from '../query.ts'

/** In the order in which they were typed: flags apply from left to right (SPEC 3.4). */
const mounts: MountFlag[] = []
/** Of `--no-tool`; empty: all of them. */
const withheld: string[] = []

/** `--no-mount` alone means all of them; only `--no-mount=NAME` has a name, so that a text may follow. So has `--no-tool`. */
export const prepare = (argv: readonly string[]): readonly string[] => {
  const end = argv.indexOf('--')
  return argv.map((word, i) => (WITHOUT_NAME.has(word) && (end < 0 || i < end) ? `${word}=` : word))
}

const WITHOUT_NAME: ReadonlySet<string> = new Set(['--no-mount', '--no-tool'])

/** The parser keeps `--no-x` under the name of `--x`: what that holds stays as it is. */
const aside =
  (take: (value: string) => unknown) =>
  <T>(value: string, before: T): T => {
    take(value)
    return before
  }

export const register: Register = (parser, world) => {
  parser
    .argument('[text...]', 'what you want; without it, at a terminal, you are asked')
    .addOption(new Option('--new', 'begin a new conversation').conflicts(['id', 'last']))
    .addOption(idOption().conflicts('last'))
    .addOption(new Option('--last', 'in the last used conversation of the workspace, by whichever terminal'))
    .addOption(
      new Option('--resume', 'go on with a turn that was interrupted, or that a crash ended').conflicts(
        'new',
      ),
    )
    .addOption(new Option('-m, --model <provider/model>', 'ask this model'))
    .addOption(repeatable('-a, --attach <path|url>', 'attach it, as it is now; may be repeated'))
    .addOption(sensitiveOption())
    .addOption(
      new Option(
        '--mount <[tool:]name=path[:ro|:rw]>',
        'let tools reach a place outside, as `cordon mount add`',
      ).argParser(aside((text) => mounts.push({ kind: 'mount', text }))),
    )
    .addOption(
      new Option(
        '--no-mount <name>',
        'take a mount back (--no-mount=NAME), or all of them (--no-mount)',
      ).argParser(aside((name) => mounts.push({ kind: 'no-mount', name: name === '' ? undefined : name }))),
    )
    .addOption(repeatable('--tool <name>', 'offer only this tool; may be repeated'))
    .addOption(
      new Option('--no-tool <name>', 'offer no tools, or all but this one (--no-tool=NAME)').argParser(
        aside((name) => withheld.push(name)),
      ),
    )
    .addOption(new Option('--schema <file|json>', 'answer with JSON that fits this JSON Schema, or fail'))
    .addOption(new Option('-e, --edit', 'write the text in your $EDITOR'))
    .addOption(new Option('-q, --quiet', 'print the answer and nothing else'))
    .addOption(
      new Option(
        '--no-persist',
        'keep no conversation; attached content stays until a `cordon gc` a day later',
      ),
    )
    .addOption(cfgOption())
    .addOption(new Option('--json', 'print one JSON value a line, as it happens').conflicts('quiet'))
    .addHelpText(
      'after',
      `
What is piped in is added to the text. Every tool runs confined, under its own
policy; whether you are asked first is its run mode
(conversation.tools.NAME.run). Without a terminal, what would have to be asked
is refused.

Ctrl-C stops the tool that runs, then the turn; what came is kept.

Examples:
  cordon q "what does src/main.ts do?"
  cordon q --attach ~/Downloads/report.pdf "summarise"
  cordon q --mount fork=~/code/forks/x "what does fork do better?"
  git diff | cordon q --quiet "write a commit message"

Exit code: 0 when the model was done, 1 when it was not, 2 when the question or
the configuration makes no sense; after a signal that of the signal, and where
nobody reads any more (| head) that of SIGPIPE.`,
    )
    .action(async (words: readonly string[], options: QueryFlags) => {
      const { query } = await import('../query.ts')
      await query(world, words.join(' '), { ...options, mounts, withheld })
    })
}
