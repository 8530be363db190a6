import { type McpServerConfig } from './config.ts'
import { type ValueSource } from './layers.ts'

/** The bottom of every stack, and a layer like any other. No text, so that a start need not parse any. */
export const DEFAULTS: ValueSource = {
  layer: 'built-in',
  label: 'built-in defaults',
  key: [],
  value: {
    sandbox: { mode: 'enforce' },
    conversation: {
      tools: {
        '*': {
          enable: true,
          run: 'ask',
          result: 'unattended',
          timeout_secs: 120,
          max_output_bytes: 1048576,
        },
      },
    },
  },
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
