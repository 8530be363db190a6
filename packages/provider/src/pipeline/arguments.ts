import { show } from '@cordon/policy'
import { z } from '@hono/zod-openapi'
import { Refusal } from '../errors.ts'
import { type AnyArgs, ARGS } from '../operations/args.ts'
import type { VerifiedInvocation } from '../tokens/verify.ts'

/** What the agent signed, and nothing besides: there is no second copy of a path to decide on. */
export function readArgs({ command, args }: VerifiedInvocation, route: string): AnyArgs {
  if (route !== command)
    throw new Refusal('command_mismatch', `the invocation is for ${command}, and was sent to ${show(route)}`)
  const read = ARGS[command].safeParse(args)
  if (read.success) return read.data
  const problems = read.error.issues.map((issue) => problemOf(issue, args))
  throw new Refusal('args_invalid', `the arguments of ${command}: ${[...new Set(problems)].join('; ')}`)
}

type Issue = z.core.$ZodIssue

/** What is wrong with one argument, for whoever has to write it again. */
function problemOf(issue: Issue, args: unknown): string {
  const at = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
  const name = show(at.slice(1))
  switch (issue.code) {
    case 'unrecognized_keys':
      return `there is no argument ${issue.keys.map((key) => show([...issue.path, key].join('.'))).join(', ')}`
    case 'invalid_type':
      return valueAt(args, issue.path) === undefined
        ? `${name} is missing`
        : `${name} must be ${KINDS[issue.expected] ?? issue.expected}`
    case 'too_small':
      return `${name} must ${boundOf(issue.origin, 'at least', Number(issue.minimum))}`
    case 'too_big':
      return `${name} must ${boundOf(issue.origin, 'at most', Number(issue.maximum))}`
    case 'invalid_format':
      return `${name} must be a SHA-256 in lower-case hexadecimal`
    case 'invalid_value':
    case 'invalid_key':
    case 'invalid_element':
    case 'invalid_union':
    case 'not_multiple_of':
    case 'custom':
      return `${name} is not what this command takes; see /openapi.json`
  }
}

const valueAt = (args: unknown, path: Issue['path']): unknown =>
  path.reduce<unknown>((value, part) => (value as Record<PropertyKey, unknown>)[part], args)

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  int: 'a whole number',
  number: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function boundOf(origin: string, bound: string, limit: number): string {
  if (origin === 'string') return `have ${bound} ${limit} ${limit === 1 ? 'character' : 'characters'}`
  if (origin === 'array') return `have ${bound} ${limit} ${limit === 1 ? 'entry' : 'entries'}`
  return `be ${bound} ${limit}`
}
