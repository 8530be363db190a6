import type { Writable } from 'node:stream'
import type { Exit, LostGuarantee, ProxyDecision, Succession } from '@cordon/sandbox'
import type { Confinement } from '../planning.ts'
import type { Hint } from './hints.ts'

export interface RunRequest extends Confinement {
  /** Where error output goes when it passes through us, so that a failure can be explained better. */
  readonly stderr: () => 'inherit' | Writable
  readonly signal?: AbortSignal
  /** Called when the process is running, with how to pass a signal on to it; returns what to do when it has ended. */
  readonly onStart: (kill: (signal: NodeJS.Signals) => void) => () => void
  /** Absent: whoever calls waits for the end, whatever it costs. */
  readonly successor?: Successor
}

/** How this process lets the launcher take its place, and is started again when there is something to explain. */
interface Successor {
  readonly commandLine: readonly [string, ...string[]]
  readonly code: readonly string[]
  readonly wanted: Succession['wanted']
  readonly beforeLeaving: () => void
  /** We are the one who was started again, and this is what the launcher had to say. */
  readonly report: string | undefined
}

export interface RunOutcome {
  readonly exit: Exit
  /** Exactly what the proxy refused. */
  readonly refused: readonly ProxyDecision[]
  /** What it allowed in vain, in words: else it would be taken for a refusal. */
  readonly unreached: readonly string[]
  readonly lost: readonly LostGuarantee[]
  readonly notes: readonly string[]
  /** Only when the program failed; always a guess. */
  readonly hints: readonly Hint[]
}
