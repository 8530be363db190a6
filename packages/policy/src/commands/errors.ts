import { CordonError } from '../errors.ts'
import { describe, show } from '../text.ts'
import { type Invocation, isInvocation } from './evaluate.ts'

/** SPEC 1.7: the command line is not granted. */
export class CommandDeniedError extends CordonError {
  readonly code = 'COMMAND_DENIED'
  readonly invocation: Invocation
  constructor(invocation: Invocation, reason: string) {
    const words = isInvocation(invocation) ? [invocation.program, ...invocation.args] : [describe(invocation)]
    const line = words.slice(0, WORDS_SHOWN).map(show).join(' ')
    super(`command denied: ${line}${words.length > WORDS_SHOWN ? ' …' : ''} (${reason})`)
    this.invocation = invocation
  }
}

const WORDS_SHOWN = 8
