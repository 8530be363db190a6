import { CordonError, quote, show } from '@cordon/policy'

export class ConversationNotFoundError extends CordonError {
  readonly code = 'CONVERSATION_NOT_FOUND'
  constructor(asked: string, candidates: readonly string[]) {
    super(
      candidates.length === 0
        ? `there is no conversation ${quote(asked)}; \`cordon conversation ls\` lists them`
        : `${quote(asked)} could be any of ${candidates.slice(0, 8).join(', ')}; write more of the id`,
    )
  }
}

/** Kept, but not to be understood or reached. `line` is where, counted from 1. */
export class UnreadableConversationError extends CordonError {
  readonly code = 'CONVERSATION_UNREADABLE'
  readonly file: string
  readonly line: number | undefined
  constructor(file: string, problem: string, line?: number) {
    super(
      `cannot read the conversation in ${show(file)}${line === undefined ? '' : `, line ${line}`}: ${problem}`,
    )
    this.file = file
    this.line = line
  }
}

/** The event was not kept. What was kept before is intact. */
export class AppendError extends CordonError {
  readonly code = 'CONVERSATION_APPEND'
  readonly file: string
  constructor(file: string, problem: string) {
    super(`cannot add to the conversation in ${show(file)}: ${problem}`)
    this.file = file
  }
}
