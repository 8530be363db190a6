import { CordonError } from '@cordon/policy'

/** The command line itself makes no sense, or misses something that only a person can say. */
export class UsageError extends CordonError {
  readonly code = 'USAGE'
}
