import { join } from 'node:path'
import { type AttachContext, attachPath, type Resource, workspaceUri } from '@cordon/workspace'
import { AttachError } from '@cordon/workspace'
import type { Project } from '../project.ts'
import type { AttachAccess } from './access.ts'
import { attachCommand, type CommandContext } from './command.ts'
import { attachUrl, type FetchContext } from './fetch.ts'
import type { AttachRequest } from './grammar.ts'

/** What attaching may use. */
export interface AttachHands extends AttachContext {
  readonly signal: AbortSignal
  readonly env: Readonly<Record<string, string | undefined>>
  /** The rules and the configuration they come from. Asked for only when something is fetched or run. */
  readonly access: () => Promise<AttachAccess & { readonly project: Project }>
  readonly warn: CommandContext['warn']
  readonly network?: FetchContext['network']
  readonly limits?: (FetchContext['limits'] & CommandContext['limits']) | undefined
}

/** SPEC 6.3: everything that was asked for, read and kept now, in order. One failure, and none of it counts. */
export async function attachAll(
  requests: readonly AttachRequest[],
  hands: AttachHands,
): Promise<readonly Resource[]> {
  const resources: Resource[] = []
  for (const request of requests) {
    hands.signal.throwIfAborted()
    resources.push(...(await attachOne(request, hands)))
  }
  return resources
}

export async function attachOne(request: AttachRequest, hands: AttachHands): Promise<readonly Resource[]> {
  const { store, signal, network, limits, cwd, env, warn } = hands
  switch (request.kind) {
    case 'path':
      return attachPath(request.path, hands)
    case 'workspace':
      return attachInside(request, hands)
    case 'url': {
      const { policy } = await hands.access()
      return [await attachUrl(request.url, { rules: policy.net, store, signal, network, limits })]
    }
    case 'command': {
      const { policy, project } = await hands.access()
      const { root, workspace, loaded } = project
      const { sandbox } = loaded.config
      const context = { policy, sandbox, root, home: workspace.home, cwd, env, store, signal, limits, warn }
      return [await attachCommand(request.argv, context)]
    }
  }
}

/** By its URI it is one file of the workspace, whatever characters its name has and wherever one stands. */
async function attachInside(
  { text, path }: Extract<AttachRequest, { kind: 'workspace' }>,
  hands: AttachHands,
): Promise<readonly Resource[]> {
  const resources = await attachPath(join(hands.workspace.root, path), hands)
  if (resources.length === 1 && resources[0]!.uri === workspaceUri(path)) return resources
  throw new AttachError(text, 'there is no such file in the workspace')
}
