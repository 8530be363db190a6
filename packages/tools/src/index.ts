export { type PatternTest } from './arguments/checker.ts'
export { parseArguments } from './arguments/validate.ts'
export { Anchors } from './anchors.ts'
export { DESCRIPTIONS } from './descriptions.ts'
export {
  encodeFrame,
  FrameError,
  FrameReader,
  FrameTooLongError,
  LONGEST_CALL,
  NONCE_LENGTH,
} from './frames.ts'
export { describeRecovery, recoverModifications } from './modify/recover.ts'
export { type Question, type ToolFailure, type ToolResult } from './protocol.ts'
export { runTool } from './run-tool.ts'
export { findTool, TOOLS } from './tools.ts'
