import { goneConversation, type Shelf, wasAnyUsed, type Workspace } from '@cordon/workspace'
import { findWorkspace, openAmbientProject, type Project, type ProjectOptions } from '../project.ts'
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
  const found = findWorkspace(options) // once: each look is a part of every start
  const place = { ...options, found }
  return openAmbientProject({ ...place, conversation: await readChosenLayer(place, user, choice) })
}

/** The conversation's layer alone, for a caller that opens the project itself. */
export async function readChosenLayer(
  options: Omit<ProjectOptions, 'conversation'>,
  user: ConversationUser,
  choice: ConversationChoice,
): Promise<ConversationLayer | undefined> {
  if (choice === 'none') return undefined
  const { workspace } = options.found ?? findWorkspace(options)
  const shelf = shelfOf(workspace, user)
  if (choice === 'last used' && !(await wasAnyUsed(shelf))) return undefined
  const ref = await findChosen(shelf, user.session, choice)
  if (ref) return readConversationLayer(shelf.workspace, ref)
  const gone = await goneConversation(shelf, user.session)
  return gone && layerOf(gone.ref, { sealed: [], foreign: [], lost: gone.lost })
}
