import { parseWorkspaceUri } from '@cordon/policy'
import { NotRefreshableError, parseExternalUri, refreshResource, type Resource } from '@cordon/workspace'
import { type AttachHands, attachOne } from './attach.ts'
import type { Blocks } from './blocks.ts'
import { parseAttachment } from './grammar.ts'

/**
 * What a person attached, as it is now. A model asks for it, so only what the person attached can be asked for: a tool
 * that returns a block called `command:…` or `file:///.env` must not have it run or read (decision 0113).
 */
export async function refreshIn({ list }: Blocks, uri: string, hands: AttachHands): Promise<Resource> {
  if (parseExternalUri(uri)) return refreshResource(uri, hands) // explains that it cannot
  if (!list.some(({ resource, by, detached }) => resource.uri === uri && by === 'person' && !detached))
    throw new NotRefreshableError(uri, 'it is not attached to this conversation')
  if (parseWorkspaceUri(uri) !== undefined) return refreshResource(uri, hands)
  const request = parseAttachment(uri)
  if (request.kind === 'path') throw new NotRefreshableError(uri, 'nothing is known of where it came from')
  const [resource] = await attachOne(request, hands)
  if (!resource) throw new NotRefreshableError(uri, 'there is nothing there any more')
  return resource
}
