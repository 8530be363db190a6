import { type McpServerConfig } from './config.ts'
import { type TextSource } from './layers.ts'

/** The bottom of every stack, in the same words as any other layer. */
export const DEFAULTS: TextSource = {
  layer: 'built-in',
  label: 'built-in defaults',
  text: `[sandbox]
mode = "enforce"

[conversation.tools."*"]
enable = true
run = "ask"
result = "unattended"
timeout_secs = 120
max_output_bytes = 1048576
`,
}

/** Servers have no `*`, so what a server leaves out is filled in from here. */
export const DEFAULT_SERVER: Pick<
  McpServerConfig,
  'arguments' | 'stateful' | 'optional' | 'startup_timeout_secs'
> = {
  arguments: [],
  stateful: true,
  optional: false,
  startup_timeout_secs: 60,
}
