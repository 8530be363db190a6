import { type AssistantConfig, formatKeyPath } from '@cordon/config'
import type { Room } from './errors.ts'
import type { ModelChoice } from './models.ts'

/** How much a model takes at once, and what of it is for what. */
export interface Window {
  readonly room: Room
  /** How long the answer may be. */
  readonly answer: number
}

/**
 * What is sent and what is answered share one window: the room for an answer is kept free, and is never more than half of it
 * (decision 0412). The model's own figure counts, where there is one.
 */
export function divideWindow({ provider, model, config }: ModelChoice, assistant: AssistantConfig): Window {
  const own = Object.hasOwn(config.models, model) ? config.models[model]?.context_tokens : undefined
  const whole = own ?? assistant.context_tokens
  const answer = Math.max(1, Math.min(assistant.max_output_tokens, Math.floor(whole / 2)))
  const setting =
    own === undefined
      ? 'assistant.context_tokens'
      : formatKeyPath(['providers', 'llm', provider, 'models', model, 'context_tokens'])
  return { room: { tokens: whole - answer, setting }, answer }
}
