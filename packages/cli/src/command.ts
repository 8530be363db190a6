import type { Command as Parser } from 'commander'
import type { World } from './world.ts'

/** A line of `cordon --help`. The module is loaded only when its command is the one that was typed. */
export interface Command {
  readonly name: string
  readonly alias?: string
  readonly summary: string
  readonly load: () => Promise<{
    readonly register: Register
    /** What was typed, as the parser can read it. */
    readonly prepare?: (argv: readonly string[]) => readonly string[]
  }>
}

/** Declares arguments, options, subcommands and what runs; what runs ends with `world.finish(code)`. */
export type Register = (parser: Parser, world: World) => void

/** Apart from the other commands: these are programs of their own as well. */
export const RUN = { name: 'run', summary: 'run a command with exactly the access you grant' } as const
export const QUERY = {
  name: 'query',
  alias: 'q',
  summary: 'ask a model that has tools, each confined',
} as const
export const TOOL = { name: 'tool', summary: 'run, list and show tools' } as const
