import { type CommandRule, type EnvRule, type FsRule, type NetRule } from '@cordon/policy'

/** The effective configuration, under the names it has in TOML. Tables of names have no prototype. */
export interface Config {
  readonly sandbox: SandboxConfig
  readonly conversation: { readonly tools: Named<ToolConfig> }
  readonly providers: { readonly mcp: Named<McpServerConfig> }
  readonly profiles: Named<ProfileConfig>
}

export type Named<T> = Readonly<Record<string, T>>

export type SandboxMode = 'enforce' | 'warn' | 'off'

export interface SandboxConfig {
  readonly mode: SandboxMode
  /** SPEC 4.9: patterns beyond the built-in list, which the host holds and nothing here can shorten. */
  readonly sensitive: readonly string[]
  /** Absent: the sandbox's own default. */
  readonly limits: SandboxLimits
}

export interface SandboxLimits {
  readonly memory_mb?: number
  readonly processes?: number
  readonly tmp_mb?: number
  readonly cpu_secs?: number
  readonly open_files?: number
}

export type RunMode = 'ask' | 'unattended' | 'edit' | 'skip'

/** The first rule whose argument matches decides; when none does, the answer is `ask`. */
export interface RunRule {
  /** JSON pointer into the arguments: `/path`. */
  readonly arg: string
  /** Exactly one of the three is present. `pattern` is a regular expression without back references. */
  readonly prefix?: string
  readonly equals?: string | number | boolean
  readonly pattern?: string
  readonly mode: RunMode
}

export type ToolSource =
  | { readonly kind: 'local' }
  | { readonly kind: 'builtin' }
  /** `tool` is the name on the server, when it differs from the name here. */
  | { readonly kind: 'mcp'; readonly server: string; readonly tool?: string }

/** One tool, with the defaults of `conversation.tools.*` filled in. */
export interface ToolConfig {
  readonly enable: boolean
  readonly source: ToolSource
  readonly description?: string
  /** Words of the command line, never a shell's text. */
  readonly command?: readonly string[]
  /** JSON Schema of the arguments. */
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly run: RunMode | readonly RunRule[]
  readonly result: ResultMode
  readonly options: Readonly<Record<string, unknown>>
  /** Configured answers to the tool's questions, by question id. */
  readonly questions: Named<{ readonly answer: string | number | boolean }>
  readonly timeout_secs: number
  readonly max_output_bytes: number
  /** Absent: no layer declares any (SPEC 4.2 says what that means). */
  readonly access?: AccessConfig
}

export type ResultMode = 'ask' | 'unattended' | 'edit' | 'skip'

/** SPEC 5.1. */
export interface McpServerConfig {
  readonly command: string
  readonly arguments: readonly string[]
  readonly stateful: boolean
  readonly optional: boolean
  readonly startup_timeout_secs: number
  /** SPEC 5.2: the deprecated `variables` as the exact reads they stand for. */
  readonly variables: readonly EnvRule[]
  readonly access?: AccessConfig
}

export interface ProfileConfig {
  readonly access: AccessConfig
}

/**
 * Rules as written, not yet compiled: paths are lexical, every rule has its origin. An external fs rule
 * carries the grants it asks for and no `approvedTarget`; until it is approved it must grant nothing (SPEC 3.1).
 */
export interface AccessConfig {
  readonly fs: readonly FsRule[]
  readonly net: readonly NetRule[]
  readonly env: readonly EnvRule[]
  readonly commands?: Named<CommandRule>
}
