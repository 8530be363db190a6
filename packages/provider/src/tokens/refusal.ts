import { CordonError, type ErrorCode } from '@cordon/policy'

/** SPEC 7.3: why a token is not accepted, by what it says alone. Stable and complete; docs/errors.md says what each means. */
export type TokenCode = Exclude<Extract<ErrorCode, `token_${string}`>, 'token_missing' | 'token_replayed'>

/** Thrown by code that was asked to make a token, and inside verification; `verifyInvocation` returns it. */
export class TokenError extends CordonError {
  readonly code: TokenCode
  constructor(code: TokenCode, reason: string) {
    super(reason)
    this.code = code
  }
}

export interface TokenRefusal {
  readonly kind: 'refused'
  readonly code: TokenCode
  /** For the person who holds the token: what is wrong with it. */
  readonly reason: string
}
