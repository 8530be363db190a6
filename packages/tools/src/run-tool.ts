import { Anchors } from './anchors.ts'
import { parseShown } from './as-shown.ts'
import { CordonError, isFields, quote } from '@cordon/policy'
import { type CallInput, readCall } from './call-reader.ts'
import { success, text } from './content.ts'
import { type ToolIo, type ToolResult } from './protocol.ts'
import { reportError, ToolError } from './report.ts'
import { findTool, TOOLS } from './tools.ts'

/** One call of one tool. Never throws: whatever goes wrong is a result that says so. */
export const runTool = async (name: string | undefined, stdin: string): Promise<ToolResult> =>
  (await performCall(name, () => readCall(stdin))).result

/** The same, and whether it ended in a way that our code foresaw: an error that nobody typed is a bug of ours. */
export async function performCall(
  name: string | undefined,
  read: () => CallInput,
): Promise<{ readonly result: ToolResult; readonly sound: boolean }> {
  let called = name
  let what: Parameters<typeof reportError>[2]
  try {
    const call = read()
    called ??= typeof call.tool['name'] === 'string' ? call.tool['name'] : ''
    const tool = findTool(called)
    if (!tool) throw new ToolError(unknownTool(called))
    const context = call.context()
    const { answers, asked, options, shown } = call.tool
    const args = call.tool['arguments'] ?? {}
    what = { arguments: args, root: context.data.root }
    // SPEC 1.9: the policy goes with both actions, but describing touches nothing.
    if (context.data.action === 'format_arguments')
      return { result: success(text(tool.describe(args))), sound: true }
    using anchors = new Anchors()
    const io: ToolIo = {
      anchors,
      answers: recordOf(answers),
      asked: recordOf(asked),
      shown: parseShown(shown),
      options: recordOf(options),
    }
    return { result: await tool.run(args, context, io), sound: true }
  } catch (error) {
    return { result: reportError(error, called, what), sound: error instanceof CordonError }
  }
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> => (isFields(value) ? value : {})

const unknownTool = (name: string): string =>
  `no tool is called ${quote(name)}; there are ${TOOLS.map((tool) => tool.name).join(', ')}`
