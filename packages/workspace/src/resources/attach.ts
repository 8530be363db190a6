import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { below, CordonError } from '@cordon/policy'
import { type Chunks } from '../blobs/chunks.ts'
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
  /** Its reason, a CordonError, is thrown once it is aborted; nothing half-kept is left. */
  readonly signal?: AbortSignal | undefined
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
  { workspace, store, signal }: AttachContext,
): Promise<Resource> {
  const file = await open(path, READ)
  try {
    if (!(await file.stat()).isFile()) throw new AttachError(input, 'it is not a regular file')
    const { mimeType, form } = contentType(await headOf(file), path)
    const inside = below(workspace.root, path)
    const uri = inside === undefined ? externalUri(path) : workspaceUri(inside)
    return { uri, mimeType, [form]: await store.putFile(file, signal), name: basename(path) }
  } finally {
    await file.close()
  }
}

async function headOf(file: FileHandle): Promise<Uint8Array> {
  const head = Buffer.alloc(HEAD)
  const { bytesRead } = await file.read(head, 0, HEAD, 0)
  return head.subarray(0, bytesRead)
}

export interface About {
  readonly uri: string
  /** What it is called, where it has a name. */
  readonly name?: string | undefined
  /** Which kind of text its source says it is; counts only for text whose name says nothing. */
  readonly textType?: string | undefined
}

/** Content that is no file, such as an answer or the output of a command, read and kept now. */
export async function attachContent(content: Chunks, about: About, store: BlobStore): Promise<Resource> {
  const { uri, name, textType } = about
  const { head, whole } = await peek(content)
  const { mimeType, form } = contentType(head, name ?? '')
  const shown = form === 'text' && mimeType === 'text/plain' ? (textType ?? mimeType) : mimeType
  return { uri, mimeType: shown, [form]: await store.put(whole), ...(name === undefined ? {} : { name }) }
}

/** The beginning, and all of it. */
async function peek(content: Chunks): Promise<{ readonly head: Uint8Array; readonly whole: Chunks }> {
  const pieces = content[Symbol.asyncIterator]()
  const held: Uint8Array[] = []
  let length = 0
  while (length < HEAD) {
    const { value, done } = await pieces.next()
    if (done) break
    held.push(Uint8Array.from(value)) // a copy: the piece's memory is used again
    length += value.length
  }
  return { head: Buffer.concat(held).subarray(0, HEAD), whole: chained(held, pieces) }
}

async function* chained(
  held: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* held
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
