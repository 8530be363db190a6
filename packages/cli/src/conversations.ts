import { type ConversationChoice, type Conversations, openAmbientConversations } from '@cordon/host'
import type { World } from './world.ts'

export const openConversations = (world: World): Conversations =>
  openAmbientConversations({ cwd: world.cwd, surroundings: world }, world)

export const chosen = (id: string | undefined): ConversationChoice =>
  id === undefined ? 'last used' : { id }

export const ID = 'its id, or enough of it; the last used one when left out'

/**
 * SPEC 6.2: once a day, what nothing needs any more is collected behind the person's back, by a `cordon gc` of its
 * own that nobody waits for. CORDON_BACKGROUND=off keeps it from starting.
 */
export function collectInBackground(world: World): void {
  if (world.env['CORDON_BACKGROUND'] === 'off') return
  if (openConversations(world).isCollectionDue()) world.startDetached(['gc'])
}
