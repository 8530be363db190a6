import { CordonError } from '@cordon/policy'
import { type ConfigOrigin, formatOrigin } from './layers.ts'

/** One thing wrong with the configuration: where, what, and what to write instead. */
export interface ConfigProblem {
  readonly origin: ConfigOrigin
  /** The key as a person writes it, `conversation.tools.x.run`; empty when the whole file is meant. */
  readonly key: string
  /** May have several lines; the later ones are indented already. */
  readonly message: string
  readonly fix?: string
  /** Only a person can say it, in a file of their own. */
  readonly personal?: true
}

/** SPEC 2: every problem at once. Nothing of a configuration with problems is used. */
export class ConfigError extends CordonError {
  readonly code = 'CONFIG'
  readonly problems: readonly ConfigProblem[]
  constructor(problems: readonly ConfigProblem[]) {
    const more = problems.length - MOST_SHOWN
    const shown = problems.slice(0, MOST_SHOWN).map(formatProblem)
    super([...shown, ...(more > 0 ? [`… and ${more} more problems`] : [])].join('\n\n'))
    this.problems = problems
  }
}

const MOST_SHOWN = 100

/** `error: …`, then where, then the way out. */
const formatProblem = (problem: ConfigProblem): string => formatAs('error', problem)

export const formatWarning = (problem: ConfigProblem): string => formatAs('warning', problem)

const formatAs = (kind: string, { origin, message, fix }: ConfigProblem): string =>
  [
    `${kind}: ${message}`,
    `  at ${formatOrigin(origin)}`,
    ...(fix === undefined ? [] : [`  fix: ${fix}`]),
  ].join('\n')
