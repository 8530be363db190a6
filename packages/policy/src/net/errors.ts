import { CordonError } from '../errors.ts'
import { type HostName, type NetRule } from '../rules.ts'
import { quote, show } from '../text.ts'

/** SPEC 1.5: the network says no. */
export class NetDeniedError extends CordonError {
  readonly code = 'NET_DENIED'
  readonly target: string
  readonly host: HostName
  readonly rule: NetRule | undefined
  constructor(target: string, host: HostName, rule: NetRule | undefined) {
    const why = rule ? `the rule for ${rule.host}${rule.pathPrefix ?? ''} says no` : `no rule allows ${host}`
    super(`network access denied: ${show(target)} (${why})`)
    this.target = target
    this.host = host
    this.rule = rule
  }
}

/** A URL that cannot be read in exactly one way; refused, never guessed. */
export class InvalidUrlError extends CordonError {
  readonly code = 'URL_INVALID'
  readonly input: string
  readonly reason: string
  constructor(input: string, reason: string) {
    super(`invalid URL: ${quote(input)} (${reason})`)
    this.input = input
    this.reason = reason
  }
}
