import {
  type Capability,
  type CommandRule,
  type EnvRule,
  type FsRule,
  type NetRule,
  type RelPath,
} from '@cordon/policy'

/** The effective configuration, under the names it has in TOML. Tables of names have no prototype. */
export interface Config {
  readonly sandbox: SandboxConfig
  readonly conversation: { readonly tools: Named<ToolConfig>; readonly defaults: ToolDefaults }
  readonly providers: { readonly mcp: Named<McpServerConfig>; readonly llm: Named<LlmProviderConfig> }
  readonly assistant: AssistantConfig
  readonly profiles: Named<ProfileConfig>
}

export type Named<T> = Readonly<Record<string, T>>

type SandboxMode = 'enforce' | 'warn' | 'off'

export interface SandboxConfig {
  readonly mode: SandboxMode
  /** SPEC 4.9: patterns beyond the built-in list, which the host holds and nothing here can shorten. */
  readonly sensitive: readonly string[]
  /** SPEC 4.10: paths that are guarded beside the built-in ones, from the workspace's root. */
  readonly guard: readonly RelPath[]
  /** SPEC 4.5: whether unix sockets with names can be made and connected to. */
  readonly unix_sockets: 'pairs' | 'private'
  /** Absent: the sandbox's own default. */
  readonly limits: SandboxLimits
}

interface SandboxLimits {
  readonly memory_mb?: number
  readonly processes?: number
  readonly tmp_mb?: number
  readonly cpu_secs?: number
  readonly open_files?: number
}

export type RunMode = 'ask' | 'unattended' | 'edit' | 'skip'

/** The first rule that matches decides; when none does, the answer is `ask`. It has `path`, or `arg` with a test. */
export interface RunRule {
  /**
   * Of a shipped tool: what the call touches lies at or below this path of the workspace. `unattended` wants that of every
   * path of the call, any other mode of one of them (decision 0370).
   */
  readonly path?: string
  /** JSON pointer into the arguments: `/branch`. */
  readonly arg?: string
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

/** `conversation.tools.*`: what holds for every tool that says nothing else, also for one that nobody configured. */
export interface ToolDefaults {
  readonly enable: boolean
  readonly run: RunMode | readonly RunRule[]
  /** `run` stands in a configuration; false: it is Cordon's own default, or an answer at a question (decision 0365). */
  readonly runIsWritten: boolean
  readonly result: RunMode | readonly RunRule[]
  readonly timeout_secs: number
  readonly max_output_bytes: number
}

/** One tool, with the defaults of `conversation.tools.*` filled in. */
export interface ToolConfig extends ToolDefaults {
  readonly source: ToolSource
  readonly description?: string
  /** Words of the command line, never a shell's text. */
  readonly command?: readonly string[]
  /** JSON Schema of the arguments. */
  readonly parameters?: Readonly<Record<string, unknown>>
  /** SPEC 1.9: it may be started to say what a call would do, before anybody agreed to the call. */
  readonly format_arguments?: boolean
  readonly options: Readonly<Record<string, unknown>>
  /** Configured answers to the tool's questions, by question id. */
  readonly questions: Named<{
    readonly answer: string | number | boolean
    /** It answers only the question that is put like this. */
    readonly text?: string
  }>
  /** Absent: no layer declares any (SPEC 4.2 says what that means). */
  readonly access?: AccessConfig
}

/** SPEC 5.1. */
export interface McpServerConfig {
  readonly command: string
  readonly arguments: readonly string[]
  readonly stateful: boolean
  readonly optional: boolean
  readonly startup_timeout_secs: number
  /** Of a stateless server: a process for the next call of a tool is started ahead of it. */
  readonly spare: boolean
  /** SPEC 5.2: the deprecated `variables` as the exact reads they stand for. */
  readonly variables: readonly EnvRule[]
  readonly access?: AccessConfig
}

/** SPEC 6.5: somebody who answers, and how to ask. Only a person says who that is: the whole conversation goes there. */
export interface LlmProviderConfig {
  readonly kind: 'anthropic' | 'openai' | 'google' | 'openai-compatible'
  readonly base_url?: string
  readonly api_key_env?: string
  readonly api_key_command?: readonly string[]
  readonly models: Named<ModelConfig>
}

interface ModelConfig {
  readonly context_tokens?: number
  /** Dollars for a million tokens. */
  readonly input_price?: number
  readonly cached_price?: number
  readonly output_price?: number
}

/** SPEC 6.5. */
export interface AssistantConfig {
  /** `provider/model`. Absent: none was chosen. */
  readonly model?: string
  readonly instructions?: string
  readonly reasoning: 'off' | 'low' | 'medium' | 'high'
  readonly max_steps: number
  readonly max_output_tokens: number
  readonly context_tokens: number
}

/** SPEC 4.8: what `cordon run --profile` uses. All but `access` and `description` is a person's to say. */
export interface ProfileConfig {
  readonly description?: string
  readonly access: AccessConfig
  readonly outside: readonly OutsideConfig[]
  /** SPEC 4.5. Absent: what `sandbox` says. */
  readonly unixSockets?: 'pairs' | 'private'
}

/** A place outside the workspace. One whose path ends in a slash is a directory, and made if it is missing. */
export interface OutsideConfig {
  /** Absolute, or from the home: `~/.claude/`. */
  readonly path: string
  readonly grants: ReadonlySet<Capability>
  /** A file that is copied in, and written back whole at the end. */
  readonly replace: boolean
  readonly origin: string
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
