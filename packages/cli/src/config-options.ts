import type { ConversationChoice } from '@cordon/host'

/** What every command that reads the configuration may be told about it. */
export interface ConfigOptions {
  readonly cfg: readonly string[]
  /** Undefined: the last used one. False: none. */
  readonly id?: string | false
}

/** As the host understands it. */
export const choiceOf = ({ id }: Pick<ConfigOptions, 'id'>): ConversationChoice =>
  id === undefined ? 'last used' : id === false ? 'none' : { id }
