import { type ConversationChoice, type Conversations, openAmbientConversations } from '@cordon/host'
import type { World } from './world.ts'

export interface JsonOption {
  readonly json?: boolean
}

export const openConversations = (world: World): Conversations =>
  openAmbientConversations({ cwd: world.cwd, surroundings: world }, world)

export const chosen = (id: string | undefined): ConversationChoice =>
  id === undefined ? 'last used' : { id }

export const writeJson = (world: World, value: unknown): void =>
  world.out.write(`${JSON.stringify(value, undefined, 2)}\n`)

export const ID = 'its id, or enough of it; the last used one when left out'
