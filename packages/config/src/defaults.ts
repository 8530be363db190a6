import { type McpServerConfig } from './config.ts'
import { type ValueSource } from './layers.ts'

/** The bottom of every stack, and a layer like any other. No text, so that a start need not parse any. */
export const DEFAULTS: ValueSource = {
  layer: 'built-in',
  label: 'built-in defaults',
  key: [],
  value: {
    sandbox: {
      mode: 'enforce',
      unix_sockets: 'pairs',
      // The sandbox's own, so that everybody can see what they are, and files cannot raise them (SPEC 2.1).
      limits: { memory_mb: 8192, processes: 1024, tmp_mb: 1024, open_files: 8192 },
    },
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
    assistant: { reasoning: 'off', max_steps: 100, max_output_tokens: 16000, context_tokens: 128000 },
    providers: {
      llm: {
        anthropic: { kind: 'anthropic', api_key_env: 'ANTHROPIC_API_KEY' },
        openai: { kind: 'openai', api_key_env: 'OPENAI_API_KEY' },
        google: { kind: 'google', api_key_env: 'GEMINI_API_KEY' },
        ollama: { kind: 'openai-compatible', base_url: 'http://127.0.0.1:11434/v1' },
        llamacpp: { kind: 'openai-compatible', base_url: 'http://127.0.0.1:8080/v1' },
        vllm: { kind: 'openai-compatible', base_url: 'http://127.0.0.1:8000/v1' },
      },
    },
  },
}

/** Servers have no `*`, so what a server leaves out is filled in from here. */
export const DEFAULT_SERVER: Pick<
  McpServerConfig,
  'arguments' | 'stateful' | 'optional' | 'startup_timeout_secs' | 'spare'
> = {
  arguments: [],
  stateful: true,
  optional: false,
  startup_timeout_secs: 60,
  spare: false,
}
