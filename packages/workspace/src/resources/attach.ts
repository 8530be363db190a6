import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { below, CordonError } from '@cordon/policy'
import { type BlobStore } from '../blobs/store.ts'
import { reason } from '../durable.ts'
import { type Workspace } from '../place/workspace.ts'
import { AttachError } from './errors.ts'
import { expandPath } from './expand.ts'
import { externalUri, workspaceUri } from './external-uri.ts'
import { contentType, HEAD } from './mime.ts'
import { type Resource } from './resource.ts'

export interface AttachContext {
  readonly workspace: Pick<Workspace, 'root' | 'home'>
  /** What a relative path is relative to. */
  readonly cwd: string
  /** The store beside the conversation that will hold the resource. */
  readonly store: BlobStore
}

/** More than this from one argument is taken for a mistake, such as attaching `/`. */
const MOST_FILES = 10_000

/**
 * SPEC 6.3: the files that `input` names, read and kept now. The resources go into a `request`; a failure keeps none of
 * them (blobs that nobody references are collected).
 */
export async function attachPath(input: string, context: AttachContext): Promise<Resource[]> {
  const { root, home } = context.workspace
  try {
    const resources: Resource[] = []
    for await (const path of expandPath(input, { root, home, cwd: context.cwd })) {
      if (resources.length === MOST_FILES)
        throw new AttachError(input, `it holds more than ${MOST_FILES} files`)
      resources.push(await snapshot(path, input, context))
    }
    if (resources.length === 0) throw new AttachError(input, 'there is no file in it that is not ignored')
    return resources
  } catch (error) {
    throw error instanceof CordonError ? error : new AttachError(input, reason(error))
  }
}

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** One regular file, by its canonical path. */
export async function snapshot(
  path: string,
  input: string,
  { workspace, store }: AttachContext,
): Promise<Resource> {
  const file = await open(path, READ)
  try {
    if (!(await file.stat()).isFile()) throw new AttachError(input, 'it is not a regular file')
    const { mimeType, form } = contentType(await headOf(file), path)
    const inside = below(workspace.root, path)
    const uri = inside === undefined ? externalUri(path) : workspaceUri(inside)
    return { uri, mimeType, [form]: await store.putFile(file), name: basename(path) }
  } finally {
    await file.close()
  }
}

async function headOf(file: FileHandle): Promise<Uint8Array> {
  const head = Buffer.alloc(HEAD)
  const { bytesRead } = await file.read(head, 0, HEAD, 0)
  return head.subarray(0, bytesRead)
}
