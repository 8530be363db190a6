import { type Tool, type ToolDefinition } from './protocol.ts'
import { type ObjectSchema, parseArguments } from './schema.ts'

/** The schema that is published is the one that checks: a tool's code only sees arguments that fit it. */
export function defineTool<const S extends ObjectSchema>(tool: ToolDefinition<S>): Tool {
  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    describe: (args) => tool.describe(parseArguments(tool.parameters, args)),
    run: async (args, context, io) => tool.run(parseArguments(tool.parameters, args), context, io),
  }
}
