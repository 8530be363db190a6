import { type Config } from './config.ts'
import { type ConfigProblem } from './errors.ts'
import { type ConfigOrigin, type Path, type Source } from './layers.ts'

export { LAYERS, formatOrigin, type ConfigOrigin, type LayerName, type Path, type Source } from './layers.ts'
export { ConfigError, formatProblem, formatWarning, type ConfigProblem } from './errors.ts'
export type * from './config.ts'

export interface Explanation {
  readonly value: unknown
  readonly origin: ConfigOrigin
  /** Of a rule list: each rule with the place it was written. */
  readonly elements?: readonly { readonly value: unknown; readonly origin: ConfigOrigin }[]
  /** What earlier layers said and this value replaced, the most recent first. */
  readonly overrode: readonly { readonly value: unknown; readonly origin: ConfigOrigin }[]
}

export interface LoadedConfig {
  readonly config: Config
  /** The effective values as plain data under their TOML names, for `config show`. */
  readonly values: Readonly<Record<string, unknown>>
  readonly warnings: readonly ConfigProblem[]
  origin(path: Path): ConfigOrigin | undefined
  explain(path: Path): Explanation | undefined
}

/** Pure. Sources in the order of their layers; throws ConfigError with every problem. */
export declare function mergeSources(sources: readonly Source[]): LoadedConfig

export interface AmbientPlaces {
  readonly root: string
  readonly cwd: string
  readonly userConfigFile: string
  readonly userWorkspaceDir: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cfg: readonly string[]
  readonly conversation?: readonly Source[]
  readonly flags?: readonly Source[]
}
/** The only reader of files. */
export declare function readAmbientSources(places: AmbientPlaces): Source[]

/** `conversation.tools."My.Tool".run` → segments; a bare `*` is allowed. */
export declare function parseKeyPath(text: string): string[]
export declare function formatKeyPath(path: Path): string
/** A TOML value, or else the text itself as a string. */
export declare function parseValue(text: string): unknown
export declare function formatValue(value: unknown): string

/** Pure: the text with one key set; `+{…}` as value appends one rule to a rule list. */
export declare function setValue(text: string, key: string, value: string): string
/** What a new config file starts with. */
export declare function newConfigText(schemaRef?: string): string
/** Atomic, keeps the mode; `was` is the text that was read (undefined: the file must not exist). */
export declare function writeConfigFile(file: string, text: string, was: string | undefined): void

export declare function configSchema(): Record<string, unknown>
