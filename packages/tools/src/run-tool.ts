import { Anchors } from './anchors.ts'
import { CordonError, parseContext, ParseError, quote } from '@cordon/policy'
import { success, text } from './content.ts'
import { type ToolIo, type ToolResult } from './protocol.ts'
import { reportError, ToolError } from './report.ts'
import { findTool, TOOLS } from './tools.ts'

/** What the host writes on a tool's standard input (SPEC 1.9 and 6.5). */
interface Call {
  readonly context: unknown
  readonly arguments: unknown
  readonly answers: Readonly<Record<string, unknown>>
  readonly options: Readonly<Record<string, unknown>>
}

/** One call of one tool. Never throws: whatever goes wrong is a result that says so. */
export const runTool = async (name: string | undefined, stdin: string): Promise<ToolResult> =>
  (await performCall(name, stdin)).result

/** The same, and whether it ended in a way that our code foresaw: an error that nobody typed is a bug of ours. */
export async function performCall(
  name: string | undefined,
  stdin: string,
): Promise<{ readonly result: ToolResult; readonly sound: boolean }> {
  let called = name
  try {
    const input = parseInput(stdin)
    called ??= input.name
    const tool = findTool(called)
    if (!tool) throw new ToolError(unknownTool(called))
    const context = parseContext(input.call.context)
    // SPEC 1.9: the policy goes with both actions, but describing touches nothing.
    if (context.data.action === 'format_arguments')
      return { result: success(text(tool.describe(input.call.arguments))), sound: true }
    using anchors = new Anchors()
    const io: ToolIo = { anchors, answers: input.call.answers, options: input.call.options }
    return { result: await tool.run(input.call.arguments, context, io), sound: true }
  } catch (error) {
    return { result: reportError(error, called), sound: error instanceof CordonError }
  }
}

function parseInput(stdin: string): { readonly name: string; readonly call: Call } {
  const input = parseJson(stdin)
  const tool = isRecord(input) ? input['tool'] : undefined
  if (!isRecord(input) || !isRecord(tool))
    throw new ParseError('invalid tool call', [
      { at: '', message: 'expected an object with context and tool on standard input' },
    ])
  return {
    name: typeof tool['name'] === 'string' ? tool['name'] : '',
    call: {
      context: input['context'],
      arguments: tool['arguments'] ?? {},
      answers: isRecord(tool['answers']) ? tool['answers'] : {},
      options: isRecord(tool['options']) ? tool['options'] : {},
    },
  }
}

function parseJson(stdin: string): unknown {
  try {
    return JSON.parse(stdin)
  } catch {
    throw new ParseError('invalid tool call', [{ at: '', message: 'standard input is not JSON' }])
  }
}

const unknownTool = (name: string): string =>
  `no tool is called ${quote(name)}; there are ${TOOLS.map((tool) => tool.name).join(', ')}`

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
