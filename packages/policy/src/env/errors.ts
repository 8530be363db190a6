import { CordonError } from '../errors.ts'
import { type EnvRule } from '../rules.ts'
import { show } from '../text.ts'

/** SPEC 1.6: the variable is not granted. */
export class EnvDeniedError extends CordonError {
  readonly code = 'ENV_DENIED'
  readonly variable: string
  readonly rule: EnvRule | undefined
  constructor(variable: string, rule: EnvRule | undefined) {
    const why = rule ? `the rule ${show(rule.name)} says no` : 'no rule names it'
    super(`environment access denied: ${show(variable)} (${why})`)
    this.variable = variable
    this.rule = rule
  }
}
