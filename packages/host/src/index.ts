export { type Added, Attachments, openAmbientAttachments, type Removed } from './attachment/attachments.ts'
export { type AttachedResource, type Attachment, type AttachmentOrigin } from './attachment/blocks.ts'
export { InterruptedError } from './attachment/errors.ts'
export { type Person } from './approve/approve.ts'
export { compileProject, type Compiler, ofServers, type Policies } from './policies.ts'
export {
  openAmbientProject,
  type EditableLayer,
  type Project,
  type ProjectOptions,
  withWaiting,
} from './project.ts'
export {
  changeSetting,
  type ExplainedSetting,
  explainSetting,
  type Change,
  workspaceIfAny,
} from './settings.ts'
export { waitingValues } from './trust/waiting-values.ts'
export { sandboxOff } from './confine/sandbox-off.ts'
export { findServer, listServers, NO_SERVERS, type ServerView } from './mcp/catalog.ts'
export {
  type Added as AddedServer,
  addServer,
  removeServer,
  type ChangeWorld,
  type Updated,
  updateServer,
} from './mcp/change.ts'
export { importsHere } from './mcp/code-files.ts'
export { refusalReason } from './mcp/diagnosis.ts'
export { cordonOnPath } from './mcp/clients/cordon-line.ts'
export {
  type EntryStyle,
  type ImportedFile,
  launchOf,
  needsDirectory,
  performImport,
} from './mcp/clients/import.ts'
export { type ImportPlan, type ImportStep, planImport } from './mcp/clients/plan.ts'
export { CLIENT_TITLES } from './mcp/clients/places.ts'
export { readRecords } from './mcp/clients/records.ts'
export { looksSecret } from './mcp/clients/secrets.ts'
export { type ClientSurvey, surveyClients, surveyNamed } from './mcp/clients/survey.ts'
export { type Undone, undoImports } from './mcp/clients/undo.ts'
export { lookAlike } from './mcp/install/install.ts'
export { diagnose, type Diagnosis, type DoctorNotice } from './diagnose.ts'
export { explainPolicies, explainRun, type Holding, type PolicyView } from './explain.ts'
export { initProject } from './init.ts'
export { copyProfile, findProfile, listProfiles, type ProfileView } from './profiles/profiles.ts'
export { SHIPPED_NAMES, shippedProfiles } from './profiles/shipped.ts'
export { choosePolicy, type Chosen, type PolicyChoice } from './run/choose.ts'
export { type AccessFlags, parseAllowNet } from './run/flags.ts'
export { howEnded } from './confine/program.ts'
export { type Confinement } from './confine/program.ts'
export { appearedTexts, changedTexts, lossTexts, noticed } from './confine/noticed.ts'
export { describeDenied } from './confine/unfinished.ts'
export { type Forewarning, runConfined, type RunOutcome } from './run/run.ts'
export { type ToolOutcome } from './execute/execute.ts'
export { type Told, toldText } from './execute/told.ts'
export { ToolSession } from './execute/session.ts'
export { listTools, type ToolSummary, type ToolView, viewTool } from './execute/list.ts'
export { openSecret } from './execute/open-secret.ts'
export { type Answer, type Respondent } from './execute/questions.ts'
export { type ContentBlock, type ToolQuestion } from './execute/result.ts'
export { type Installation } from './execute/shipped.ts'
export { NotRunnableError } from './execute/tool.ts'
export { parseTyped, type Question } from './why/question.ts'
export { type AnyRule } from './why/answer.ts'
export { typedEdit } from './why/fix.ts'
export { asAsked, isOfProfile } from './why/outside.ts'
export { type RunAsked, whyRun } from './why/run.ts'
export { why, type Why } from './why/why.ts'
export { type ConversationChoice } from './conversation/choose.ts'
export {
  Conversations,
  type ConversationView,
  type Found,
  openAmbientConversations,
} from './conversation/conversations.ts'
export { openAmbientProjectIn, readChosenLayer } from './conversation/open.ts'
export { changeMounts, type MountOutcome } from './mount/change.ts'
export { listMounts, type MountView } from './mount/list.ts'
export { type MountFlag, type MountPlan } from './mount/plan.ts'
export { type Reviewer, askToTrust, problemsOf } from './trust/ask.ts'
export { surveyTrust, type TrustSurvey } from './trust/change.ts'
export { type TrustTerms } from './trust/gate.ts'
export { type TrustItem, type Waiting } from './trust/items.ts'
export { differenceOf } from './trust/difference.ts'
export { invalidText, lostText, reviewText, summaryText } from './trust/review.ts'
export { summarize } from './trust/summary.ts'
// The words of the workspace that the command line prints.
export { type ConversationSummary, type JsonObject, printTalk, sha256 as digestOf } from '@cordon/workspace'
// The words of the configuration that the command line prints.
export {
  configSchema,
  formatKeyPath,
  formatOrigin,
  formatValue,
  formatWarning,
  isDeep,
  type Explanation,
  type LoadedConfig,
  uncheckedValues,
} from '@cordon/config'
export { isStillThere, isTerminal, Stopper } from '@cordon/sandbox'
export { isAbandoned, isTempName, newTempName } from '@cordon/files'
export { PROVIDER_DIR, startOf, statFields, userDataDir } from '@cordon/workspace'
export { grantedNames, leftOverLines } from './mcp/left-over.ts'
export { type TakenOut } from './mcp/take-out.ts'
export { runtimeOfCommand } from './mcp/runtime.ts'
export { Checkup, type DoctorCall, type Examination, type Suggestion } from './mcp/doctor.ts'
export { reachRecipe, reachText, recipeLines, unreachedPlaces } from './mcp/reach.ts'
export { acceptServer, askPaged, serverChangeText, serverText } from './mcp/server-trust.ts'
export { Gateway } from './gateway/gateway.ts'
export { serveHttp } from './gateway/http.ts'
export { serveStdio } from './gateway/stdio.ts'
export { shownText, shownWithLines } from './execute/shown.ts'
export { type Decider, type Verdict } from './agent/consent.ts'
export { type ModelChoice } from './agent/models.ts'
export { listModels, type ProviderView } from './agent/reach.ts'
export { checkAnswerSchema } from './agent/answer-schema.ts'
export { Query, type QueryConversation, type QueryOptions } from './agent/query.ts'
export { type ShownCall } from './agent/shown.ts'
export { type Sight, type TurnControl, type TurnEnd } from './agent/turn.ts'
export { RecordedModel } from './agent/recorded/server.ts'
export { type RecordedStep } from './agent/recorded/script.ts'
export { shownInHome, typedPath } from './outside/place.ts'
