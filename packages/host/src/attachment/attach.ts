import { join } from 'node:path'
import { show, workspaceUri } from '@cordon/policy'
import { type AttachContext, AttachError, attachPath, type BlobBatch, type Resource } from '@cordon/workspace'
import type { Project } from '../project.ts'
import type { AttachAccess } from './access.ts'
import { admitByLink, type LinkTerms } from './by-link.ts'
import { attachCommand, type CommandContext } from './command.ts'
import { attachUrl, type FetchContext } from './fetch.ts'
import type { AttachRequest } from './grammar.ts'
import { describeLeftOut, type SecretPlaces, secretFinder } from './sensitive.ts'

/** What attaching may use. */
export interface AttachHands extends Omit<AttachContext, 'leaveOut' | 'admit' | 'batch'> {
  readonly signal: AbortSignal
  /** Where secrets live (SPEC 4.9); undefined takes those, too. Asked for only when files are looked for. */
  readonly secrets: (() => Promise<SecretPlaces>) | undefined
  /** What was approved, and who is asked, when a link leads elsewhere (SPEC 4.9). */
  readonly links: Pick<LinkTerms, 'approvals' | 'person'>
  readonly env: Readonly<Record<string, string | undefined>>
  /** The rules and the configuration they come from. Asked for only when something is fetched or run. */
  readonly access: () => Promise<AttachAccess & { readonly project: Project }>
  readonly warn: (warnings: readonly string[]) => void
  readonly notice: CommandContext['notice']
  readonly network?: FetchContext['network']
  readonly limits?: (FetchContext['limits'] & CommandContext['limits']) | undefined
}

/** SPEC 6.3: everything that was asked for, read and kept now, in order. One failure, and none of it counts. */
export async function attachAll(
  requests: readonly AttachRequest[],
  hands: AttachHands,
): Promise<readonly Resource[]> {
  const resources: Resource[] = []
  await using batch = hands.store.openBatch() // all the small files of all requests become durable together
  for (const request of requests) {
    hands.signal.throwIfAborted()
    resources.push(...(await attachOne(request, hands, batch)))
  }
  await batch.commit()
  return resources
}

/** Without a batch it is durable when this returns. */
export async function attachOne(
  request: AttachRequest,
  hands: AttachHands,
  batch?: BlobBatch,
): Promise<readonly Resource[]> {
  const { store, signal, network, limits, cwd, env, notice } = hands
  switch (request.kind) {
    case 'path':
      return attachFiles(request.path, hands, batch)
    case 'workspace':
      return attachInside(request, hands, batch)
    case 'url': {
      const { policy } = await hands.access()
      return [await attachUrl(request.url, { rules: policy.net, store, signal, network, limits })]
    }
    case 'command': {
      const { policy, project } = await hands.access()
      const { root, workspace, loaded } = project
      const { sandbox } = loaded.config
      const { home, unfinished } = workspace
      const context = { policy, sandbox, root, home, unfinished, cwd, env, store, signal, limits, notice }
      return [await attachCommand(request.argv, context)]
    }
  }
}

/** What a directory or a pattern finds where secrets live is left out, and that is said. */
async function attachFiles(
  path: string,
  hands: AttachHands,
  batch: BlobBatch | undefined,
): Promise<readonly Resource[]> {
  const isSecret = hands.secrets && secretFinder(await hands.secrets())
  const terms = {
    ...hands.links,
    root: hands.workspace.root,
    isSecret: isSecret && ((each: string) => isSecret(each, each.slice(1))),
  }
  const admit: AttachContext['admit'] = (found) => admitByLink(path, found, terms)
  if (!isSecret) return attachPath(path, { ...hands, batch, admit })
  const left: string[] = []
  const leaveOut = (file: string, inside: string, name: string): boolean =>
    isSecret(file, inside) && left.push(show(name)) > 0
  try {
    return await attachPath(path, { ...hands, batch, leaveOut, admit })
  } finally {
    hands.warn(describeLeftOut(left))
  }
}

/** A URI names one file of the workspace: no character in it is a pattern, and the current directory does not matter. */
async function attachInside(
  { text, path }: Extract<AttachRequest, { kind: 'workspace' }>,
  hands: AttachHands,
  batch: BlobBatch | undefined,
): Promise<readonly Resource[]> {
  const missing = (): AttachError => new AttachError(text, 'there is no such file in the workspace')
  // Before anything is read: what a link leads to is another file.
  const admit: AttachContext['admit'] = async (found) => {
    if (found.named !== found.path) throw missing()
  }
  const resources = await attachPath(join(hands.workspace.root, path), { ...hands, batch, admit })
  if (resources.length === 1 && resources[0]!.uri === workspaceUri(path)) return resources
  throw missing()
}
