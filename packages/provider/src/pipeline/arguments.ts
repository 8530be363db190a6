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
  throw new Refusal('args_invalid', `the arguments of ${command}: ${z.prettifyError(read.error)}`)
}
