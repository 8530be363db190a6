import { CordonError, type ErrorCode } from '@cordon/policy'

/**
 * SPEC 7.3: every answer that is not a yes, with its status. One table, closed: the OpenAPI document, the client and
 * the metrics are made from it.
 */
export const REFUSALS = {
  bad_request: 400,
  args_invalid: 400,
  command_mismatch: 400,
  path_metacharacter: 400,
  content_mismatch: 400,
  token_missing: 401,
  token_malformed: 401,
  token_too_large: 401,
  token_signature: 401,
  token_expired: 401,
  token_not_yet_valid: 401,
  token_lifetime: 401,
  token_wrong_audience: 401,
  token_broken_chain: 401,
  token_too_deep: 401,
  token_widened: 401,
  token_command_not_covered: 401,
  token_constraint: 401,
  token_revoked: 401,
  token_replayed: 401,
  app_unknown: 403,
  app_disabled: 403,
  resource_out_of_scope: 403,
  policy_denied: 403,
  step_up_denied: 403,
  not_permitted: 403,
  not_found: 404,
  already_exists: 409,
  changed: 409,
  not_empty: 409,
  wrong_kind: 409,
  too_large: 413,
  range_not_satisfiable: 416,
  step_up_required: 428,
  rate_limited: 429,
  too_many_at_once: 429,
  too_many_approvals: 429,
  client_gone: 499,
  failed: 502,
  unavailable: 503,
  stopping: 503,
  timed_out: 504,
  no_space: 507,
} as const satisfies { readonly [Code in ErrorCode]?: number }

/** Thrown by a step of the pipeline; becomes the answer. The message is for a person: what is wrong, what to do. */
export class Refusal extends CordonError {
  readonly code: keyof typeof REFUSALS
  /** What a program needs to act on it: the approval's id, how long to wait. */
  readonly detail: Readonly<Record<string, unknown>>
  constructor(code: keyof typeof REFUSALS, message: string, detail: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.code = code
    this.detail = detail
  }

  get status(): (typeof REFUSALS)[keyof typeof REFUSALS] {
    return REFUSALS[this.code]
  }
}
