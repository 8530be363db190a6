import { goneConversation, type Shelf, type Workspace } from '@cordon/workspace'
import { openAmbientProject, type Project, type ProjectOptions, requireWorkspace } from '../project.ts'
import { type ConversationChoice, findChosen } from './choose.ts'
import { type ConversationLayer, layerOf, readConversationLayer } from './layer.ts'

/** Who uses conversations: a process, in a terminal session that remembers the last one. */
export interface ConversationUser {
  readonly pid: number
  readonly session: string
}

export const shelfOf = (workspace: Workspace, { pid }: Pick<ConversationUser, 'pid'>): Shelf => ({
  workspace,
  holder: { pid, command: 'cordon' },
  now: () => new Date(),
})

/** A project with the layer of the chosen conversation: the configuration that a query in it would run under. */
export async function openAmbientProjectIn(
  options: Omit<ProjectOptions, 'conversation'>,
  user: ConversationUser,
  choice: ConversationChoice,
): Promise<Project> {
  return openAmbientProject({ ...options, conversation: await readChosenLayer(options, user, choice) })
}

/** The conversation's layer alone, for a caller that opens the project itself. */
export async function readChosenLayer(
  options: Omit<ProjectOptions, 'conversation'>,
  user: ConversationUser,
  choice: ConversationChoice,
): Promise<ConversationLayer | undefined> {
  if (choice === 'none') return undefined
  const shelf = shelfOf(requireWorkspace(options), user)
  const ref = await findChosen(shelf, user.session, choice)
  if (ref) return readConversationLayer(shelf.workspace, ref)
  const gone = await goneConversation(shelf, user.session)
  return gone && layerOf(gone.ref, { sealed: [], foreign: [], lost: gone.lost })
}
