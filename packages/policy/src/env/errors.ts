import { explain } from '../denial.ts'
import { CordonError } from '../errors.ts'
import { type EnvRule } from '../rules.ts'
import { allowLines, editFor, envRuleAllowing, toolKey } from '../suggest.ts'
import { show } from '../text.ts'

export interface EnvDenial {
  readonly variable: string
  /** The rule that decided; undefined when none matched. */
  readonly rule: EnvRule | undefined
  /** Every configured rule that allows something. */
  readonly grants: readonly EnvRule[]
  /** When no rule can change the answer, why not. */
  readonly never?: string
  /** Whose rules they are, where that is known. */
  readonly tool?: string | undefined
}

/** SPEC 1.6: the variable is not granted. `explanation` is what a person or a model should see (SPEC 1.4). */
export class EnvDeniedError extends CordonError {
  readonly code = 'ENV_DENIED'
  readonly denied: EnvDenial
  readonly explanation: string
  constructor(denied: EnvDenial) {
    const { variable, rule, grants, never, tool } = denied
    const asked = `environment access denied: ${show(variable)}`
    const because = never ?? (rule ? `the rule ${show(rule.name)} says no` : 'no rule names it')
    super(`${asked} (${because})`)
    this.denied = denied
    // A rule's star is a pattern, so a name with a star in it cannot be written as a rule.
    const writable = never === undefined && !variable.includes('*')
    this.explanation = explain({
      asked,
      because,
      granted: grants.map((grant) => show(grant.name)),
      toAllow: writable
        ? allowLines(tool, editFor(toolKey(tool, 'env'), envRuleAllowing(variable), 'rules'))
        : 'no rule',
    })
  }
}
