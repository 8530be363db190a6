import { CordonError, quote, show } from '@cordon/policy'

/** What was named cannot be attached. Nothing was kept of it. */
export class AttachError extends CordonError {
  readonly code = 'ATTACH'
  readonly input: string
  constructor(input: string, problem: string) {
    super(`cannot attach ${show(input)}: ${problem}`)
    this.input = input
  }
}

/** SPEC 6.3: a snapshot of what lies outside the workspace cannot be read again: nobody knows where it was. */
export class NotRefreshableError extends CordonError {
  readonly code = 'NOT_REFRESHABLE'
  readonly uri: string
  constructor(uri: string, why: string) {
    super(`cannot refresh ${quote(uri)}: ${why}`)
    this.uri = uri
  }
}
