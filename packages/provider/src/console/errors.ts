import { CordonError, type ErrorCode } from '@cordon/policy'

/** Every answer of the console's own API that is not a yes, with its status. */
export const CONSOLE_REFUSALS = {
  bad_request: 400,
  signed_out: 401,
  cross_site: 403,
  passkey_refused: 403,
  not_found: 404,
  decided: 409,
  other_process: 409,
  request_replayed: 409,
  too_late: 410,
  link_used: 410,
  wrong_host: 421,
  unavailable: 503,
} as const satisfies { readonly [Code in ErrorCode]?: number }

/** Shown to the person as it is: what is wrong, and what to do. */
export class ConsoleRefusal extends CordonError {
  readonly code: keyof typeof CONSOLE_REFUSALS
  readonly detail: Readonly<Record<string, unknown>>
  constructor(
    code: keyof typeof CONSOLE_REFUSALS,
    message: string,
    detail: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.code = code
    this.detail = detail
  }

  get status(): (typeof CONSOLE_REFUSALS)[keyof typeof CONSOLE_REFUSALS] {
    return CONSOLE_REFUSALS[this.code]
  }
}
