import { EnvIndex } from '../env/env-index.ts'
import { type CommandRule } from '../rules.ts'
import { show } from '../text.ts'
import { isFields } from '../wire/fields.ts'

/** A command line as it would be started, and the variables it would be given beyond the minimal ones. */
export interface Invocation {
  readonly program: string
  readonly args: readonly string[]
  readonly envs?: readonly string[]
}

export type CommandDecision =
  | { readonly kind: 'allowed'; readonly rule: CommandRule | undefined }
  | { readonly kind: 'refused'; readonly rule: CommandRule | undefined; readonly reason: string }

/** Last in an allowed list: anything may follow. */
export const ANYTHING_MORE = '**'

/**
 * SPEC 1.7. The program is compared as it would be started: a rule for `git` speaks of the `git` that
 * PATH finds and not of `./git`, which anybody could have written (decision 0023).
 */
export function evaluateCommand(
  commands: Readonly<Record<string, CommandRule>> | undefined,
  invocation: Invocation,
): CommandDecision {
  if (!isInvocation(invocation))
    return { kind: 'refused', rule: undefined, reason: 'it is not a command line' }
  const { program, args, envs = [] } = invocation
  if (!commands || Object.keys(commands).length === 0) return { kind: 'allowed', rule: undefined }
  const rule = Object.hasOwn(commands, program) ? commands[program] : undefined
  const refused = (reason: string): CommandDecision => ({ kind: 'refused', rule, reason })
  if (!rule) return refused('no rule names that program')
  if (rule.args && !rule.args.some((allowed) => covers(allowed, args)))
    return refused('its arguments match none of the allowed lists')
  const granted = new EnvIndex((rule.envs ?? []).map((name) => ({ name, read: true })))
  const extra = envs.find((name) => granted.evaluate(name).kind !== 'allowed')
  if (extra !== undefined) return refused(`the variable ${show(extra)} is not in its envs`)
  return { kind: 'allowed', rule }
}

/** Tools hand over what a model wrote, so the types are checked again. */
export function isInvocation(value: unknown): value is Invocation {
  if (!isFields(value)) return false
  const { program, args, envs } = value
  return typeof program === 'string' && isWords(args) && (envs === undefined || isWords(envs))
}

const isWords = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((word) => typeof word === 'string')

function covers(allowed: readonly string[], args: readonly string[]): boolean {
  const open = allowed.at(-1) === ANYTHING_MORE
  const fixed = open ? allowed.slice(0, -1) : allowed
  if (open ? args.length < fixed.length : args.length !== fixed.length) return false
  return fixed.every((word, i) => args[i] === word)
}
