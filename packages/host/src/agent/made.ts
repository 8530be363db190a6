import { CordonError } from '@cordon/policy'
import {
  type ConversationRef,
  createConversation,
  lastUsedConversation,
  removeConversation,
  type Shelf,
  sweepConversations,
  useConversation,
} from '@cordon/workspace'

/** What a command made before its first word was asked: all of it goes, or none. */
export class Made {
  readonly #steps: (() => Promise<readonly string[]>)[] = []

  push(back: () => Promise<readonly string[]>): void {
    this.#steps.push(back)
  }

  /** The last first. What went wrong before is what counts; what is left is said. */
  async takeBack(warn: (warnings: readonly string[]) => void): Promise<void> {
    for (const back of this.#steps.splice(0).toReversed()) {
      try {
        warn((await back()).map((what) => `could not be taken back: ${what}`))
      } catch (error) {
        if (!(error instanceof CordonError)) throw error
        warn([`could not be taken back: ${error.message}`])
      }
    }
  }
}

/** It becomes the terminal's own with its first turn. */
export async function begin(shelf: Shelf, session: string, made: Made): Promise<ConversationRef> {
  await sweepConversations(shelf) // what a killed process left
  const before = await lastUsedConversation(shelf, session)
  const conversation = await createConversation(shelf, { keeping: 'shared' })
  made.push(async () => {
    await removeConversation(shelf, conversation)
    if (before) await useConversation(shelf, session, before.id)
    return []
  })
  return conversation
}
