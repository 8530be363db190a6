import { type Context, parseContext, ParseError } from '@cordon/policy'

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
 * The same for a worker that stays. All its calls begin with the same words on its policy, so these are understood once,
 * and taken again for exactly the same text (decision 0300). Whatever differs in one character is read as a whole.
 */
export class CallReader {
  #kept: { readonly text: string; readonly context: Context } | undefined

  read(stdin: string): CallInput {
    const kept = this.#kept
    if (kept && stdin.startsWith(kept.text)) {
      const { tool, ...more } = parseCall(`{${TOOL}${stdin.slice(kept.text.length)}`)
      // Of two contexts in one text the last counts.
      if (!('context' in more)) return { tool, context: () => kept.context }
    }
    const { tool, context } = parseCall(stdin)
    return { tool, context: () => this.#keep(stdin, context) }
  }

  #keep(stdin: string, value: unknown): Context {
    const context = parseContext(value)
    const text = `{"context":${JSON.stringify(value)},${TOOL}`
    if (stdin.startsWith(text)) this.#kept = { text, context }
    return context
  }
}

const TOOL = '"tool":'

function parseCall(stdin: string): Readonly<Record<string, unknown>> & Pick<CallInput, 'tool'> {
  const input = parseJson(stdin)
  const tool = isRecord(input) ? input['tool'] : undefined
  if (!isRecord(input) || !isRecord(tool))
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

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
