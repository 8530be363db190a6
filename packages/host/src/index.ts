export {
  type Added,
  type AttachmentOptions,
  Attachments,
  openAmbientAttachments,
  type Refreshed,
  type Removed,
} from './attachment/attachments.ts'
export {
  type AddedItem,
  type Attachment,
  type AttachmentOrigin,
  type Block,
  type Blocks,
  deliverBlocks,
  type DeliveredBlock,
  readBlocks,
} from './attachment/blocks.ts'
export { AttachFailedError, AttachmentNotFoundError, InterruptedError } from './attachment/errors.ts'
export { type AttachRequest, parseAttachment } from './attachment/grammar.ts'
export { type Person } from './approve/approve.ts'
export { compileProject, type Compiler, type Policies, PolicyError } from './policies.ts'
export {
  NoWorkspaceError,
  openAmbientProject,
  type EditableLayer,
  type Project,
  type ProjectOptions,
} from './project.ts'
export { changeSetting, explainSetting, type Change } from './settings.ts'
export { diagnose, type Diagnosis } from './diagnose.ts'
export { explainPolicies, type Holding, type PolicyView } from './explain.ts'
export { initProject } from './init.ts'
export { choosePolicy, type PolicyChoice } from './run/choose.ts'
export { type AccessFlags } from './run/flags.ts'
export { runConfined } from './run/run.ts'
export { type RunOutcome } from './run/request.ts'
export { seenIn, takeAmbientReport } from '@cordon/sandbox'
export { type ConfinedProgram, type ConfineRequest, type ProgramEnd, startConfined } from './confine.ts'
export { parseArguments } from './execute/arguments/validate.ts'
export { SchemaError } from './execute/arguments/schema.ts'
export { askConsent, type Consent, type Consenter } from './execute/consent.ts'
export { executeTool, type ToolCall, type ToolOutcome, type ToolWorld } from './execute/execute.ts'
export { listTools, type ToolSummary, type ToolView, viewTool } from './execute/list.ts'
export { PatternError } from './execute/patterns.ts'
export { PlaceholderError } from './execute/placeholders.ts'
export { type PreparedTool, prepareTool } from './execute/prepare.ts'
export { type Answer, type AnswerMemory, openAnswerMemory, type Respondent } from './execute/questions.ts'
export { type ContentBlock, type ToolQuestion, type ToolReply } from './execute/result.ts'
export { decideRunMode, type RunDecision } from './execute/run-mode.ts'
export { type Installation } from './execute/shipped.ts'
export { type LocalTool, NotRunnableError, resolveTool, UnknownToolError } from './execute/tool.ts'
export { parseQuestion, QuestionError, type Question } from './why/question.ts'
export { type AnyRule } from './why/answer.ts'
export { why, type Why } from './why/why.ts'
export { type ConversationChoice, NoConversationError } from './conversation/choose.ts'
export {
  Conversations,
  type ConversationView,
  type Forked,
  type ForkOptions,
  type Found,
  openAmbientConversations,
} from './conversation/conversations.ts'
export { type ConversationLayer, readConversationLayer } from './conversation/layer.ts'
export { type ConversationUser, openAmbientProjectIn, readChosenLayer } from './conversation/open.ts'
export {
  changeMounts,
  changeUnderLock,
  type LockHolder,
  type MountCommand,
  type MountOutcome,
  planIn,
} from './mount/change.ts'
export { confirmMounts, type MountAudience } from './mount/confirm.ts'
export { MountError, MountFailedError, type MountProblem } from './mount/errors.ts'
export { type MountMode } from './mount/grammar.ts'
export { listMounts, type MountState, type MountView } from './mount/list.ts'
export { type MountFlag, type MountPlan, type MountStep, type UnmountStep } from './mount/plan.ts'
// The words of the workspace that the command line prints.
export { type ConversationRef, type ConversationSummary, printEvent } from '@cordon/workspace'
// The words of the configuration that the command line prints.
export {
  ConfigError,
  configSchema,
  formatKeyPath,
  formatOrigin,
  formatValue,
  formatWarning,
  type Explanation,
  type LoadedConfig,
} from '@cordon/config'
