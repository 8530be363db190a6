export { LAYERS, formatOrigin } from './layers.ts'
export type { ConfigOrigin, LayerName, Path, Source, TextSource, ValueSource } from './layers.ts'
export { ConfigError, formatProblem, formatWarning, type ConfigProblem } from './errors.ts'
export type {
  AccessConfig,
  Config,
  McpServerConfig,
  Named,
  ProfileConfig,
  ResultMode,
  RunMode,
  RunRule,
  SandboxConfig,
  SandboxLimits,
  SandboxMode,
  ToolConfig,
  ToolSource,
} from './config.ts'
export { mergeSources, type LoadedConfig } from './load.ts'
export { type ExplainedValue, type Explanation } from './explain.ts'
export { configFiles, readAmbientSources, type AmbientPlaces } from './ambient/sources.ts'
export { readAmbientText, type ConfigFile, type ReadText } from './ambient/read-file.ts'
export { formatKey, formatKeyPath, parseKeyPath } from './toml/key-path.ts'
export { formatValue, parseValue, type ParsedValue } from './toml/value.ts'
export { ConfigEditError, setValue } from './edit/set-value.ts'
export { ConfigWriteError, newConfigText, writeConfigFile } from './edit/write-file.ts'
export { configSchema } from './schema/json-schema.ts'
export { suggest } from './suggest.ts'
