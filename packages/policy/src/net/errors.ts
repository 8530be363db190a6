import { explain } from '../denial.ts'
import { CordonError } from '../errors.ts'
import { type NetRule } from '../rules.ts'
import { allowLines, editFor, netRuleAllowing, toolKey } from '../suggest.ts'
import { show } from '../text.ts'
import { DEFAULT_PORTS, type NetTarget } from './target.ts'

export interface NetDenial {
  readonly url: string
  readonly target: NetTarget
  /** The rule that decided; undefined when none matched. */
  readonly rule: NetRule | undefined
  /** Every configured rule that allows something. */
  readonly grants: readonly NetRule[]
  /** Whose rules they are, where that is known. */
  readonly tool?: string | undefined
}

/** SPEC 1.5: the network says no. `explanation` is what a person or a model should see (SPEC 1.4). */
export class NetDeniedError extends CordonError {
  readonly code = 'NET_DENIED'
  readonly denied: NetDenial
  readonly explanation: string
  constructor(denied: NetDenial) {
    const { url, target, rule, grants, tool } = denied
    const asked = `network access denied: ${show(withoutSecrets(url))}`
    const because = rule ? `the rule ${nameRule(rule)} says no` : `no rule covers ${placeOf(target)}`
    super(`${asked} (${because})`)
    this.denied = denied
    this.explanation = explain({
      asked,
      because,
      granted: grants.map(nameRule),
      toAllow: allowLines(tool, editFor(toolKey(tool, 'net'), netRuleAllowing(target, rule), 'rules')),
    })
  }
}

/** A user part and a query may hold secrets, and no rule looks at them. */
const withoutSecrets = (url: string): string =>
  url.replace(/^([^/]*:\/\/)[^/?#]*@/, '$1').replace(/[?#].*$/s, '')

const placeOf = ({ scheme, host, port }: NetTarget): string =>
  `${scheme}://${host}${port === DEFAULT_PORTS[scheme] ? '' : `:${port}`}`

const nameRule = ({ host, scheme, port, pathPrefix }: NetRule): string =>
  show(
    `${scheme === undefined ? '' : `${scheme}://`}${host}${port === undefined ? '' : `:${port}`}${pathPrefix ?? ''}`,
  )
