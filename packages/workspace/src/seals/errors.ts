import { CordonError, show } from '@cordon/policy'

/** A file of the user's place that seals depend on cannot be used. Then no seal counts, and none is made. */
export class SealError extends CordonError {
  readonly code = 'SEALS'
  readonly file: string
  constructor(file: string, problem: string, fix: string) {
    super(`cannot use ${show(file)}, which seals the changes of conversations: ${problem}\n  fix: ${fix}`)
    this.file = file
  }
}

/** Sealed changes are missing from the log, so that one more would not take effect either. Nothing was written. */
export class LostSealsError extends CordonError {
  readonly code = 'SEALS_LOST'
  readonly conversation: string
  constructor(conversation: string, count: number) {
    super(
      `conversation ${conversation} has lost some of its ${count} sealed changes of the configuration: ` +
        'its events.jsonl was cut, edited, or replaced by an older one\n' +
        `  fix: bring the file back, or go on in a copy: cordon conversation fork ${conversation}`,
    )
    this.conversation = conversation
  }
}
