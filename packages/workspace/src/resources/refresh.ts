import { join } from 'node:path'
import { FileError, openAmbientAnchor } from '@cordon/files'
import { CordonError, parseRelPath, parseWorkspaceUri } from '@cordon/policy'
import { reason, systemReason } from '../small-files.ts'
import { type AttachContext, batched, snapshot } from './attach.ts'
import { NotRefreshableError } from './errors.ts'
import { parseExternalUri } from './external-uri.ts'
import { type Resource } from './resource.ts'

/**
 * `refresh_resource`: the workspace's file as it is now. What came from outside is a snapshot, and stays one. A model
 * asks for this, so nothing outside is even opened; whether the policy lets it read the path is for the caller to check.
 */
export async function refreshResource(uri: string, context: AttachContext): Promise<Resource> {
  if (parseExternalUri(uri))
    throw new NotRefreshableError(
      uri,
      'it was attached from outside the workspace and is kept as it was then; the file may have moved, been deleted, ' +
        'or not exist on this machine. Attach it again to add its present content.',
    )
  const path = parseWorkspaceUri(uri)
  if (path === undefined) throw new NotRefreshableError(uri, 'only files of the workspace can be refreshed')
  try {
    const { root } = context.workspace
    const inside = parseRelPath(path)
    using anchor = openAmbientAnchor(root)
    const found = { path: join(root, inside), open: () => anchor.open(inside) }
    return await batched(context, (batch) => snapshot(found, context, batch))
  } catch (error) {
    if (error instanceof FileError) throw new NotRefreshableError(uri, whyNotOpened(error))
    throw error instanceof CordonError ? error : new NotRefreshableError(uri, reason(error))
  }
}

const whyNotOpened = ({ code, errno }: FileError): string => {
  if (errno !== undefined) return systemReason(errno)
  return code === 'FILE_NOT_REGULAR' ? 'it is not a regular file' : 'the path now leads to something else'
}
