export { authorOf, LAYERS, formatOrigin } from './layers.ts'
export type { Author, LayerName, Source } from './layers.ts'
export { ConfigError, formatWarning, type ConfigProblem } from './errors.ts'
export type {
  AccessConfig,
  AssistantConfig,
  Config,
  LlmProviderConfig,
  McpServerConfig,
  OutsideConfig,
  ProfileConfig,
  RunMode,
  RunRule,
  SandboxConfig,
  ToolConfig,
  ToolSource,
} from './config.ts'
export { mergeSources, type LoadedConfig } from './load.ts'
export { isDeep, isTable } from './merge/cell.ts'
export { type Explanation } from './explain.ts'
export { readAmbientSources, type AmbientPlaces, type AmbientSources } from './ambient/sources.ts'
export { readAmbientText } from './ambient/read-file.ts'
export { describeStranger } from './ambient/ownership.ts'
export { textIn } from './ambient/text-in.ts'
export { uncheckedValues } from './toml/document.ts'
export { formatKey, formatKeyPath, parseKeyPath } from './toml/key-path.ts'
export { formatValue, parseValue } from './toml/value.ts'
export { removeToml, setToml } from './edit/edit-toml.ts'
export { setValue } from './edit/set-value.ts'
export { configSchema } from './schema/lookup.ts'
export { suggest } from '@cordon/policy'
