import { CordonError } from '@cordon/policy'
import {
  type ConversationRef,
  createConversation,
  lastUsedConversation,
  removeUnused,
  type Shelf,
  sweepConversations,
  useConversation,
} from '@cordon/workspace'

/** What a command made before its first word was asked: all of it goes, or none. */
export class Made {
  readonly #steps: (() => Promise<readonly string[]>)[] = []
  readonly #written: (() => number)[] = []

  /** `written`: how many events of the conversation are from this step, and from taking it back. */
  push(back: () => Promise<readonly string[]>, written: () => number = () => 0): void {
    this.#steps.push(back)
    this.#written.push(written)
  }

  /** How many events of the conversation are ours. */
  get written(): number {
    return this.#written.reduce((sum, written) => sum + written(), 0)
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

/** It becomes the terminal's own with its first turn. What another terminal used meanwhile stays. */
export async function begin(shelf: Shelf, session: string, made: Made): Promise<ConversationRef> {
  await sweepConversations(shelf) // what a killed process left
  const before = await lastUsedConversation(shelf, session)
  const conversation = await createConversation(shelf, { keeping: 'shared' })
  made.push(async () => {
    await removeUnused(shelf, conversation, { session, events: made.written })
    if (before) await useConversation(shelf, session, before.id)
    return []
  })
  return conversation
}
