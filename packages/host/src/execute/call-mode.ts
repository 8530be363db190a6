import type { RunMode, ToolConfig } from '@cordon/config'
import { loadPatternTest } from './patterns.ts'
import { type CallPaths, decideRunMode, type RunDecision } from './run-mode.ts'

/** Whatever can be called, as far as it matters for the question whether it may. */
export interface CallableTool {
  readonly config: Pick<ToolConfig, 'run' | 'runIsWritten'>
  /** A person said that it need not be asked about any more. */
  readonly isAllowed?: boolean
  /** What a call touches, where that is known. */
  readonly pathsIn?: CallPaths
  /** SPEC 4.9: what a person is told of a call that names what may be secret. */
  readonly secretIn: (args: unknown) => string | undefined
}

export interface CallMode extends RunDecision {
  readonly mode: RunMode
  /** What the question says of it: what may be secret. */
  readonly secret: string | undefined
  /** `leave out`: the call names none, and nobody wrote that all of it may be had. */
  readonly secrets: 'take' | 'leave out'
}

/**
 * SPEC 6.5, decision 0365: neither Cordon's own default nor an answer `always` covers what may be secret. Who wrote
 * `unattended` into a configuration meant it.
 */
export async function decideCallMode(tool: CallableTool, args: unknown): Promise<CallMode> {
  const { config, isAllowed = false, pathsIn, secretIn } = tool
  const decision = decideRunMode(config.run, args, await loadPatternTest(config.run), pathsIn)
  const isAnswered = decision.mode === 'ask' && isAllowed
  const mode = isAnswered ? 'unattended' : decision.mode
  const isBraked = mode === 'unattended' && (isAnswered || !config.runIsWritten)
  const isSeen = mode === 'ask' || mode === 'edit'
  const secret = isSeen || isBraked ? secretIn(args) : undefined
  return {
    ...decision,
    mode: isBraked && secret !== undefined ? 'ask' : mode,
    secret,
    // A yes to a search is no yes to what it finds: who is asked does not see that (decision 0406).
    secrets: secret === undefined && (isSeen || isBraked) ? 'leave out' : 'take',
  }
}
