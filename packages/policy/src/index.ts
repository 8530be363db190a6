export {
  CAPABILITIES,
  type AccessPolicy,
  type CanonicalPath,
  type Capability,
  type CommandRule,
  type EnvRule,
  type FsRule,
  type Guard,
  type HostName,
  type NetRule,
  type Origin,
  type RelPath,
} from './rules.ts'
export { type ErrorCode } from './error-codes.ts'
export { suggest } from './did-you-mean.ts'
export { CordonError, ParseError, type Problem } from './errors.ts'
export {
  DeniedError,
  guardedName,
  EscapeError,
  FsAccessError,
  type FsDenial,
  InvalidPathError,
  OutsideError,
  UnresolvableError,
} from './fs/errors.ts'
export { NetDeniedError, type NetDenial } from './net/errors.ts'
export { EnvDeniedError, type EnvDenial } from './env/errors.ts'
export { CommandDeniedError } from './commands/errors.ts'
export { describe, jsonText, quote, shellWord, show, showWhole, tomlString, visible } from './text.ts'
export { readsAsWritten, showSigned, skeletonOf } from './odd.ts'
export { Context, parseContext, type Action, type ContextData } from './context.ts'
export { FsIndex } from './fs/fs-index.ts'
export { evaluateFs, type FsDecision } from './fs/evaluate.ts'
export { canonicalize, MOST_HOPS } from './fs/canonical.ts'
export { ClosedError, lookAt, refuseClosed } from './fs/look.ts'
export { fold } from './fs/case-fold.ts'
export {
  locate,
  locateEntry,
  locateObject,
  type Location,
  type Meant,
  meantBy,
  openAmbientRoot,
  type Root,
} from './fs/locate.ts'
export { below, joinRel, parseRelPath, ROOT, splitEntry } from './fs/rel-path.ts'
export { parseHost } from './net/host.ts'
export { NetIndex, type NetDecision } from './net/net-index.ts'
export { DEFAULT_PORTS, InvalidUrlError, parseNetTarget, type NetTarget } from './net/target.ts'
export { parseWorkspaceUri, workspaceUri } from './fs/uri.ts'
export { EnvIndex, type EnvDecision, isMinimalEnv, MINIMAL_ENV } from './env/env-index.ts'
export { evaluateCommand, type CommandDecision, type Invocation } from './commands/evaluate.ts'
export { type Fields, isFields, Problems } from './wire/fields.ts'
export {
  isEnvName,
  isPathPrefix,
  parseCommandRule,
  parseEnvRule,
  parseFsRule,
  parseNetRule,
} from './wire/parse-rule.ts'
export { parseAccessPolicy } from './wire/parse-policy.ts'
export { serializeAccessPolicy } from './wire/serialize.ts'
export {
  allowNetFlag,
  type Edit,
  editFor,
  envRuleAllowing,
  formatRule,
  fsRulesAllowing,
  LINK_GOES_WITH,
  isDefaultFs,
  isReadOnlyMount,
  mountCommand,
  whereLinkLeads,
  netRuleAllowing,
  type RuleData,
  setCommand,
} from './suggest.ts'
