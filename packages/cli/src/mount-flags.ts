import type { MountFlag } from '@cordon/host'
import { type Command as Parser, Option } from 'commander'

/** `--mount` and `--no-mount[=NAME]` on a command (SPEC 3.3, 3.4): both repeatable, and their order counts. */
export function withMountFlags(parser: Parser): Parser {
  // To commander the two are one setting, so each is handed the list that the ones before it made.
  const adding = (flag: (value: string) => MountFlag) => (value: string, before: MountFlags['mount']) => [
    ...(Array.isArray(before) ? (before as MountFlag[]) : []),
    flag(value),
  ]
  return parser
    .addOption(
      new Option('--mount <[tool:]name=path[:mode]>', 'mount a place outside; may be repeated').argParser(
        adding((text) => ({ kind: 'mount', text })),
      ),
    )
    .addOption(
      new Option('--no-mount [=name]', 'take a mount back, or all of them; may be repeated').argParser(
        adding((name) => ({ kind: 'no-mount', name: name === '' ? undefined : name })),
      ),
    )
}

/** As commander keeps it. */
export interface MountFlags {
  readonly mount?: readonly MountFlag[] | boolean
}

/** In the order they were typed. */
export const mountFlagsOf = ({ mount }: MountFlags): readonly MountFlag[] =>
  Array.isArray(mount) ? (mount as MountFlag[]) : []

/**
 * For commander an optional value may also be the next word, so `query --no-mount "some text"` would take the text
 * for a name. A bare `--no-mount` becomes one with an empty value.
 */
export function withBareNoMount(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, i) => (word === '--no-mount' && (end < 0 || i < end) ? '--no-mount=' : word))
}
