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
export { runConfined, type RunOutcome } from './run/run.ts'
export { parseQuestion, QuestionError, type Question } from './why/question.ts'
export { type AnyRule } from './why/answer.ts'
export { why, type Why } from './why/why.ts'
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
