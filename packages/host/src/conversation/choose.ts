import { CordonError } from '@cordon/policy'
import {
  type ConversationRef,
  createConversation,
  findConversation,
  lastUsedConversation,
  type Shelf,
  sweepConversations,
  useConversation,
} from '@cordon/workspace'

/**
 * Which conversation a command is about: the one it names (by id, or enough of it), the last used, or none at all.
 * The last used is the session's own, else the workspace's (decision 0080).
 */
export type ConversationChoice = 'last used' | 'none' | { readonly id: string }

/** Undefined: none was wanted, or none was used before. A name that fits nothing is an error. */
export async function findChosen(
  shelf: Shelf,
  session: string,
  choice: ConversationChoice,
): Promise<ConversationRef | undefined> {
  if (choice === 'none') return undefined
  return choice === 'last used' ? lastUsedConversation(shelf, session) : findConversation(shelf, choice.id)
}

/** For commands that only make sense on a conversation that is there. */
export async function requireChosen(
  shelf: Shelf,
  session: string,
  choice: ConversationChoice,
): Promise<ConversationRef> {
  const found = await findChosen(shelf, session, choice)
  if (!found) throw new NoConversationError()
  return found
}

/** A new one, in the workspace (SPEC 6.1), and from now on the last used of the session. */
export async function startConversation(shelf: Shelf, session: string): Promise<ConversationRef> {
  await sweepConversations(shelf) // what a killed process left
  const made = await createConversation(shelf, { keeping: 'shared' })
  await useConversation(shelf, session, made.id)
  return made
}

class NoConversationError extends CordonError {
  readonly code = 'NO_CONVERSATION'
  constructor() {
    super(
      'no conversation was used here yet\n  fix: name one of `cordon conversation ls`; `cordon attachment add PATH` begins one',
    )
  }
}
