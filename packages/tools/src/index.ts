export { Anchors } from './anchors.ts'
export { defineTool } from './define-tool.ts'
export { DESCRIPTIONS } from './descriptions.ts'
export { recoverModifications } from './modify/recover.ts'
export {
  type ContentBlock,
  type Question,
  type Resource,
  type Tool,
  type ToolDefinition,
  type ToolIo,
  type ToolResult,
} from './protocol.ts'
export { runTool } from './run-tool.ts'
export { type Infer, type ObjectSchema, parseArguments, type Schema } from './schema.ts'
export { findTool, TOOLS } from './tools.ts'
