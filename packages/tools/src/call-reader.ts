import { type Context, isFields, parseContext, ParseError } from '@cordon/policy'

/** A call as it came in: what was called is checked by whoever runs it, what is said of the policy when it is asked for. */
export interface CallInput {
  readonly tool: Readonly<Record<string, unknown>>
  readonly context: () => Context
}

/** Reads what the host writes on a tool's standard input (SPEC 1.9 and 6.5). */
export function readCall(stdin: string): CallInput {
  const { tool, context } = parseCall(stdin)
  return { tool, context: () => parseContext(context) }
}

/**
 * The same for a worker that stays. It is told of its policy with its first call, and again when that is another one; a call
 * without a word on it is under the one that was told last (decision 0355).
 */
export class CallReader {
  #told: Context | undefined

  read(stdin: string): CallInput {
    const before = this.#told
    this.#told = undefined // what is not understood is not followed by a call under what was said earlier
    const { tool, ...more } = parseCall(stdin)
    if (!('context' in more)) this.#told = before
    return { tool, context: () => (this.#told ??= understand(more)) }
  }
}

function understand(call: Readonly<Record<string, unknown>>): Context {
  if ('context' in call) return parseContext(call['context'])
  // Nobody but our own host writes this, and it never does.
  throw new Error('nothing was said of the policy')
}

function parseCall(stdin: string): Readonly<Record<string, unknown>> & Pick<CallInput, 'tool'> {
  const input = parseJson(stdin)
  const tool = isFields(input) ? input['tool'] : undefined
  if (!isFields(input) || !isFields(tool))
    throw new ParseError('invalid tool call', [
      { at: '', message: 'expected an object with context and tool on standard input' },
    ])
  return { ...input, tool }
}

function parseJson(stdin: string): unknown {
  try {
    return JSON.parse(stdin)
  } catch {
    throw new ParseError('invalid tool call', [{ at: '', message: 'standard input is not JSON' }])
  }
}
