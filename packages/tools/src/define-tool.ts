import { parseArguments } from './arguments/validate.ts'
import { type Tool, type ToolDefinition } from './protocol.ts'
import { type Infer, type ObjectSchema } from './schema.ts'

/** The schema that is published is the one that checks: a tool's code only sees arguments that fit it (decision 0070). */
export function defineTool<const S extends ObjectSchema>(tool: ToolDefinition<S>): Tool {
  const schema: ObjectSchema = tool.parameters
  // None of our schemas has a pattern.
  const parse = (args: unknown): Infer<S> => parseArguments({ ...schema }, args, () => false) as Infer<S>
  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    describe: (args) => tool.describe(parse(args)),
    run: async (args, context, io) => tool.run(parse(args), context, io),
  }
}
